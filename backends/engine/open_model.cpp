#include "backends/engine/open_model.h"

#include "analysis/base/error.h"
#include "backends/engine/checkpoint_model.h"
#include "backends/formats/formats.h"
#include "backends/formats/hub_cache.h"
#include "backends/kernels/machine_kernels.h"

#include <filesystem>
#include <new>

namespace secateur {

namespace {

/// Runs one opening; what the standard library throws on files becomes an Error.
template <typename Work>
auto opening(const std::string& path, Work work) {
    try {
        return work();
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? path : error.path1().string());
    } catch (const std::bad_alloc&) {
        throw Error("needs more memory to open than there is", path);
    }
}

} // namespace

std::shared_ptr<const Model> openModel(const std::string& given, const Progress& progress, const OpenOptions& options) {
    auto kernels = kernelsOf(options.device);
    return opening(given, [&] {
        const std::string path = snapshotOf(given);
        progress.report(0, "opening " + path);
        const FormatInfo& format = formatOf(path);
        auto checkpoint = format.open(path, progress.part(0, 0.9));
        auto model = modelFrom(std::move(checkpoint), path, format.id, std::move(kernels), options);
        progress.report(1, "opened " + path);
        return model;
    });
}

std::vector<TensorInfo> listTensors(const std::string& given) {
    return opening(given, [&] {
        const std::string path = snapshotOf(given);
        const auto checkpoint = formatOf(path).open(path, {});
        std::vector<TensorInfo> list;
        for (const TensorEntry& entry : checkpoint->tensors())
            list.push_back({entry.name, std::string(entry.type->name), entry.shape,
                            static_cast<std::int64_t>(entry.data.size()),
                            std::filesystem::path(entry.file->path()).filename().string()});
        return list;
    });
}

} // namespace secateur
