#pragma once

#include "widgets/jobs/job_runner.h"

#include <QWidget>

#include <string>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace secateur {

class Document;
class StillLabel;
struct ExportResult;
struct ExportTarget;

/// Type, path and start of an export to one target.
class ExportForm : public QWidget {
    Q_OBJECT

public:
    explicit ExportForm(Document* document, QWidget* parent = nullptr);

    /// @param isOneFile whether the export is a .gguf file, not a folder
    void setTarget(const ExportTarget* target, bool isOneFile);
    void setPath(const QString& path);
    QString path() const;
    /// Forgets the path that the user typed.
    void suggestPath();
    /// Whether an export can start.
    void setReady(bool ready);

signals:
    void typeChosen();
    /// The user wants to choose the path in a file dialog, which starts with `suggestion`.
    void browseWanted(const QString& suggestion, bool isOneFile);
    void exportWanted(const QString& path, bool mayReplace);

private:
    void listTypes(const ExportTarget* target, const std::string& format);
    QString withEnding(QString path) const;
    QString suggestion() const;
    bool isOnServer() const;
    QString serverFolder() const;

    Document* m_document;
    const ExportTarget* m_target = nullptr;
    std::string m_format; ///< of the source
    bool m_isOneFile = false;
    bool m_isTyped = false; ///< whether the path is the user's own
    QComboBox* m_type;
    QLineEdit* m_path;
    QPushButton* m_browse;
    QCheckBox* m_replace;
    QPushButton* m_export;
};

/// Progress and result of the last export.
class ExportProgress : public QWidget {
    Q_OBJECT

public:
    ExportProgress(Document* document, JobRunner* jobs, QWidget* parent = nullptr);

    void follow(JobRunner::Id job, const QString& path);
    bool isRunning() const { return m_job != 0; }

signals:
    void runningChanged();

private:
    void showResult(const ExportResult& result);
    void end(const QString& text);

    JobRunner* m_jobs;
    JobRunner::Id m_job = 0;
    QString m_target;
    QString m_folder;
    QProgressBar* m_bar;
    StillLabel* m_step;
    QPushButton* m_cancel;
    QLabel* m_result;
    QPushButton* m_showFolder;
};

} // namespace secateur
