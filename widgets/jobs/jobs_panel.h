#pragma once

#include <QScrollArea>

#include <map>

class QLabel;
class QVBoxLayout;

namespace secateur {

class JobRunner;

/// Running and waiting jobs, each with progress, time left and a button to cancel it; below them, how the latest jobs
/// ended.
class JobsPanel : public QScrollArea {
    Q_OBJECT

public:
    explicit JobsPanel(JobRunner* jobs, QWidget* parent = nullptr);

private:
    class Row;
    void add(quint64 id, const QString& title);
    void update(quint64 id, double fraction, const QString& text, double secondsLeft);
    void end(quint64 id, const QString& how, const QString& tip = {});

    JobRunner* m_jobs;
    QVBoxLayout* m_column;
    QLabel* m_empty;
    std::map<quint64, Row*> m_rows; ///< rows of jobs that are not over
};

} // namespace secateur
