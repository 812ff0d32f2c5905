#pragma once

#include "analysis/base/progress.h"
#include "analysis/campaigns/sweep_setup.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/export/export_target.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/measure.h"
#include "analysis/model/found_model.h"
#include "analysis/model/model.h"
#include "analysis/session/session.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/strategies/prune.h"
#include "analysis/text/scored_text.h"
#include "analysis/text/tokenizer.h"
#include "analysis/training/recovery_request.h"
#include "analysis/training/training_forecast.h"
#include "analysis/weights/stored_tensors.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Files that were found by their usual names.
struct NamedFiles {
    std::map<std::string, std::string> paths;  ///< by usual name
    std::map<std::string, std::int64_t> bytes; ///< sizes, by usual name
};

/// A model with an adapter.
struct OpenedAdapter {
    std::shared_ptr<const Model> model; ///< with the adapter; it keeps the model without it
    EvaluatedAdapter adapter;
    std::optional<MaskRecord> mask; ///< the mask beside the adapter, under which it was trained
    std::vector<std::string> warnings;
};

/// Functions of the backends that the window uses. The program sets them, because it links both. All of them are called
/// on a worker thread, throw Error and Cancelled, and have no state.
struct Services {
    std::function<std::shared_ptr<const Model>(const std::string& path, const Progress&)> openModel;
    /// The tensors of a checkpoint as its files store them. The architecture need not be known.
    std::function<std::shared_ptr<const StoredTensors>(const std::string& path, const Progress&)> storedTensors;
    /// Whether a path names a session; false for a model.
    std::function<bool(const std::string& path)> isSession;
    std::function<Session(const std::string& path)> readSession;
    /// Writes a temporary file next to the path and renames it. An existing file is replaced.
    std::function<void(const Session&, const std::string& path)> writeSession;
    /// Checkpoints on this computer, newest first: in Hugging Face's cache, in the folder of the demo model, and next
    /// to files that were opened.
    std::function<std::vector<FoundModel>(const std::vector<std::string>& opened, const Progress&)> foundModels;
    /// Measures metrics. Results are in the order of the requests. Metrics that run the model use the MeasureChoice.
    std::function<std::vector<MetricResult>(const Model&, std::span<const MetricRequest>, const MeasureChoice&,
                                            const Progress&, const LayerSink&)>
        measure = [](const Model& model, std::span<const MetricRequest> requests, const MeasureChoice&,
                     const Progress& progress,
                     const LayerSink& layerDone) { return secateur::measure(model, requests, progress, layerDone); };
    /// Runs a strategy on the chosen text. The mask of the MeasureChoice is ignored. The watch follows strategies with
    /// StrategyInfo::reportsSteps.
    std::function<PruneResult(const Model&, const PruneRequest&, const MeasureChoice&, const PruneWatch&,
                              const Progress&)>
        prune;
    /// Measures on the chosen text how a cut changes the gradients. The mask of the MeasureChoice is ignored.
    std::function<GradientChange(const Model&, const GradientChangeRequest&, const MeasureChoice&, const Progress&)>
        gradientChange;
    /// Reads a text and divides it into windows for a model.
    std::function<EvaluationText(const Model&, const TextRequest&, const Progress&)> readText;
    /// Reads a text and divides it into sequences: for an encoder, or to calibrate on.
    /// @param path empty = the built-in text
    std::function<SequenceText(const Model&, const std::string& path, std::int64_t mostTokens, const Progress&)>
        readSequences;
    /// Reads a task file; for a classifier also the names of its classes.
    std::function<AskedTask(const Model&, const TaskRequest&, const Progress&)> readTask;
    /// Searches a folder for texts and tasks by their usual names.
    std::function<NamedFiles(const std::string& folder, std::span<const std::string_view> names)> findFiles;
    /// Reads the texts and tasks of a sweep.
    std::function<SweepInputs(const Model&, const SweepSetup&, const Progress&)> readSweep;
    /// The recovery training of a sweep. Reads the training data. @param folder of the trainings
    std::function<SweepRecovery(const std::shared_ptr<const Model>&, const RecoveryChoice&, const std::string& folder,
                                const Progress&)>
        sweepRecovery;
    /// The folder of the trainings of a session's sweeps. @param session path of the session
    std::function<std::string(const std::string& session)> adaptersFolder;
    std::function<std::shared_ptr<const Tokenizer>(const Model&)> openTokenizer;
    /// Whether the weights of two plans of one model fit in memory together, so that timed runs can alternate.
    std::function<bool(const Plan&, const Plan&)> stayTogether;
    /// The tokens of a prompt. @throws Error if the model has no tokenizer, or it cannot be read
    std::function<PromptTokens(const Model&, const std::string& text)> readPrompt;
    /// A warning for each weight file of a model that was written to since the model was opened.
    std::function<std::vector<std::string>(const Model&)> overwrittenFiles = [](const Model&) {
        return std::vector<std::string>();
    };
    /// Bytes of memory that are available without swapping.
    std::function<std::int64_t()> availableMemory;
    /// The digest of a mask: "dense" if it cuts nothing, otherwise "sha256:..." (resources/manual/formats.md).
    std::function<std::string(const PruningMask&)> maskDigest;
    /// Reads a mask file and adds warnings. @param fingerprint fingerprint of the open model
    std::function<MaskRecord(const std::string& path, const ModelSpec&, const std::string& fingerprint,
                             std::vector<std::string>& warnings)>
        readMask;
    std::function<void(const MaskRecord&, const std::string& path)> writeMask;
    /// The name of the model for which a mask file was made; empty if the file states none.
    std::function<std::string(const std::string& path)> maskedModel;
    /// Export targets, in the order in which they are offered.
    std::span<const ExportTarget> exportTargets;
    /// The size of an export before it is written. The path of the request is not used.
    std::function<ExportSize(const Model&, const ExportTarget&, const ExportRequest&)> exportSize;
    /// Writes a checkpoint with its mask file and card. Writes all files or none.
    std::function<ExportResult(const Model&, const ExportTarget&, const ExportRequest&, const Progress&)> exportModel;
    /// Trains a model under a mask. Continues an equal run that was stopped, from its checkpoint in the request's
    /// folder.
    /// @param watch called on the worker thread with the run before its first step, after each step and after each
    /// score
    /// @returns warnings about the training data
    std::function<std::vector<std::string>(const Model&, const RecoveryRequest&, const TrainingWatch& watch,
                                           const Progress&)>
        recover;
    /// Writes the adapter with the lowest held-out loss of a run, with its mask and its record.
    /// @param key TrainingRun::key of a run that `recover` trained
    std::function<void(const Model&, const RecoveryRequest&, const std::string& key, const std::string& folder)>
        writeRecovered;
    /// The model with the adapter that writeRecovered() writes.
    std::function<OpenedAdapter(const std::shared_ptr<const Model>&, const RecoveryRequest&, const std::string& key)>
        recoveredModel;
    /// The model with the adapter of a folder.
    std::function<OpenedAdapter(const std::shared_ptr<const Model>&, const std::string& folder)> openAdapter;
    /// The size of training data. @param data path; empty = the built-in text @param length TrainingSettings::length
    std::function<TrainingSize(const Model&, const std::string& data, int length, const Progress&)> trainingSize;
    std::vector<std::string> modelExtensions; ///< extensions of model files: ".gguf"
};

} // namespace secateur
