#include "widgets/window/crash_notice.h"

#include "widgets/jobs/messages.h"

#include <QClipboard>
#include <QDateTime>
#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileInfo>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QLabel>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QUrl>
#include <QVBoxLayout>

namespace secateur {

namespace {

constexpr const char* announcedSetting = "crashes/announced";
constexpr qsizetype reportsKept = 20;
constexpr int pixelsWide = 820;
constexpr int pixelsHigh = 560;

/// Removes old reports, of the command line too. @returns the reports of windows, the oldest first
QStringList keptReports(const QString& folder) {
    QDir reports(folder);
    const QStringList all = reports.entryList({"secateur-*.txt"}, QDir::Files, QDir::Time);
    for (const QString& old : all.mid(reportsKept))
        reports.remove(old);
    return reports.entryList({"secateur-[0-9]*.txt"}, QDir::Files, QDir::Name); // named after the time
}

QString readReport(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return CrashReportDialog::tr("The report cannot be read: %1").arg(file.errorString());
    return QString::fromUtf8(file.readAll());
}

} // namespace

CrashReportDialog::CrashReportDialog(const QString& path, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Crash report"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* note = new QLabel(tr("The report names versions, paths and the last log lines. It contains no weights. "
                               "Command lines in it may contain a prompt. It was written to\n%1")
                                .arg(QDir::toNativeSeparators(path)));
    note->setTextFormat(Qt::PlainText);
    note->setWordWrap(true);
    note->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    auto* text = new QPlainTextEdit(readReport(path));
    text->setReadOnly(true);
    text->setLineWrapMode(QPlainTextEdit::NoWrap);
    text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    text->setAccessibleName(tr("Crash report"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QPushButton* copy = buttons->addButton(tr("&Copy report"), QDialogButtonBox::ActionRole);
    QPushButton* folder = buttons->addButton(tr("Open &folder"), QDialogButtonBox::ActionRole);
    connect(copy, &QPushButton::clicked, text, [text] { QGuiApplication::clipboard()->setText(text->toPlainText()); });
    connect(folder, &QPushButton::clicked, this,
            [path] { QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).absolutePath())); });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(note);
    column->addWidget(text, 1);
    column->addWidget(buttons);
    resize(pixelsWide, pixelsHigh);
}

CrashNotice::CrashNotice(const QString& folder, MessageBar* messages, QWidget* window)
    : QObject(window)
    , m_window(window) {
    const QStringList reports = keptReports(folder);
    if (reports.isEmpty() || reports.last() <= QSettings().value(announcedSetting).toString())
        return;
    QSettings().setValue(announcedSetting, reports.last());
    const QString path = folder + "/" + reports.last();
    const QString time = QLocale::system().toString(QFileInfo(path).lastModified(), QLocale::ShortFormat);
    messages->say(MessageBar::Kind::notice,
                  tr("Secateur crashed (%1). The report is %2.").arg(time, QDir::toNativeSeparators(path)),
                  {{tr("Show report"), [this, path] { show(path); }},
                   {tr("Copy path"), [path] { QGuiApplication::clipboard()->setText(QDir::toNativeSeparators(path)); }},
                   {tr("Dismiss"), [] {}}});
}

void CrashNotice::show(const QString& path) {
    (new CrashReportDialog(path, m_window))->open();
}

} // namespace secateur
