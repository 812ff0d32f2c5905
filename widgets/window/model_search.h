#pragma once

#include "analysis/model/found_model.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>

#include <functional>
#include <string>
#include <vector>

namespace secateur {

/// Searches this computer for models on a separate thread, so that a slow disk delays neither the window nor the jobs.
class ModelSearch : public QObject {
    Q_OBJECT

public:
    using Search = std::function<std::vector<FoundModel>(const std::vector<std::string>& opened, const Progress&)>;

    /// @param search called on the separate thread; an empty function finds nothing
    explicit ModelSearch(Search search, QObject* parent = nullptr);

    /// Starts a search unless one is running. @param opened files in whose folders it looks too
    void start(const std::vector<std::string>& opened);
    /// Whether the first search has not ended yet.
    bool isFirst() const { return m_isFirst; }
    /// The models that the last search found, newest first.
    const std::vector<FoundModel>& models() const { return m_models; }
    /// The demo model; null if the last search did not find it.
    const FoundModel* demo() const;

signals:
    /// Emitted when a search has ended; also when it failed.
    void found();

private:
    Search m_search;
    std::vector<FoundModel> m_models;
    bool m_isFirst;
    JobRunner m_runner;
};

} // namespace secateur
