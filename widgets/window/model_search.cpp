#include "widgets/window/model_search.h"

#include <algorithm>
#include <utility>

namespace secateur {

ModelSearch::ModelSearch(Search search, QObject* parent)
    : QObject(parent)
    , m_search(std::move(search))
    , m_isFirst(m_search != nullptr) {
    connect(&m_runner, &JobRunner::failed, this, [this] {
        m_isFirst = false;
        emit found();
    });
}

void ModelSearch::start(const std::vector<std::string>& opened) {
    if (!m_search || !m_runner.isIdle())
        return;
    m_runner.start(tr("Looking for models"), JobRunner::Priority::files,
                   [this, search = m_search, opened](const Progress& progress) {
                       return [this, models = search(opened, progress)]() mutable {
                           m_models = std::move(models);
                           m_isFirst = false;
                           emit found();
                       };
                   });
}

const FoundModel* ModelSearch::demo() const {
    const auto found = std::ranges::find_if(m_models, &FoundModel::isDemo);
    return found == m_models.end() ? nullptr : &*found;
}

} // namespace secateur
