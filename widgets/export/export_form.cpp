#include "widgets/export/export_form.h"

#include "analysis/base/text.h"
#include "analysis/export/export_card.h"
#include "analysis/model/far_model.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/jobs/job_status.h"
#include "widgets/results/still_label.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QUrl>

#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr int progressSteps = 1000;
constexpr auto ggufEnding = ".gguf";

/// The folder in which a path is suggested: that of the last file dialog.
QString exportFolder() {
    const QString last = QSettings().value("folder").toString();
    return last.isEmpty() ? QDir::homePath() : last;
}

/// A path that no file has: a number is added to its name if needed.
QString freePath(const QString& stem, const QString& ending) {
    QString path = stem + ending;
    for (int number = 2; QFileInfo::exists(path); ++number)
        path = QString("%1-%2%3").arg(stem).arg(number).arg(ending);
    return path;
}

QString resultText(const ExportResult& result) {
    QStringList lines{QString::fromStdString(sentence(result.verified)) + '.'};
    for (const ExportedFile& file : result.files)
        lines << ExportProgress::tr("%1: %2 bytes")
                     .arg(QString::fromStdString(file.path),
                          QString::fromStdString(grouped(static_cast<std::uint64_t>(file.bytes))));
    if (!result.leftOut.empty())
        lines << ExportProgress::tr("Left out: %1").arg(QString::fromStdString(join(result.leftOut, ", ")));
    for (const std::string& warning : result.warnings)
        lines << ExportProgress::tr("Note: %1").arg(QString::fromStdString(warning));
    return lines.join('\n');
}

} // namespace

ExportForm::ExportForm(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_type(new QComboBox)
    , m_path(new QLineEdit)
    , m_browse(new QPushButton(tr("&Choose…")))
    , m_replace(new QCheckBox(tr("Replace an earlier e&xport")))
    , m_export(new QPushButton(tr("&Export"))) {
    m_type->setAccessibleName(tr("Type of the matrices"));
    m_type->setToolTip(tr("Stored type of all matrices; quantised types round the weights"));
    m_path->setAccessibleName(tr("Path of the export"));
    m_path->setToolTip(tr("A .gguf file for a GGUF in one piece, otherwise a new folder"));
    m_path->setMinimumWidth(fontMetrics().averageCharWidth() * 20);
    m_replace->setToolTip(tr("Files that no export wrote are never replaced"));
    m_export->setToolTip(tr("Write the checkpoint with its mask and model card, reopen it and compare its logits"));
    m_browse->setAccessibleName(tr("Choose the path of the export"));
    m_browse->setToolTip(tr("Choose the path in a file dialog"));
    auto* typeLabel = new QLabel(tr("&Type"));
    typeLabel->setBuddy(m_type);
    auto* pathLabel = new QLabel(tr("Save &as"));
    pathLabel->setBuddy(m_path);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setColumnStretch(2, 1);
    grid->addWidget(typeLabel, 0, 0);
    grid->addWidget(m_type, 0, 1);
    grid->addWidget(m_replace, 0, 2, Qt::AlignRight);
    grid->addWidget(m_export, 0, 3);
    grid->addWidget(pathLabel, 1, 0);
    grid->addWidget(m_path, 1, 1, 1, 2);
    grid->addWidget(m_browse, 1, 3);
    const QWidgetList order{m_type, m_path, m_browse, m_replace, m_export};
    for (qsizetype i = 0; i + 1 < order.size(); ++i)
        setTabOrder(order[i], order[i + 1]);
    connect(m_type, &QComboBox::activated, this, [this] {
        m_document->maskJobs()->setExportType(m_target, m_type->currentData().toString().toStdString());
        emit typeChosen();
    });
    connect(m_path, &QLineEdit::textEdited, this, [this] { m_isTyped = true; });
    connect(m_path, &QLineEdit::returnPressed, m_export, &QPushButton::click);
    connect(m_browse, &QPushButton::clicked, this, [this] { emit browseWanted(path(), m_isOneFile); });
    connect(m_export, &QPushButton::clicked, this, [this] { emit exportWanted(path(), m_replace->isChecked()); });
}

void ExportForm::setTarget(const ExportTarget* target, bool isOneFile) {
    const std::string& format = m_document->session().model.format;
    if (target != m_target || format != m_format)
        listTypes(target, format);
    m_target = target;
    m_format = format;
    m_isOneFile = isOneFile;
    m_browse->setEnabled(!isOnServer());
    m_path->setToolTip(isOnServer() ? tr("A path on the server of the model")
                                    : tr("A .gguf file for a GGUF in one piece, otherwise a new folder"));
    const QString path = m_isTyped ? withEnding(m_path->text()) : suggestion();
    if (path != m_path->text()) // otherwise the cursor would jump
        m_path->setText(path);
}

void ExportForm::listTypes(const ExportTarget* target, const std::string& format) {
    m_type->clear();
    m_type->addItem(tr("as stored"), QString());
    const std::string chosen = m_document->maskJobs()->exportType(target);
    if (target && target->writer && target->writer->types)
        for (const std::string_view type : target->writer->types(format)) {
            const QString name = QString::fromUtf8(type.data(), static_cast<qsizetype>(type.size()));
            m_type->addItem(name, name);
            if (type == chosen)
                m_type->setCurrentIndex(m_type->count() - 1);
        }
    m_type->setEnabled(m_type->count() > 1);
    m_type->setToolTip(m_type->count() > 1 ? tr("Stored type of all matrices; quantised types round the weights")
                                           : tr("This target keeps the types of the source"));
}

/// A path with the ending that the target needs.
QString ExportForm::withEnding(QString path) const {
    if (m_isOneFile && !path.endsWith(ggufEnding))
        path += ggufEnding;
    else if (!m_isOneFile && path.endsWith(ggufEnding))
        path.chop(static_cast<int>(qstrlen(ggufEnding)));
    return path;
}

void ExportForm::setPath(const QString& path) {
    m_isTyped = true;
    m_path->setText(withEnding(path));
}

QString ExportForm::path() const {
    const QString typed = m_path->text().trimmed();
    if (isOnServer() && !typed.isEmpty())
        return withEnding(typed.startsWith('/') || typed.startsWith("~/") ? typed : serverFolder() + typed);
    return typed.isEmpty() ? suggestion() : withEnding(QDir(exportFolder()).absoluteFilePath(typed));
}

void ExportForm::suggestPath() {
    m_isTyped = false;
    m_path->setText(suggestion());
}

bool ExportForm::isOnServer() const {
    return isFarPath(m_document->session().model.path);
}

/// The folder of the model on its server.
QString ExportForm::serverFolder() const {
    const QString path = QString::fromStdString(pathOnServer(m_document->session().model.path));
    return path.left(path.lastIndexOf('/') + 1);
}

void ExportForm::setReady(bool ready) {
    m_export->setEnabled(ready);
}

QString ExportForm::suggestion() const {
    if (!m_document->isOpen())
        return {};
    const QString name = m_document->maskJobs()->exportName();
    if (isOnServer())
        return serverFolder() + name + (m_isOneFile ? ggufEnding : "");
    return freePath(QDir(exportFolder()).filePath(name), m_isOneFile ? ggufEnding : "");
}

ExportProgress::ExportProgress(Document* document, JobRunner* jobs, QWidget* parent)
    : QWidget(parent)
    , m_jobs(jobs)
    , m_bar(new QProgressBar)
    , m_step(new StillLabel)
    , m_cancel(new QPushButton(tr("Cance&l")))
    , m_result(new QLabel)
    , m_showFolder(new QPushButton(tr("Show &folder"))) {
    m_bar->setTextVisible(false);
    m_bar->setRange(0, progressSteps);
    m_bar->setAccessibleName(tr("Progress of the export"));
    m_step->setAccessibleName(tr("Step of the export"));
    m_cancel->setAccessibleName(tr("Cancel the export"));
    m_cancel->setToolTip(tr("Stop; nothing is left behind"));
    m_result->setAccessibleName(tr("Result of the export"));
    m_result->setWordWrap(true);
    m_result->setTextFormat(Qt::PlainText);
    m_result->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_showFolder->setToolTip(tr("Open the folder of the export in the file manager"));
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setColumnStretch(0, 1);
    grid->addWidget(m_bar, 0, 0);
    grid->addWidget(m_cancel, 0, 1);
    grid->addWidget(m_step, 1, 0, 1, 2);
    grid->addWidget(m_result, 2, 0);
    grid->addWidget(m_showFolder, 2, 1, Qt::AlignTop);
    for (QWidget* widget : std::initializer_list<QWidget*>{m_bar, m_cancel, m_step, m_result, m_showFolder})
        widget->hide();
    connect(m_cancel, &QPushButton::clicked, this, [this] { m_jobs->cancel(m_job); });
    connect(m_showFolder, &QPushButton::clicked, this,
            [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(m_folder)); });
    connect(jobs, &JobRunner::progressed, this,
            [this](quint64 job, double fraction, const QString& text, double secondsLeft) {
                if (job != m_job)
                    return;
                m_bar->setValue(static_cast<int>(std::lround(fraction * progressSteps)));
                m_step->setText(secondsLeft < 0 ? text : text + QStringLiteral(" · ") + timeLeftText(secondsLeft));
            });
    connect(jobs, &JobRunner::waiting, this, [this](quint64 job, const QString& title) {
        if (job == m_job)
            m_step->setText(title.isEmpty() ? QString() : tr("waits for %1").arg(title));
    });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job, const QString& message) {
        if (job == m_job)
            end(message);
    });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) {
        if (job == m_job)
            end(tr("The export was cancelled. Nothing was written."));
    });
    connect(document->maskJobs(), &MaskJobs::written, this, [this](quint64 job, const ExportResult& result) {
        if (job == m_job)
            showResult(result);
    });
}

void ExportProgress::follow(JobRunner::Id job, const QString& path) {
    m_job = job;
    m_bar->setValue(0);
    m_step->setText(tr("Writing %1").arg(path));
    for (QWidget* widget : std::initializer_list<QWidget*>{m_bar, m_cancel, m_step})
        widget->show();
    m_result->hide();
    m_showFolder->hide();
    emit runningChanged();
}

void ExportProgress::showResult(const ExportResult& result) {
    const QFileInfo written(QString::fromStdString(result.path));
    m_folder = written.isDir() ? written.absoluteFilePath() : written.absolutePath();
    end(resultText(result));
    m_showFolder->setVisible(written.exists()); // not on a server
}

void ExportProgress::end(const QString& text) {
    m_job = 0;
    for (QWidget* widget : std::initializer_list<QWidget*>{m_bar, m_cancel, m_step})
        widget->hide();
    m_result->setText(text);
    m_result->show();
    emit runningChanged();
}

} // namespace secateur
