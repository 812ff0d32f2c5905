#include "widgets/gallery/report_dialog.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/report/report_writer.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace secateur {

namespace {

constexpr int reportSteps = 1000;
constexpr double contentsShare = 0.1; ///< of the progress bar, for the job

QString reportText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

ReportDialog::ReportDialog(Document* document, QWidget* parent)
    : QDialog(parent)
    , m_document(document)
    , m_title(new QLineEdit)
    , m_format(new QComboBox)
    , m_progress(new QProgressBar)
    , m_write(new QPushButton(tr("&Write…")))
    , m_cancel(new QPushButton(tr("&Close"))) {
    setWindowTitle(tr("Report"));
    build();
    connect(m_write, &QPushButton::clicked, this, &ReportDialog::choosePath);
    connect(m_cancel, &QPushButton::clicked, this, &ReportDialog::reject);
    connect(document, &Document::opened, this, &ReportDialog::reject);
    connect(document, &Document::failed, this, [this] {
        if (m_job != 0)
            setWriting(false);
    });
}

void ReportDialog::build() {
    m_title->setAccessibleName(tr("Title of the report"));
    m_title->setToolTip(tr("The title on the first page; without one, the name of the model"));
    m_title->setPlaceholderText(QString::fromStdString(usualTitle(m_document->session())));
    m_format->addItem(tr("HTML, one file for a browser"), "html");
    m_format->addItem(tr("PDF, A4 pages"), "pdf");
    m_format->setAccessibleName(tr("Format of the report"));
    m_format->setToolTip(tr("The form of the file that is written"));
    m_format->setCurrentIndex(std::max(0, m_format->findData(QSettings().value("report/format", "html"))));
    auto* form = new QFormLayout;
    form->addRow(tr("&Title"), m_title);
    form->addRow(tr("&Format"), m_format);
    auto* parts = new QGroupBox(tr("Parts"));
    auto* list = new QVBoxLayout(parts);
    for (const ReportPartInfo& part : reportParts()) {
        auto* box = new QCheckBox(tr("%1: %2").arg(reportText(part.title), reportText(part.summary)));
        box->setChecked(true);
        box->setWhatsThis(tr("Writes this part: %1.").arg(reportText(part.summary)));
        list->addWidget(box);
        m_parts.push_back(box);
        connect(box, &QCheckBox::toggled, this, [this] { setWriting(m_isWriting); });
    }
    m_progress->setMaximum(reportSteps);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Progress of the report"));
    auto* row = new QHBoxLayout;
    row->addWidget(m_progress, 1);
    row->addWidget(m_write);
    row->addWidget(m_cancel);
    auto* column = new QVBoxLayout(this);
    column->addLayout(form);
    column->addWidget(parts);
    column->addLayout(row);
    m_write->setDefault(true);
    m_write->setToolTip(tr("Chooses a file and writes the report in the background"));
    m_cancel->setWhatsThis(tr("Closes this window. While a report is written, stops the writing."));
    setWriting(false);
}

ReportChoice ReportDialog::choice() const {
    ReportChoice choice;
    choice.title = m_title->text().trimmed().toStdString();
    for (std::size_t i = 0; i < m_parts.size(); ++i)
        if (m_parts[i]->isChecked())
            choice.parts.push_back(reportParts()[i].part);
    if (!m_document->sessionPath().isEmpty())
        choice.session = QFileInfo(m_document->sessionPath()).absoluteFilePath().toStdString();
    choice.created = utcNow();
    return choice;
}

void ReportDialog::choosePath() {
    const QString ending = m_format->currentData().toString();
    QSettings().setValue("report/format", ending);
    auto* dialog = new QFileDialog(this, tr("Write the report"), QSettings().value("folder").toString(),
                                   ending == "pdf" ? tr("PDF (*.pdf)") : tr("HTML (*.html)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(ending);
    dialog->selectFile(QString::fromStdString(m_document->session().model.name) + "-report." + ending);
    connect(dialog, &QFileDialog::fileSelected, this, [this, dialog](const QString& path) {
        QSettings().setValue("folder", dialog->directory().absolutePath());
        write(path);
    });
    dialog->open();
}

void ReportDialog::setWriting(bool isWriting) {
    m_isWriting = isWriting;
    if (!isWriting) {
        m_job = 0;
        m_progress->setValue(0);
    }
    const bool hasParts = std::ranges::any_of(m_parts, [](const QCheckBox* box) { return box->isChecked(); });
    m_write->setEnabled(!isWriting && hasParts);
    m_cancel->setText(isWriting ? tr("&Cancel") : tr("&Close"));
}

void ReportDialog::write(const QString& path) {
    if (m_isWriting)
        return;
    m_stop = std::stop_source();
    setWriting(true);
    const auto work = [dialog = QPointer(this), path, choice = choice(),
                       session = std::make_shared<const Session>(m_document->snapshot())](const Progress&) {
        auto report = std::make_shared<const Report>(reportOf(*session, choice));
        return [dialog, path, report] {
            if (!dialog || dialog->m_job == 0)
                return; // it was cancelled
            dialog->m_job = 0;
            // After the job has ended, for painting answers events.
            QTimer::singleShot(0, dialog, [dialog, path, report] { dialog->paint(*report, path); });
        };
    };
    m_job = m_document->start(tr("Contents of the report"), JobRunner::Priority::background, work);
}

void ReportDialog::paint(const Report& report, const QString& path) {
    const auto follow = [this](double fraction, std::string_view) {
        const double share = contentsShare + (1 - contentsShare) * fraction;
        m_progress->setValue(static_cast<int>(std::lround(share * reportSteps)));
        QCoreApplication::processEvents();
    };
    QString failure;
    bool isWritten = false;
    try {
        writeReport(report, path, false, Progress(follow, m_stop.get_token()));
        isWritten = true;
    } catch (const Cancelled&) {
        isWritten = false;
    } catch (const Error& error) {
        failure = error.what();
    }
    setWriting(false);
    if (isWritten) {
        emit written(path);
        accept();
    } else if (!failure.isEmpty()) {
        emit failed(failure);
    }
}

void ReportDialog::reject() {
    if (!m_isWriting)
        return QDialog::reject();
    m_stop.request_stop();
    if (m_job != 0) // its result is not painted
        setWriting(false);
}

} // namespace secateur
