#include "app/cli/sweep_session.h"

#include "analysis/base/text.h"
#include "app/cli/cli_common.h"
#include "app/cli/ranks.h"
#include "backends/session/session_hdf5.h"

#include <utility>

namespace secateur::cli {

SweepKeeper::SweepKeeper(std::string path, const Model& model)
    : m_path(std::move(path)) {
    m_session = sessionToExtend(m_path, fullCard(model));
}

Session SweepKeeper::sessionOf(const SweepNews& news) const {
    Session more;
    more.model = m_session.model;
    more.created = utcNow();
    more.results = news.results;
    for (const ChosenMask& mask : news.masks)
        more.masks.push_back({mask.name, mask.digest, mask.record});
    more.evaluations = news.evaluations;
    if (news.curves)
        more.curves.push_back(*news.curves);
    return more;
}

void SweepKeeper::keep(const SweepNews& news) {
    const Session more = sessionOf(news);
    addToResults(more, m_path);
    join(m_session, more);
}

SweepRanks SweepKeeper::ranks() const {
    if (!cluster())
        return {};
    return {cluster(), [this](const SweepNews& news) { return sessionBytes(sessionOf(news)); },
            [](std::string_view bytes) {
                Session session = sessionFromBytes(bytes);
                SweepNews news{.results = std::move(session.results), .evaluations = std::move(session.evaluations)};
                for (SessionMask& mask : session.masks)
                    news.masks.push_back({mask.name, mask.digest, std::move(mask.record)});
                if (!session.curves.empty())
                    news.curves = std::move(session.curves.front());
                return news;
            }};
}

} // namespace secateur::cli
