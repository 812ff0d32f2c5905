#include "widgets/window/cache_search.h"

#include <utility>

namespace secateur {

CacheSearch::CacheSearch(Search search, QObject* parent)
    : QObject(parent)
    , m_search(std::move(search)) {}

void CacheSearch::start() {
    if (!m_search || !m_runner.isIdle())
        return;
    m_runner.start(tr("Looking for models"), JobRunner::Priority::interactive,
                   [this, search = m_search](const Progress& progress) {
                       return [this, models = search(progress)]() mutable {
                           m_models = std::move(models);
                           emit found();
                       };
                   });
}

} // namespace secateur
