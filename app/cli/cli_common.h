#pragma once

#include "analysis/base/error.h"
#include "analysis/masks/mask_record.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
#include "analysis/session/session.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace secateur::cli {

/// What every verb is given: how to speak and when to stop.
struct Console {
    bool json = false;
    std::string progressMode = "auto";
    std::string logLevel = "warn";
    int threads = 0;
    std::string device = "cpu";
    std::stop_source stop;
    bool isIncomplete = false; ///< set by a verb that was stopped and gave what it had

    /// Reports to standard error: live on a terminal, a line at a time for logs, or as JSON lines.
    Progress progress() const;
    /// Whether progress goes anywhere.
    bool tellsProgress() const;
    /// The expected time of what begins now, as progress is told: a line, or a JSON line with "expected_seconds".
    void announce(double expectedSeconds, std::string_view text) const;
};

/// --json, --progress, --threads, --device, --log-level
void addCommonOptions(CLI::App& verb, Console& console);

/// @param memoryBudget bytes of converted weights; 0 = half of what is free
std::shared_ptr<const Model> open(const std::string& path, const Console& console, const Progress& progress,
                                  std::int64_t memoryBudget = 0);

/// What verbs that run a model are told besides.
struct RunOptions {
    std::string mask; ///< file; empty = dense
    std::string dtype = "auto";
    std::int64_t memoryBudget = 0;
};

/// --dtype, --memory-budget
void addRunOptions(CLI::App& verb, RunOptions& options);
/// --mask, for verbs that take one at most
void addMaskOption(CLI::App& verb, RunOptions& options);

/// A model, ready to run on texts.
struct ReadyModel {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;
    std::optional<MaskRecord> mask;    ///< as its file says; none = dense
    std::vector<std::string> warnings; ///< the model's, and of mask and memory
};

/// Reads a mask of a model; what its file gives cause to say is added to the warnings.
MaskRecord maskOf(const std::string& path, const Model& model, std::vector<std::string>& warnings);

/// Opens the model and what is left of it under the mask. The type to compute in and why goes to the log.
ReadyModel openToRun(const std::string& path, const RunOptions& options, const Console& console,
                     const Progress& progress);

/// Says with each step how long the rest will take, as far as the steps so far can tell.
Progress withTimeLeft(const Progress& progress, const Console& console);

/// This process's greatest resident memory so far.
std::int64_t peakBytes();

/// The card with its fingerprint.
ModelCard fullCard(const Model& model);

/// How a column stands; `point` puts decimal points under each other.
enum class Align { left, right, point };

/// Columns two spaces apart; the first row is the header. Columns that `alignment` does not reach are left-aligned.
std::string table(std::vector<std::vector<std::string>> rows, const std::vector<Align>& alignment = {});

void addInspect(CLI::App& program, Console& console);
void addMeasure(CLI::App& program, Console& console);
void addAblate(CLI::App& program, Console& console);
void addPlot(CLI::App& program, Console& console);
void addList(CLI::App& program, Console& console);
void addGenerate(CLI::App& program, Console& console);
void addEvaluate(CLI::App& program, Console& console);
void addExport(CLI::App& program, Console& console);
void addMask(CLI::App& program, Console& console);
void addPrune(CLI::App& program, Console& console);
void addSession(CLI::App& program, Console& console);

} // namespace secateur::cli
