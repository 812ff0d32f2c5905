#pragma once

#include "analysis/report/report.h"

#include <QDialog>
#include <QString>

#include <stop_token>
#include <vector>

class QCheckBox;
class QComboBox;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace secateur {

class Document;

/// Chooses the title, the parts and the format of a report on the open session, and writes it. The contents are
/// computed in a job; the pictures are painted one at a time while the window answers.
class ReportDialog : public QDialog {
    Q_OBJECT

public:
    explicit ReportDialog(Document* document, QWidget* parent = nullptr);

    ReportChoice choice() const;
    /// Writes the report as .html or .pdf, by the extension.
    void write(const QString& path);
    bool isWriting() const { return m_isWriting; }

signals:
    void written(const QString& path);
    void failed(const QString& message);

public slots:
    /// Cancels the writing, or closes the dialog.
    void reject() override;

private:
    void build();
    void choosePath();
    void setWriting(bool isWriting);
    void paint(const Report& report, const QString& path);

    Document* m_document;
    QLineEdit* m_title;
    std::vector<QCheckBox*> m_parts; ///< in the order of reportParts()
    QComboBox* m_format;
    QProgressBar* m_progress;
    QPushButton* m_write;
    QPushButton* m_cancel;
    bool m_isWriting = false;
    quint64 m_job = 0; ///< that computes the contents; 0 = none
    std::stop_source m_stop;
};

} // namespace secateur
