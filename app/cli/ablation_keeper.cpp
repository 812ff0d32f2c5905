#include "app/cli/ablation_keeper.h"

#include "analysis/base/text.h"
#include "backends/session/session_hdf5.h"

#include <filesystem>
#include <utility>

namespace secateur::cli {

namespace {

/// What a kill loses at most, beside the layer it falls into. Writing takes some milliseconds.
constexpr auto mostUnkept = std::chrono::seconds(10);

} // namespace

AblationKeeper::AblationKeeper(std::string path, const Model& model, const std::optional<SessionMask>& mask)
    : m_path(std::move(path)) {
    m_additions.model = fullCard(model);
    if (mask)
        m_additions.masks.push_back(*mask);
    checkCanAdd(m_additions.model, m_path);
    if (std::filesystem::exists(m_path))
        m_held = readSession(m_path);
}

std::vector<MetricResult> AblationKeeper::known(const std::vector<MetricRequest>& requests,
                                                const Measurement& like) const {
    std::vector<MetricResult> found;
    for (const MetricRequest& request : requests)
        for (const MetricResult& result : m_held.results) {
            Measurement own = result.measurement;
            own.created = like.created;
            if (result.request.resultId() == request.resultId() && own == like)
                found.push_back(result);
        }
    return found;
}

void AblationKeeper::keepNowAndThen(const std::vector<MetricResult>& results) {
    if (std::chrono::steady_clock::now() - m_lastKept > mostUnkept)
        keep(results);
}

void AblationKeeper::keep(const std::vector<MetricResult>& results) {
    Session more = m_additions;
    more.created = utcNow();
    more.results = results;
    addToSession(more, m_path);
    m_lastKept = std::chrono::steady_clock::now();
}

} // namespace secateur::cli
