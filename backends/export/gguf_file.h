#pragma once

#include "backends/export/export_files.h"
#include "backends/export/target_tensor.h"
#include "backends/formats/gguf_fields.h"

#include <vector>

namespace secateur {

/// A GGUF file of version 3 that is to be written.
class GgufFile : public ExportFiles {
public:
    /// @param fields metadata @param tensors in the order of the file; their names must differ
    GgufFile(const std::vector<GgufField>& fields, std::vector<TargetTensor> tensors);

    std::vector<std::string> names() const override { return {"model.gguf"}; }
    std::int64_t bytes() const override { return m_bytes; }
    void write(const std::function<std::string(const std::string& name)>& place,
               const Progress& progress) const override;

private:
    std::vector<FilePiece> m_pieces;
    std::int64_t m_bytes = 0;
};

} // namespace secateur
