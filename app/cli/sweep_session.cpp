#include "app/cli/sweep_session.h"

#include "analysis/base/text.h"
#include "app/cli/cli_common.h"
#include "backends/session/session_hdf5.h"

#include <utility>

namespace secateur::cli {

SweepKeeper::SweepKeeper(std::string path, const Model& model)
    : m_path(std::move(path)) {
    const ModelCard card = fullCard(model);
    checkCanAdd(card, m_path);
    if (hasContent(m_path))
        m_session = readSession(m_path);
    m_session.model = card;
}

void SweepKeeper::keep(const SweepNews& news) {
    Session more;
    more.model = m_session.model;
    more.created = utcNow();
    more.results = news.results;
    for (const ChosenMask& mask : news.masks)
        more.masks.push_back({mask.name, mask.digest, mask.record});
    more.evaluations = news.evaluations;
    if (news.curves)
        more.curves.push_back(*news.curves);
    addToSession(more, m_path);
    noteWritten(m_path);
    join(m_session, more);
}

} // namespace secateur::cli
