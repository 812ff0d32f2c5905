#include "app/window/window_services.h"

#include "analysis/base/text.h"
#include "app/window/window_recovery.h"
#include "backends/base/runtime.h"
#include "backends/engine/memory_check.h"
#include "backends/engine/open_model.h"
#include "backends/engine/plan_memory.h"
#include "backends/export/export_targets.h"
#include "backends/formats/formats.h"
#include "backends/formats/found_models.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"
#include "backends/text/measure_on_text.h"
#include "backends/text/recipe_files.h"
#include "backends/text/sequence_text.h"
#include "backends/text/sweep_texts.h"
#include "backends/text/task_file.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/training/sweep_recovery.h"
#include "backends/weights/open_tensors.h"

#include <fmt/core.h>

#include <mutex>
#include <utility>

namespace secateur {

namespace {

SweepInputs readSweep(const Model& model, const SweepSetup& setup, const Progress& progress) {
    SweepTextRequest request;
    request.calibration.path = setup.text;
    request.calibration.rules.mostTokens = setup.tokens;
    if (!setup.score.empty())
        request.score = setup.score;
    request.scored.mostTokens = setup.scoreTokens;
    SweepInputs inputs = readSweepTexts(model, request, progress);
    inputs.streamBytes = availableMemory() / 4;
    inputs.extend = [&model](const PruneRequest& prune, PruneInputs& added) {
        added.fileBytes = fileBytesOf(model, prune.strategy);
    };
    for (const std::string& path : setup.tasks) {
        inputs.tasks.push_back(readAskedTask({.path = path}, progress));
        nameClasses(inputs.tasks.back(), model.card());
    }
    if (!inputs.tasks.empty())
        inputs.tokenizer = openTokenizer(model.card());
    return inputs;
}

} // namespace

Services windowServices() {
    Services services;
    services.openModel = [](const std::string& path, const Progress& progress) {
        static std::once_flag once;
        std::call_once(once, [] { initialiseRuntime(0); });
        return openModel(path, progress);
    };
    services.storedTensors = openTensors;
    services.isSession = isSession;
    services.readSession = [](const std::string& path) { return readSession(path); };
    services.writeSession = [](const Session& session, const std::string& path) { writeSession(session, path); };
    services.foundModels = [](const std::vector<std::string>& opened, const Progress& progress) {
        return foundModels(opened, progress);
    };
    services.measure = [](const Model& model, std::span<const MetricRequest> requests, const MeasureChoice& choice,
                          const Progress& progress, const LayerSink& layerDone) {
        checkProducts(model);
        std::vector<MetricResult> results = measureOnChoice(model, requests, choice, progress, layerDone);
        const std::vector<std::string> warnings = overwrittenFiles(model);
        for (MetricResult& result : results)
            result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
        return results;
    };
    services.overwrittenFiles = overwrittenFiles;
    services.prune = [](const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                        const PruneWatch& watch, const Progress& progress) {
        return pruneOnChoice(model, request, choice,
                             {.watch = watch, .fileBytes = fileBytesOf(model, request.strategy)}, progress);
    };
    services.gradientChange = gradientChangeOnChoice;
    services.readText = readEvaluationText;
    services.readSequences = [](const Model& model, const std::string& path, std::int64_t mostTokens,
                                const Progress& progress) {
        SequenceRequest request;
        request.path = path;
        request.rules.mostTokens = mostTokens;
        return readSequenceText(model, request, progress);
    };
    services.readPrompt = promptTokens;
    services.readTask = [](const Model& model, const TaskRequest& request, const Progress& progress) {
        AskedTask asked = readAskedTask(request, progress);
        nameClasses(asked, model.card());
        return asked;
    };
    services.readSweep = readSweep;
    services.sweepRecovery = [](const std::shared_ptr<const Model>& model, const RecoveryChoice& choice,
                                const std::string& folder, const Progress& progress) {
        return sweepRecovery(model, choice, folder, {}, progress);
    };
    services.adaptersFolder = adaptersFolder;
    services.findFiles = [](const std::string& folder, std::span<const std::string_view> names) {
        FoundFiles found = findRecipeFiles(folder, names);
        return NamedFiles{std::move(found.paths), std::move(found.bytes)};
    };
    services.openTokenizer = [](const Model& model) { return openTokenizer(model.card()); };
    services.stayTogether = stayTogether;
    services.availableMemory = availableMemory;
    services.maskDigest = maskDigest;
    services.readMask = [](const std::string& path, const ModelSpec& spec, const std::string& fingerprint,
                           std::vector<std::string>& warnings) {
        MaskReading reading = readMask(path, spec, fingerprint);
        warnings.insert(warnings.end(), reading.warnings.begin(), reading.warnings.end());
        return std::move(reading.record);
    };
    services.writeMask = [](const MaskRecord& record, const std::string& path) { writeMask(path, record); };
    services.maskedModel = readMaskedModelName;
    services.exportTargets = exportTargets();
    services.exportSize = [](const Model& model, const ExportTarget& target, const ExportRequest& request) {
        return exportSize(model, target, request);
    };
    services.exportModel = [](const Model& model, const ExportTarget& target, const ExportRequest& request,
                              const Progress& progress) { return exportModel(model, target, request, progress); };
    services.recover = recoverModel;
    services.writeRecovered = writeRecovered;
    services.recoveredModel = recoveredModel;
    services.openAdapter = openAdapter;
    services.trainingSize = trainingSize;
    services.modelExtensions = modelExtensions();
    return services;
}

} // namespace secateur
