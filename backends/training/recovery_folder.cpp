#include "backends/training/recovery_folder.h"

#include "analysis/base/error.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/training/trained_compensation.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/engine/adapted_model.h"
#include "backends/formats/hf_config.h"
#include "backends/session/mask_json.h"
#include "backends/training/peft_files.h"
#include "backends/training/training_checkpoint.h"

#include <nlohmann/json.hpp>

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

/// The mask with the compensation of a state.
MaskRecord compensatedBy(MaskRecord record, const TrainingState& state, const std::string& source,
                         const ModelSpec& spec) {
    record.mask = withTrainedCompensation(record.mask, state, spec);
    if (!record.provenance)
        record.provenance.emplace();
    noteTrained(*record.provenance, source, state.step);
    return record;
}

/// Writes an adapter and its mask, or the mask alone.
void writeState(const std::string& folder, const Adapter& adapter, const Model& model, const MaskRecord* mask) {
    if (!adapter.empty())
        return writeAdapter(folder, adapter, model, mask);
    removeAdapter(folder);
    makeFolder(folder);
    writeMask(inFolder(folder, adapterMaskName), *mask);
}

/// Writes a state of a run: the adapter with its mask, or the compensated mask.
void writeStateOf(const std::string& folder, const TrainingState& state, const TrainingRun& run, const Model& model,
                  const MaskRecord* mask, const std::string& source) {
    if (!run.settings.trainsCompensation)
        return writeState(folder, adapterOfState(state, run, model), model, mask);
    const MaskRecord compensated = compensatedBy(*mask, state, source, model.spec());
    writeState(folder, adapterOfState(state, run, model), model, &compensated);
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

void writeRunFolder(const std::string& folder, const TrainingRun& run, const Model& model, const MaskRecord* mask,
                    const std::string& source) {
    makeFolder(folder);
    writeWhole(inFolder(folder, "training.csv"), trainingCsv(run), FileKind::csv);
    writeStateOf(folder, run.result(), run, model, mask, source);
    writeStateOf(inFolder(folder, "last"), run.state, run, model, mask, source);
    // Last: a run that is stopped before continues from the older checkpoint, and writes all files again.
    writeTrainingRun(inFolder(folder, checkpointName), run);
}

void writeResult(const std::string& folder, const TrainingRun& run, const Model& model, const MaskRecord* mask,
                 const std::string& source) {
    writeStateOf(folder, run.result(), run, model, mask, source);
    writeWhole(inFolder(folder, "training.csv"), trainingCsv(run), FileKind::csv);
}

MaskRecord recoveredMask(const TrainingRun& run, const MaskRecord& mask, const std::string& source,
                         const ModelSpec& spec) {
    return run.settings.trainsCompensation ? compensatedBy(mask, run.result(), source, spec) : mask;
}

void writeClassNames(const std::string& folder, std::span<const std::string> names) {
    nlohmann::ordered_json labels = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < names.size(); ++i)
        labels[std::to_string(i)] = names[i];
    const nlohmann::ordered_json document{{"adapter_classes", names.size()}, {"id2label", labels}};
    const std::string text = document.dump(2) + "\n";
    for (const std::string& place : {folder, inFolder(folder, "last")}) {
        const std::string path = inFolder(place, adapterClassesName);
        if (!std::filesystem::is_directory(place))
            continue;
        if (!names.empty())
            writeWhole(path, text, FileKind::adapterConfig);
        else if (std::filesystem::exists(path))
            AtomicFile(path, FileKind::adapterConfig).removeTarget();
    }
}

Adapter bestAdapter(const TrainingRun& run, const Model& model) {
    return adapterOfState(run.result(), run, model);
}

} // namespace secateur
