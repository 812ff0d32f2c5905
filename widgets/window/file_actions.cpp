#include "widgets/window/file_actions.h"

#include "analysis/base/text.h"
#include "analysis/model/far_model.h"
#include "widgets/document/autosave.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/gallery/report_dialog.h"
#include "widgets/jobs/messages.h"
#include "widgets/language/shown_texts.h"
#include "widgets/window/mask_opening.h"
#include "widgets/window/recent_files.h"
#include "widgets/window/view_memory.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMainWindow>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QUrl>

#include <utility>

namespace secateur {

namespace {

constexpr int savedMs = 5000;
constexpr auto maskEnding = ".mask.json";

/// Opens a file dialog that does not block the window. It starts in the folder of the previous dialog.
void choose(QWidget* parent, QFileDialog::AcceptMode mode, QFileDialog::FileMode files, const QString& title,
            const QString& filter, const QString& suggestion, std::function<void(const QString&)> chosen) {
    auto* dialog = new QFileDialog(parent, title, QSettings().value("folder").toString(), filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(mode);
    dialog->setFileMode(files);
    if (!suggestion.isEmpty())
        dialog->selectFile(suggestion);
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, [dialog, chosen](const QString& path) {
        QSettings().setValue("folder", dialog->directory().absolutePath());
        chosen(path);
    });
    dialog->open();
}

QString sessionFilter() {
    return FileActions::tr("Sessions (*.h5 *.hdf5);;All files (*)");
}

QString maskFilter() {
    return FileActions::tr("Masks (*.json);;All files (*)");
}

QString modelFilter(const Services& services) {
    QStringList patterns;
    for (const std::string& extension : services.modelExtensions)
        patterns << "*" + QString::fromStdString(extension);
    return FileActions::tr("Models and masks (%1 *.mask.json);;All files (*)").arg(patterns.join(' '));
}

QString withEnding(const QString& path, const char* ending) {
    return QFileInfo(path).suffix().isEmpty() ? path + ending : path;
}

} // namespace

FileActions::FileActions(QMainWindow* window, Document* document, MessageBar* messages)
    : QObject(window)
    , m_window(window)
    , m_document(document)
    , m_autosave(new Autosave(document, Autosave::stateFolder(), this))
    , m_masks(new MaskOpening(document, messages, this)) {
    const auto tellSaved = [this](const QString& path) {
        m_window->statusBar()->showMessage(tr("Saved %1").arg(path), savedMs);
    };
    connect(document->maskJobs(), &MaskJobs::maskSaved, this, tellSaved);
    connect(document->files(), &DocumentFiles::saved, this, [this, tellSaved](const QString& path) {
        tellSaved(path);
        rememberRecentFile(path, QString::fromStdString(m_document->session().model.name));
        if (const auto next = std::exchange(m_afterSave, nullptr))
            next();
    });
    connect(document, &Document::failed, this, [this] { m_afterSave = nullptr; });
    connect(document, &Document::opened, this, [this] {
        const QString session = m_document->sessionPath();
        const ModelCard& model = m_document->session().model;
        rememberRecentFile(session.isEmpty() ? QString::fromStdString(model.path) : session,
                           QString::fromStdString(model.name));
    });
    document->files()->askWith(
        [this](const QString& action, std::function<void()> next) { askToSave(action, std::move(next)); });
    connect(m_masks, &MaskOpening::modelWanted, this, &FileActions::open);
    connect(m_masks, &MaskOpening::modelChoiceWanted, this, &FileActions::chooseModel);
    connect(m_masks, &MaskOpening::folderChoiceWanted, this, &FileActions::chooseModelFolder);
    connect(m_autosave, &Autosave::failed, this, &FileActions::failed);
    connect(m_autosave, &Autosave::openElsewhere, messages, [messages](const QString& path) {
        messages->say(MessageBar::Kind::notice,
                      tr("%1 is also open in another window. The last one to save overwrites the file.").arg(path));
    });
    offerLeftovers(messages);
}

void FileActions::offerLeftovers(MessageBar* messages) {
    for (const Leftover& leftover : m_autosave->leftovers()) {
        const QString what = leftover.masks > 0 ? countText(static_cast<std::uint64_t>(leftover.masks), "unsaved mask")
                             : leftover.evaluations > 0 ? tr("Unsaved evaluations")
                                                        : tr("Unsaved settings");
        const QString text = tr("Secateur closed unexpectedly. %1 of %2 can be recovered.").arg(what, leftover.model);
        messages->say(MessageBar::Kind::notice, text,
                      {{tr("Restore"), [this, leftover] { recover(leftover); }},
                       {tr("Discard"), [this, leftover] { m_autosave->discard(leftover); }}});
    }
}

void FileActions::recover(const Leftover& leftover) {
    askToSave(tr("recovering the unsaved masks of %1").arg(leftover.model), [this, leftover] {
        m_document->files()->recover(leftover.path, leftover.session);
        emit opening({});
    });
}

void FileActions::open(const QString& path) {
    if (MaskOpening::isMaskFile(path))
        return m_masks->open(path);
    askToSave(tr("opening %1").arg(QFileInfo(path).fileName()), [this, path] {
        m_document->files()->open(path);
        emit opening(path);
    });
}

void FileActions::chooseModel() {
    choose(m_window, QFileDialog::AcceptOpen, QFileDialog::ExistingFile, tr("Open model"),
           modelFilter(m_document->services()), {}, [this](const QString& path) { open(path); });
}

void FileActions::chooseModelFolder() {
    choose(m_window, QFileDialog::AcceptOpen, QFileDialog::Directory, tr("Open model folder"), {}, {},
           [this](const QString& path) { open(path); });
}

void FileActions::chooseServer() {
    auto* dialog = new QInputDialog(m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Open model on a server"));
    dialog->setLabelText(tr("Address, for example ssh://host/path/to/model. secateur-cli must be installed there."));
    dialog->setTextValue(QSettings().value("server", "ssh://").toString());
    connect(dialog, &QInputDialog::textValueSelected, this, [this](const QString& text) {
        const QString address = text.trimmed();
        if (!isFarPath(address.toStdString()))
            return emit failed(tr("%1 is no address: it begins with ssh://").arg(address));
        QSettings().setValue("server", address);
        open(address);
    });
    dialog->open();
}

void FileActions::chooseSession() {
    choose(m_window, QFileDialog::AcceptOpen, QFileDialog::ExistingFile, tr("Open session"), sessionFilter(), {},
           [this](const QString& path) { open(path); });
}

void FileActions::locateModel() {
    const QFileInfo stored(QString::fromStdString(m_document->session().model.path));
    const bool isFile = m_document->files()->isModelFile(stored.filePath());
    choose(m_window, QFileDialog::AcceptOpen, isFile ? QFileDialog::ExistingFile : QFileDialog::Directory,
           tr("Locate %1").arg(stored.fileName()), isFile ? modelFilter(m_document->services()) : QString(), {},
           [this](const QString& path) { m_document->files()->locateModel(path); });
}

QString FileActions::openablePath(const QMimeData* data) const {
    const QList<QUrl> urls = data->urls();
    if (urls.size() != 1 || !urls.first().isLocalFile())
        return {};
    const QFileInfo file(urls.first().toLocalFile());
    const QString path = file.filePath();
    const bool isSession = QStringList{"h5", "hdf5"}.contains(file.suffix().toLower());
    const bool isOpenable =
        isSession || m_document->files()->isModelFile(path) || MaskOpening::isMaskFile(path) || file.isDir();
    return isOpenable ? path : QString();
}

void FileActions::listRecent(QMenu* menu) {
    menu->clear();
    const QStringList files = recentFiles();
    for (const QString& path : files)
        menu->addAction(QDir::toNativeSeparators(path), this, [this, path] { open(path); });
    menu->addSeparator();
    QAction* forget = menu->addAction(tr("&Clear this list"), this, [] {
        forgetRecentFiles();
        ViewMemory::forget();
    });
    forget->setEnabled(!files.isEmpty());
}

void FileActions::saveSession(std::function<void()> next) {
    if (m_document->sessionPath().isEmpty())
        saveSessionAs(std::move(next));
    else
        save(m_document->sessionPath(), std::move(next));
}

void FileActions::saveSessionAs(std::function<void()> next) {
    const QString name = QString::fromStdString(m_document->session().model.name) + ".h5";
    choose(m_window, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Save session"), sessionFilter(), name,
           [this, next = std::move(next)](const QString& path) { save(withEnding(path, ".h5"), next); });
}

void FileActions::save(const QString& path, std::function<void()> next) {
    m_afterSave = std::move(next);
    m_savedMasks = m_document->masks()->state();
    m_document->files()->saveSession(path);
}

void FileActions::openMask() {
    choose(m_window, QFileDialog::AcceptOpen, QFileDialog::ExistingFile, tr("Open mask"), maskFilter(), {},
           [this](const QString& path) { m_document->maskJobs()->openMask(path); });
}

void FileActions::saveMaskAs() {
    const QString name = QString::fromStdString(m_document->masks()->state().edited().name) + maskEnding;
    choose(m_window, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Save mask"), maskFilter(), name,
           [this](const QString& path) { m_document->maskJobs()->saveMask(withEnding(path, maskEnding)); });
}

void FileActions::chooseCommandMask(const QString& name, std::function<void(const QString& path)> chosen) {
    choose(m_window, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Save the mask that the command reads"),
           maskFilter(), name,
           [chosen = std::move(chosen)](const QString& path) { chosen(withEnding(path, maskEnding)); });
}

void FileActions::writeReport() {
    auto* dialog = new ReportDialog(m_document, m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ReportDialog::failed, this, &FileActions::failed);
    connect(dialog, &ReportDialog::written, this,
            [this](const QString& path) { m_window->statusBar()->showMessage(tr("Wrote %1").arg(path), savedMs); });
    dialog->open();
}

void FileActions::chooseExport(const QString& suggestion, bool isOneFile,
                               std::function<void(const QString& path)> chosen) {
    choose(m_window, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Export a checkpoint"),
           isOneFile ? tr("GGUF (*.gguf)") : tr("A new folder (*)"), suggestion, std::move(chosen));
}

void FileActions::askToSave(const QString& action, std::function<void()> next) {
    if (!m_document->isModified()) {
        next();
        return;
    }
    auto* question = new QMessageBox(
        QMessageBox::Question, tr("Secateur"),
        m_document->sessionPath().isEmpty()
            ? tr("Save masks and results of %1 before %2?").arg(m_document->session().model.name.c_str(), action)
            : tr("Save the changes of %1 before %2?").arg(QFileInfo(m_document->sessionPath()).fileName(), action),
        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, m_window);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setObjectName("unsaved");
    connect(question, &QMessageBox::finished, this, [this, action, next = std::move(next)](int answer) {
        if (answer == QMessageBox::Save)
            saveBefore(action, next);
        else if (answer == QMessageBox::Discard)
            next();
    });
    question->open();
}

void FileActions::saveBefore(const QString& action, std::function<void()> next) {
    saveSession([this, action, next = std::move(next)] {
        if (m_document->masks()->state() == m_savedMasks)
            next();
        else
            askToSave(action, next);
    });
}

bool FileActions::mayClose() {
    if (m_document->files()->isSaving()) {
        m_afterSave = [this] { m_window->close(); };
        return false;
    }
    if (!m_document->isModified() || m_closing)
        return true;
    askToSave(tr("closing"), [this] {
        m_closing = true;
        m_window->close();
    });
    return false;
}

} // namespace secateur
