#include "backends/remote/stand_in.h"

#include "analysis/base/error.h"

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace secateur {

namespace fs = std::filesystem;

StandIn::StandIn(const FarModel& model)
    : m_model(model)
    , m_card(model.card()) {
    const auto files = model.result<std::vector<TokenizerFile>>("tokenizer_files", {});
    m_card.path = m_folder.path();
    for (const TokenizerFile& file : files) {
        if (fs::path(file.name).filename() != file.name || file.name.empty() || file.name == ".." || file.name == "." ||
            file.size < static_cast<std::int64_t>(file.bytes.size()))
            throw Error("A message has files that lead elsewhere");
        const fs::path path = fs::path(m_folder.path()) / file.name;
        writeFile(path.string(), file.bytes);
        fs::resize_file(path, static_cast<std::uintmax_t>(file.size)); // a hole in the place of the weights
        if (path.extension() == ".gguf")
            m_card.path = path.string();
    }
}

at::Tensor StandIn::tensor(int layer, WeightName name) const {
    return m_model.tensor(layer, name);
}

} // namespace secateur
