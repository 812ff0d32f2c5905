#pragma once

#include "analysis/model/cached_model.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>

#include <functional>
#include <vector>

namespace secateur {

/// Looks for models that were fetched before, on a thread of its own: a slow disk holds up neither the window nor what
/// is being opened.
class CacheSearch : public QObject {
    Q_OBJECT

public:
    using Search = std::function<std::vector<CachedModel>(const Progress&)>;

    /// @param search runs on the worker; may be empty, then nothing is ever found
    explicit CacheSearch(Search search, QObject* parent = nullptr);

    /// Looks anew, unless it is looking already.
    void start();
    /// What the last search brought, newest first.
    const std::vector<CachedModel>& models() const { return m_models; }

signals:
    /// A search is done.
    void found();

private:
    Search m_search;
    std::vector<CachedModel> m_models;
    JobRunner m_runner;
};

} // namespace secateur
