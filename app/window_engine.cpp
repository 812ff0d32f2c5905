#include "app/window_engine.h"

#include "analysis/text.h"
#include "backends/asked_task_file.h"
#include "backends/available_memory.h"
#include "backends/evaluation_text.h"
#include "backends/export_masked.h"
#include "backends/formats.h"
#include "backends/hub_cache.h"
#include "backends/mask_digest.h"
#include "backends/mask_json.h"
#include "backends/measure_on_text.h"
#include "backends/open_model.h"
#include "backends/open_tokenizer.h"
#include "backends/plan_memory.h"
#include "backends/prompt_tokens.h"
#include "backends/prune_on_text.h"
#include "backends/runtime.h"
#include "backends/session_hdf5.h"

#include <fmt/core.h>

#include <mutex>
#include <utility>

namespace secateur {

Engine windowEngine() {
    Engine engine;
    engine.openModel = [](const std::string& path, const Progress& progress) {
        static std::once_flag once;
        std::call_once(once, [] { initialiseRuntime(0); });
        return openModel(path, progress);
    };
    engine.isSession = isSession;
    engine.readSession = [](const std::string& path) { return readSession(path); };
    engine.writeSession = [](const Session& session, const std::string& path) { writeSession(session, path); };
    engine.cachedModels = [](const Progress& progress) { return cachedModels(hubCacheFolder(), progress); };
    engine.measure = measureOnChoice;
    engine.pruneGreedily = pruneOnChoice;
    engine.gradientChange = gradientChangeOnChoice;
    engine.readText = readEvaluationText;
    engine.readPrompt = promptTokens;
    engine.readTask = [](const Model& model, const TaskRequest& request, const Progress& progress) {
        AskedTask asked = readAskedTask(request, progress);
        nameClasses(asked, model.card());
        return asked;
    };
    engine.openTokenizer = [](const Model& model) { return openTokenizer(model.card()); };
    engine.stayTogether = stayTogether;
    engine.availableMemory = availableMemory;
    engine.maskDigest = maskDigest;
    engine.readMask = [](const std::string& path, const ModelSpec& spec, const std::string& fingerprint,
                         std::vector<std::string>& warnings) {
        MaskReading reading = readMask(path, spec, fingerprint);
        warnings.insert(warnings.end(), reading.warnings.begin(), reading.warnings.end());
        return std::move(reading.record);
    };
    engine.writeMask = [](const MaskRecord& record, const std::string& path) { writeMask(path, record); };
    engine.exportMasked = [](const Model& model, const MaskRecord& record, const std::string& path,
                             const std::vector<std::string>& measured, const Progress& progress) {
        const ExportResult result = exportMasked(model, {record, path, false, measured}, progress);
        return fmt::format("{}: reopened, logits of {} tokens differ from the masked model's by {} at most, of {}",
                           result.path, result.verified.tokens, significant(result.verified.most),
                           significant(result.verified.scale));
    };
    engine.modelExtensions = modelExtensions();
    return engine;
}

} // namespace secateur
