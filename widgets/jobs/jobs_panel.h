#pragma once

#include <QScrollArea>

#include <map>

class QLabel;
class QVBoxLayout;

namespace secateur {

class JobRunner;

/// Lists running and waiting jobs, each with its progress, the remaining time and a button to cancel it. The jobs that
/// ended last and their outcomes follow below.
class JobsPanel : public QScrollArea {
    Q_OBJECT

public:
    explicit JobsPanel(JobRunner* jobs, QWidget* parent = nullptr);

private:
    class Row;
    void add(quint64 id, const QString& title);
    void removeOldRows();
    void update(quint64 id, double fraction, const QString& text, double secondsLeft);
    void end(quint64 id, const QString& how, const QString& tip = {});

    JobRunner* m_jobs;
    QVBoxLayout* m_column;
    QLabel* m_empty;
    std::map<quint64, Row*> m_rows; ///< rows of jobs that have not ended
};

} // namespace secateur
