#include "backends/training/recovery_folder.h"

#include "analysis/base/error.h"
#include "backends/base/atomic_file.h"
#include "backends/engine/adapted_model.h"
#include "backends/training/peft_files.h"
#include "backends/training/training_checkpoint.h"

#include <filesystem>
#include <utility>

namespace secateur {

namespace {

constexpr const char* checkpointName = "checkpoint.safetensors";

std::string inFolder(const std::string& folder, const char* name) {
    return (std::filesystem::path(folder) / name).string();
}

Adapter adapterOfState(const TrainingState& state, const TrainingRun& run, const Model& model) {
    Adapter adapter = adapterOf(state, run.settings.adapter, model);
    adapter.fingerprint = baseOf(model).fingerprint();
    return adapter;
}

} // namespace

TrainingRun runInFolder(const std::string& folder, TrainingRun wanted, bool replaces, const std::string& hint) {
    const std::string path = inFolder(folder, checkpointName);
    auto run = readTrainingRun(path);
    if (run && run->key == wanted.key) {
        run->saveSeconds = wanted.saveSeconds;
        return std::move(*run);
    }
    if (run && !replaces)
        throw Error("is a training run with another model, mask, data or settings", path, hint);
    return wanted;
}

void writeRunFolder(const std::string& folder, const TrainingRun& run, const Model& model, const MaskRecord* mask) {
    makeFolder(folder);
    writeTrainingRun(inFolder(folder, checkpointName), run);
    writeWhole(inFolder(folder, "training.csv"), trainingCsv(run), FileKind::csv);
    writeAdapter(folder, bestAdapter(run, model), model, mask);
    writeAdapter(inFolder(folder, "last"), adapterOfState(run.state, run, model), model, mask);
}

Adapter bestAdapter(const TrainingRun& run, const Model& model) {
    return adapterOfState(run.result(), run, model);
}

} // namespace secateur
