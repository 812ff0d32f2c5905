#pragma once

#include "analysis/model/far_model.h"
#include "backends/remote/copied_files.h"

#include <string>

namespace secateur {

/// The card of a far model whose path is a folder of this machine with the files of its tokenizer and configuration.
class StandIn : public Model {
public:
    /// Fetches the files. @param model must outlive this object @throws as FarModel::call()
    explicit StandIn(const FarModel& model);

    const ModelCard& card() const override { return m_card; }
    bool has(int layer, WeightName name) const override { return m_model.has(layer, name); }
    at::Tensor tensor(int layer, WeightName name) const override;
    std::string place(int layer, WeightName name) const override { return m_model.place(layer, name); }
    const Runner& runner() const override { return m_model.runner(); }
    const Kernels& kernels() const override { return m_model.kernels(); }
    std::string fingerprint() const override { return m_model.fingerprint(); }

private:
    const FarModel& m_model;
    ModelCard m_card;
    TemporaryFolder m_folder;
};

/// A file of a tokenizer, or the beginning of a GGUF file.
struct TokenizerFile {
    std::string name;
    std::string bytes;
    std::int64_t size = 0; ///< of the whole file; what is missing is weights
};

} // namespace secateur
