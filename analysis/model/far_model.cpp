#include "analysis/model/far_model.h"

namespace secateur {

bool isFarPath(std::string_view path) {
    return path.starts_with(sshScheme) || path.starts_with(servedScheme);
}

std::string pathOnServer(const std::string& path) {
    if (path.starts_with(servedScheme))
        return path.substr(servedScheme.size());
    const std::size_t slash = path.starts_with(sshScheme) ? path.find('/', sshScheme.size()) : std::string::npos;
    if (slash == std::string::npos)
        return path;
    return path.substr(path.compare(slash, 3, "/~/") == 0 ? slash + 1 : slash);
}

const FarModel* farModel(const Model& model) {
    return dynamic_cast<const FarModel*>(&model);
}

} // namespace secateur
