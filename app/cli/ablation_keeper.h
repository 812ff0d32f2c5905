#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/session/session.h"
#include "app/cli/cli_common.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

/// The session that `ablate --out` adds to: what it holds is not measured again, and what is measured is in the file
/// soon after.
class AblationKeeper {
public:
    /// @param mask under which everything runs @throws Error when the file cannot be added to, or is of another model
    AblationKeeper(std::string path, const Model& model, const std::optional<SessionMask>& mask);

    const std::string& path() const { return m_path; }
    /// What the session holds of these requests, measured in this way.
    std::vector<MetricResult> known(const std::vector<MetricRequest>& requests, const Measurement& like) const;
    /// Writes what there is, unless that was done a moment ago. @throws Error
    void keepNowAndThen(const std::vector<MetricResult>& results);
    /// Writes what there is. @throws Error
    void keep(const std::vector<MetricResult>& results);

private:
    std::string m_path;
    Session m_held;      ///< what the file held
    Session m_additions; ///< without the results
    std::chrono::steady_clock::time_point m_lastKept = std::chrono::steady_clock::now();
};

} // namespace secateur::cli
