#pragma once

#include "analysis/base/head_id.h"
#include "analysis/weights/head_circuit.h"
#include "widgets/jobs/job_runner.h"

#include <QImage>
#include <QObject>
#include <QString>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace secateur {

class Document;
class IndexRun;

/// Both circuits of a head; null where its layer has none.
struct HeadCircuits {
    std::shared_ptr<const HeadCircuit> queryKey;
    std::shared_ptr<const HeadCircuit> outputValue;

    const std::shared_ptr<const HeadCircuit>& of(CircuitKind kind) const {
        return kind == CircuitKind::queryKey ? queryKey : outputValue;
    }
};

/// Small pictures of a head's circuits, each with colours of its own around zero; null where there is none.
struct CircuitThumbnails {
    QImage queryKey;
    QImage outputValue;
    double norm = 0; ///< of query-key; NaN = there is none
};

/// Computes circuits for the window: those of the active head at once, then thumbnails of other heads. Lives on the GUI
/// thread.
class CircuitRun : public QObject {
    Q_OBJECT

public:
    static constexpr int thumbnailSide = 64;

    CircuitRun(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    /// Whether there are weights to read.
    bool isAvailable() const;
    const CircuitOptions& options() const { return m_options; }
    void setOptions(const CircuitOptions& options);

    /// Requests the circuits of a head; cancels a request for another one.
    void show(HeadId head);
    /// Requests thumbnails of heads, in this order, and drops earlier requests.
    void showThumbnails(const std::vector<HeadId>& heads);

    /// The head whose circuits were computed last; empty = none.
    std::optional<HeadId> head() const { return m_head; }
    const HeadCircuits& circuits() const { return m_circuits; }
    const std::map<HeadId, CircuitThumbnails>& thumbnails() const { return m_thumbnails; }
    bool isRunning() const { return m_job != 0; }
    bool isDone() const;
    /// Why the circuits could not be computed, as a sentence; empty = there was no failure.
    const QString& failure() const { return m_failure; }

signals:
    /// All was removed, because the model or the options changed.
    void restarted();
    void circuitsChanged();
    void thumbnailMade(secateur::HeadId head);

private:
    void restart();
    void onEnded(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    IndexRun* m_small;
    CircuitOptions m_options;
    std::optional<HeadId> m_head;
    std::optional<HeadId> m_wanted; ///< head of the job
    HeadCircuits m_circuits;
    std::map<HeadId, CircuitThumbnails> m_thumbnails;
    std::vector<HeadId> m_heads; ///< of the items of m_small
    JobRunner::Id m_job = 0;
    quint64 m_round = 0; ///< results of earlier models and options are dropped
    QString m_failure;
};

} // namespace secateur
