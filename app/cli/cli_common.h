#pragma once

#include "analysis/base/error.h"
#include "analysis/base/progress.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/price.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/session/session.h"
#include "app/cli/output.h"
#include "backends/engine/open_model.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace secateur::cli {

/// The options that all verbs have. It also prints progress, and stops the work when the user asks for it.
struct Console {
    bool json = false;
    std::string progressMode = "auto";
    std::string logLevel = "warn";
    int threads = 0;
    std::string device = "cpu";
    std::stop_source stop;
    bool isFirst = true;       ///< false for the ranks of a job that print nothing
    int threadsOfRank = 0;     ///< number of threads without --threads; 0 = one per core
    std::string failure = {};  ///< the error that was printed; empty = none
    bool isIncomplete = false; ///< set by a verb that was stopped and printed partial results

    /// A Progress that reports on standard error: live on a terminal, as lines, or as JSON lines.
    Progress progress() const;
    bool showsProgress() const;
    /// Prints the expected duration of the work that begins now, as a line of text or of JSON ("expected_seconds").
    void announce(double expectedSeconds, std::string_view text) const;
};

/// Adds --json, --progress, --threads, --device and --log-level.
void addCommonOptions(CLI::App& verb, Console& console);

/// A check of an option whose text a model reads: it must be UTF-8.
CLI::Validator isUtf8();

/// Options for opening a model with the options of all verbs. @param memoryBudget as in OpenOptions
OpenOptions openOptions(const Console& console, std::int64_t memoryBudget);

/// Opens a model. @param memoryBudget as in OpenOptions
std::shared_ptr<const Model> open(const std::string& path, const Console& console, const Progress& progress,
                                  std::int64_t memoryBudget = 0);

/// Options of verbs that run a model.
struct RunOptions {
    std::string mask;           ///< path of the mask file; empty = dense
    bool hasOtherMasks = false; ///< whether the verb applies masks that are not in `mask`
    std::string adapter;        ///< folder of the adapter; empty = none
    std::string dtype = "auto";
    std::int64_t memoryBudget = 0;
};

/// Adds --dtype, --memory-budget and --adapter.
void addRunOptions(CLI::App& verb, RunOptions& options);
/// Adds --adapter.
CLI::Option* addAdapterOption(CLI::App& verb, RunOptions& options);
/// Adds --mask, for verbs that take at most one mask.
void addMaskOption(CLI::App& verb, RunOptions& options);

/// A model with a plan, ready to run on texts.
struct ReadyModel {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;
    std::optional<MaskRecord> mask;    ///< content of the mask file; empty = dense
    std::vector<std::string> warnings; ///< warnings about model, mask and memory
    EvaluatedAdapter adapter = {};     ///< the adapter of the model

    /// The model with which runs are compared: without the adapter, unless the adapter brings a classifier with other
    /// classes.
    const Model& reference() const;
    bool hasReferenceModel() const { return &reference() != model.get(); }
};

/// Opens a model with the adapter of the options, if there is one, and appends warnings about the adapter. The mask
/// beside an adapter is not applied.
std::shared_ptr<const Model> openAdapted(const std::string& path, const RunOptions& options, const Console& console,
                                         const Progress& progress, std::vector<std::string>& warnings);

/// Reads a mask file for a model, and appends warnings. A mask of the model without its adapter fits too.
MaskRecord maskOf(const std::string& path, const Model& model, std::vector<std::string>& warnings);

/// Opens the model and plans its run under the mask. Logs the chosen dtype and the reason for it.
ReadyModel openToRun(const std::string& path, const RunOptions& options, const Console& console,
                     const Progress& progress);

/// Adds the expected remaining time to each report, computed from the progress so far.
Progress withTimeLeft(const Progress& progress, const Console& console);

/// Peak resident memory of this process in bytes.
std::int64_t peakBytes();

/// --force, for verbs that write files of which no model consists
void addForceOption(CLI::App& verb, bool& force);

/// Appends a warning for each weight file that was written to since the model was opened: called at the end of a run.
void addOverwrittenFiles(const Model& model, std::vector<std::string>& warnings);

/// The model card with its fingerprint.
ModelCard fullCard(const Model& model);

/// Prints a table of a session's measurements; nothing if there are none.
void printResults(const Session& session);

double secondsSince(std::chrono::steady_clock::time_point begin);

void addInspect(CLI::App& program, Console& console);
void addMeasure(CLI::App& program, Console& console);
void addAblate(CLI::App& program, Console& console);
void addPlot(CLI::App& program, Console& console);
void addList(CLI::App& program, Console& console);
void addGenerate(CLI::App& program, Console& console);
void addCompensate(CLI::App& program, Console& console);
void addEvaluate(CLI::App& program, Console& console);
void addExport(CLI::App& program, Console& console);
void addMask(CLI::App& program, Console& console);
void addPrune(CLI::App& program, Console& console);
void addRecover(CLI::App& program, Console& console);
/// The hidden verbs `man` and `completions`.
void addReference(CLI::App& program, Console& console);
void addReport(CLI::App& program, Console& console);
void addReproduce(CLI::App& program, Console& console);
void addServe(CLI::App& program, Console& console);
void addSession(CLI::App& program, Console& console);
void addSweep(CLI::App& program, Console& console);

/// Prints a mask's cuts layer by layer, its savings, and the KV groups that cannot be removed because only some of
/// their heads are cut.
/// @param hasModel whether the sizes of the model's weights are known
void printMask(const PruningMask& mask, const ModelSpec& spec, const Price& price, bool hasModel);
/// Prints a mask's cuts layer by layer.
void printCuts(const PruningMask& mask);

} // namespace secateur::cli
