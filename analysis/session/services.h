#pragma once

#include "analysis/evaluation/asked_task.h"
#include "analysis/model/cached_model.h"
#include "analysis/text/evaluation_text.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/measure.h"
#include "analysis/model/model.h"
#include "analysis/base/progress.h"
#include "analysis/text/prompt_tokens.h"
#include "analysis/strategies/prune.h"
#include "analysis/session/session.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// The doors to files and to work that the window needs, filled in by the program that wires it to the backends.
/// All are called on a worker thread, throw Error and Cancelled, and hold no state.
struct Services {
    std::function<std::shared_ptr<const Model>(const std::string& path, const Progress&)> openModel;
    /// Whether a path names a session rather than a model.
    std::function<bool(const std::string& path)> isSession;
    std::function<Session(const std::string& path)> readSession;
    /// Writes aside and renames; replaces what was there.
    std::function<void(const Session&, const std::string& path)> writeSession;
    /// Checkpoints that lie in Hugging Face's cache, newest first.
    std::function<std::vector<CachedModel>(const Progress&)> cachedModels;
    /// Metrics in the order asked; those that run the model, on what was chosen.
    std::function<std::vector<MetricResult>(const Model&, std::span<const MetricRequest>, const MeasureChoice&,
                                            const Progress&, const LayerSink&)>
        measure = [](const Model& model, std::span<const MetricRequest> requests, const MeasureChoice&,
                     const Progress& progress,
                     const LayerSink& layerDone) { return secateur::measure(model, requests, progress, layerDone); };
    /// A strategy that measures again after each step, on what was chosen; its mask and tokens = 0 are chosen anew.
    std::function<PruneResult(const Model&, const PruneRequest&, const MeasureChoice&, const Progress&)> pruneGreedily;
    /// What a cut does to gradients, on what was chosen; the choice's mask does not matter.
    std::function<GradientChange(const Model&, const GradientChangeRequest&, const MeasureChoice&, const Progress&)>
        gradientChange;
    /// Reads a text and cuts it for a model.
    std::function<EvaluationText(const Model&, const TextRequest&, const Progress&)> readText;
    /// Reads a task file, with what a classifier calls its classes.
    std::function<AskedTask(const Model&, const TaskRequest&, const Progress&)> readTask;
    std::function<std::shared_ptr<const Tokenizer>(const Model&)> openTokenizer;
    /// Whether the weights of two plans of one model stay in memory while runs of both take turns.
    std::function<bool(const Plan&, const Plan&)> stayTogether;
    /// A prompt as a model reads it. @throws Error when the model has no tokenizer that can be read
    std::function<PromptTokens(const Model&, const std::string& text)> readPrompt;
    /// Bytes that may be taken without driving others out.
    std::function<std::int64_t()> availableMemory;
    /// "dense" for a mask that keeps all (contract.md, Mask JSON).
    std::function<std::string(const PruningMask&)> maskDigest;
    /// A mask file; warnings are added to those there. @param fingerprint of the model at hand
    std::function<MaskRecord(const std::string& path, const ModelSpec&, const std::string& fingerprint,
                             std::vector<std::string>& warnings)>
        readMask;
    std::function<void(const MaskRecord&, const std::string& path)> writeMask;
    /// Writes a checkpoint in which what the mask cuts is 0, with mask and card beside it; whole or not at all.
    /// @param measured sentences for the card @returns a sentence on what was written
    std::function<std::string(const Model&, const MaskRecord&, const std::string& path,
                              const std::vector<std::string>& measured, const Progress&)>
        exportMasked;
    std::vector<std::string> modelExtensions; ///< of files that may hold a model: ".gguf"
};

} // namespace secateur
