#pragma once

#include "analysis/base/progress.h"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// Seconds since any moment that stays the same; never goes back.
using Clock = std::function<double()>;
Clock steadyClock();

/// How long the runs of one thing took, those of the warm-up left out.
struct Timing {
    std::vector<double> seconds; ///< of each run, in order; at least one

    double mean() const;
    double median() const { return percentile(50); }
    /// Linear between neighbours. @param percent 0 to 100
    double percentile(double percent) const;
    /// Standard error of the mean, over the mean; infinite for a single run.
    double relativeError() const;
};

/// How many times as fast runs are as those of a reference.
struct Speedup {
    double ratio = 1; ///< of the medians: the reference's seconds over the run's, above 1 where the run is faster
    double p10 = 1;   ///< percentiles of the ratios of neighbouring runs, each with the one it took turns with
    double p90 = 1;
};
/// Runs beyond those that the other has too have no neighbour.
Speedup speedup(const Timing& reference, const Timing& run);

struct TimingRules {
    int warmup = 1; ///< runs of each work that come first and do not count
    int leastRuns = 3;
    int mostRuns = 10;
    /// Between least and most, runs go on until no work's relativeError() exceeds this.
    double relativeError = 0.02;
    /// First one run of each work, then the next of each: what slows the machine for a while slows all of them. Else
    /// all runs of the first work, then all of the second.
    bool takesTurns = true;
};

/// Done when it returns, device included. The progress it is given tells nobody anything, so that nobody's printing or
/// waiting is timed, and throws Cancelled.
using TimedWork = std::function<void(const Progress& quiet)>;

/// Times works. Reports stand between runs; from the end of the first run on they say how many seconds are left, of
/// the least runs. -> [works]
/// @throws UsageError for less than one run; Cancelled as soon as a work checks
std::vector<Timing> timeWorks(std::span<const TimedWork> works, const TimingRules& rules, const Clock& clock,
                              const Progress& progress, std::string_view what);

} // namespace secateur
