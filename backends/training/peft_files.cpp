#include "backends/training/peft_files.h"

#include "analysis/base/error.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/base/mapped_file.h"
#include "backends/engine/adapted_model.h"
#include "backends/formats/hf_weights.h"
#include "backends/session/mask_json.h"
#include "backends/training/peft_config.h"
#include "backends/training/peft_names.h"
#include "backends/training/peft_tensors.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr const char* configName = "adapter_config.json";
constexpr const char* weightsName = "adapter_model.safetensors";

std::string pathIn(const std::string& folder, const char* name) {
    return (fs::path(folder) / name).string();
}

std::shared_ptr<const MappedFile> weightsIn(const std::string& folder) {
    const std::string path = pathIn(folder, weightsName);
    std::error_code ignored;
    if (!fs::exists(path, ignored))
        throw Error(fs::exists(pathIn(folder, "adapter_model.bin"), ignored)
                        ? "has adapter_model.bin, a pickle, but no adapter_model.safetensors"
                        : "has no adapter_model.safetensors",
                    folder, "An adapter is a folder that PEFT or Secateur wrote");
    return openWeights(path);
}

/// A model with a classifier of as many classes as that of an adapter. The model must outlive it.
std::shared_ptr<const Model> withClassifierOf(const std::shared_ptr<const MappedFile>& file, const Model& model) {
    const std::shared_ptr<const Model> own(std::shared_ptr<void>(), &model);
    const bool isEncoder = model.spec().family == Family::encoder;
    const std::int64_t classes = model.has(-1, WeightName::classifier) ? model.spec().classes : 0;
    for (const TensorEntry& entry : isEncoder ? safetensorsEntries(file) : std::vector<TensorEntry>())
        if (entry.name.ends_with(".classifier.weight") && entry.shape.size() == 2 && entry.shape[0] > 0 &&
            entry.shape[0] != classes && entry.shape[1] == model.spec().hidden && entry.shape[0] < 100'000)
            return withAdapter(
                own, std::make_shared<const Adapter>(newClassifier(model.spec(), static_cast<int>(entry.shape[0]))),
                {});
    return own;
}

} // namespace

namespace {

/// A model with a place for the classifier of an adapter. The model must outlive it.
std::shared_ptr<const Model> withPlaceForClassifier(const Adapter& adapter, const Model& model) {
    const std::shared_ptr<const Model> own(std::shared_ptr<void>(), &model);
    const bool isThere =
        model.has(-1, WeightName::classifier) && specWith(adapter, model.spec()).classes == model.spec().classes;
    if (isThere || !adapter.weights.contains({-1, WeightName::classifier}))
        return own;
    return withAdapter(own, std::make_shared<const Adapter>(adapter), {});
}

} // namespace

void writeAdapter(const std::string& folder, const Adapter& adapter, const Model& base, const MaskRecord* mask) {
    checkFits(adapter, base.spec());
    const std::shared_ptr<const Model> whole = withPlaceForClassifier(adapter, base);
    const Model& model = *whole;
    const PeftModules modules = peftModules(adapter, model);
    const TensorMetadata metadata{{"format", "pt"},
                                  {"secateur", SECATEUR_VERSION},
                                  {"fingerprint", adapter.fingerprint},
                                  {"mask", mask ? maskDigest(mask->mask) : "dense"},
                                  {"parts", fusedPartsText(modules)}};
    makeFolder(folder);
    if (mask)
        writeMask(pathIn(folder, adapterMaskName), *mask);
    AtomicFiles files;
    files.add(pathIn(folder, weightsName), tensorBytes(modules, metadata), FileKind::adapter);
    files.add(pathIn(folder, configName), peftConfigText(adapter, modules, model), FileKind::adapterConfig);
    files.commit();
}

bool adapterExists(const std::string& folder) {
    std::error_code ignored;
    return fs::exists(pathIn(folder, configName), ignored);
}

void removeAdapter(const std::string& folder) {
    std::error_code ignored;
    for (const auto& [name, kind] :
         {std::pair{configName, FileKind::adapterConfig}, std::pair{weightsName, FileKind::adapter}}) {
        const std::string path = pathIn(folder, name);
        if (fs::exists(path, ignored))
            AtomicFile(path, kind).removeTarget();
    }
}

Adapter readAdapter(const std::string& folder, const Model& model) {
    const PeftConfig config = readPeftConfig(pathIn(folder, configName));
    const auto file = weightsIn(folder);
    Adapter adapter = adapterFrom(file, config, *withClassifierOf(file, model));
    adapter.settings = {config.rank, config.alpha, config.dropout};
    adapter.modelName = config.modelName;
    adapter.fingerprint = safetensorsMetadata(file)["fingerprint"];
    try {
        checkFits(adapter, model.spec());
    } catch (const Error& error) {
        throw error.within(file->path());
    }
    file->checkWhole();
    return adapter;
}

AdapterOrigin adapterOrigin(const std::string& folder) {
    std::map<std::string, std::string> metadata = safetensorsMetadata(weightsIn(folder));
    AdapterOrigin origin{metadata["fingerprint"], metadata["mask"], {}};
    std::error_code ignored;
    if (origin.maskDigest != "dense" && fs::exists(pathIn(folder, adapterMaskName), ignored))
        origin.maskPath = pathIn(folder, adapterMaskName);
    return origin;
}

} // namespace secateur
