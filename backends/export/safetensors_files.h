#pragma once

#include "backends/export/export_files.h"
#include "backends/export/target_tensor.h"

#include <string>
#include <vector>

namespace secateur {

/// Safetensors files that are to be written: one, or several shards with their index.
class SafetensorsFiles : public ExportFiles {
public:
    static constexpr std::size_t usualShard = 5'000'000'000;

    /// @param tensors their names must differ @param shardBytes a shard ends before it would become larger
    explicit SafetensorsFiles(std::vector<TargetTensor> tensors, std::size_t shardBytes = usualShard);

    std::vector<std::string> names() const override;
    std::int64_t bytes() const override;
    void write(const std::function<std::string(const std::string& name)>& place,
               const Progress& progress) const override;

private:
    struct File {
        std::string name;
        std::vector<FilePiece> pieces;
    };
    std::vector<File> m_files;
};

} // namespace secateur
