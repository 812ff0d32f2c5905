#pragma once

#include "analysis/export/export_target.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <optional>
#include <vector>

namespace secateur {

class Document;

/// What each export target makes of the current mask: the reasons against it, or the size of its export. Sizes are
/// computed one target after another by jobs that read the headers of the source's files; a change of the mask cancels
/// them. Lives on the GUI thread.
class ExportSizes : public QObject {
    Q_OBJECT

public:
    struct Row {
        const ExportTarget* target;
        Reasons reasons;                     ///< reasons against the target; empty = it can hold the mask
        std::optional<ExportSize> size = {}; ///< empty = not known
        QString problem = {};                ///< sentence on why the size could not be computed

        bool canHold() const { return reasons.empty() && target->writer; }
    };

    ExportSizes(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    /// A row for each export target; empty while nothing is open or nobody looks.
    const std::vector<Row>& rows() const { return m_rows; }
    /// The size of the source's weight files in bytes; empty = not known.
    std::optional<std::int64_t> sourceBytes() const { return m_sourceBytes; }
    /// Whether a size is missing that will be computed.
    bool isComputing() const { return m_job != 0 || m_pause.isActive(); }
    /// Whether anybody looks at the rows. They are made only then.
    void setWatched(bool watched);
    /// Computes the size of one target again, after its type was changed.
    void recompute(const ExportTarget* target);

signals:
    void changed();

private:
    void restart();
    void computeNext();
    void start(const ExportTarget* target);
    void cancel();
    void end(quint64 job);

    Document* m_document;
    JobRunner* m_jobs;
    std::vector<Row> m_rows;
    std::optional<std::int64_t> m_sourceBytes;
    QTimer m_pause; ///< runs between a change of the mask and the first job
    JobRunner::Id m_job = 0;
    const ExportTarget* m_running = nullptr; ///< the target of the job
    bool m_watched = false;
    bool m_isStale = false; ///< whether the rows are missing, because nobody looked when the mask changed
};

} // namespace secateur
