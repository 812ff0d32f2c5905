#include "widgets/document/autosave.h"

#include "widgets/document/document.h"
#include "widgets/document/document_files.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QTimer>
#include <QUuid>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int savePauseMs = 500; ///< delay after a change; with the time of writing, it stays below one second
constexpr const char* originalSession = "autosave.session";

QString lockOf(const QString& path) {
    return path + ".lock";
}

/// Locks a file. @returns null if a running program holds the lock
std::unique_ptr<QLockFile> takeLock(const QString& path) {
    auto lock = std::make_unique<QLockFile>(path);
    lock->setStaleLockTime(0); // 0 = the lock's age does not matter: it is stale as soon as its program has ended
    if (!lock->tryLock())
        return nullptr;
    return lock;
}

/// Whether a lock file holds all lines that QLockFile writes: process id, program name and host name.
bool isComplete(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return true;
    const QByteArray lines = file.readAll();
    return lines.endsWith('\n') && lines.count('\n') >= 3;
}

} // namespace

Autosave::Autosave(Document* document, const QString& folder, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_folder(folder)
    , m_pause(new QTimer(this)) {
    m_pause->setSingleShot(true);
    m_writer.setMaxThreadCount(1);
    connect(m_pause, &QTimer::timeout, this, &Autosave::write);
    connect(document, &Document::opened, this, [this] {
        forget();
        watchSession();
    });
    connect(document->files(), &DocumentFiles::recovered, this, [this](const QString& path) { m_recovered << path; });
    connect(document, &Document::sessionPathChanged, this, &Autosave::watchSession);
    connect(document, &Document::modifiedChanged, this, [this] { m_document->isModified() ? noteChange() : forget(); });
    for (auto change : {&Document::evaluationsChanged, &Document::changed})
        connect(document, change, this, &Autosave::noteChange);
}

Autosave::~Autosave() {
    m_writer.waitForDone();
    m_writing = false;
    forget(); // the window has asked about unsaved changes before it closed
}

QString Autosave::stateFolder() {
    const QString set = qEnvironmentVariable("XDG_STATE_HOME"); // a relative path is ignored, by its rules
    return (set.startsWith('/') ? set : QDir::homePath() + "/.local/state") + "/secateur";
}

QString Autosave::ownPath() {
    if (m_path.isEmpty()) {
        QDir().mkpath(m_folder);
        m_path = m_folder + "/" + QUuid::createUuid().toString(QUuid::WithoutBraces) + ".h5";
        m_lock = takeLock(lockOf(m_path));
    }
    return m_path;
}

void Autosave::noteChange() {
    if (!m_document->isModified())
        return;
    if (!std::exchange(m_pending, true))
        m_sinceChange.start();
    if (!m_pause->isActive() && !m_writing)
        startPause();
}

/// Starts the delay before the next write, counted from the first change that is not written yet.
void Autosave::startPause() {
    m_pause->start(std::max(0, savePauseMs - static_cast<int>(m_sinceChange.elapsed())));
}

void Autosave::write() {
    m_pending = false;
    if (!m_document->isModified())
        return;
    m_writing = true;
    Session session = m_document->unsaved();
    session.view[originalSession] = m_document->sessionPath().toStdString();
    m_writer.start([this, path = ownPath().toStdString(), writeSession = m_document->services().writeSession,
                    session = std::move(session)] {
        QString error;
        try {
            writeSession(session, path);
        } catch (const std::exception& failure) {
            error = failure.what();
        } catch (...) {
            error = tr("unknown error");
        }
        QMetaObject::invokeMethod(this, [this, error] { written(error); }, Qt::QueuedConnection);
    });
}

void Autosave::written(const QString& error) {
    m_writing = false;
    if (!m_document->isModified())
        forget();
    else if (m_pending)
        startPause();
    if (error.isEmpty() && !m_pending) // a pending change may be the content that was recovered
        removeRecovered();
    if (!error.isEmpty() && !m_failed)
        emit failed(tr("Masks cannot be autosaved: %1").arg(error));
    m_failed = !error.isEmpty();
}

void Autosave::forget() {
    m_pause->stop();
    m_pending = false;
    if (!m_path.isEmpty() && !m_writing)
        QFile::remove(m_path);
    removeRecovered();
}

void Autosave::removeRecovered() {
    for (const QString& path : std::exchange(m_recovered, {}))
        QFile::remove(path);
}

/// Removes lock files that programs left behind when they were killed.
void Autosave::removeStaleLocks() {
    static const QStringList locks{"*.h5.lock", ".*.h5.lock"};
    for (const QFileInfo& file : QDir(m_folder).entryInfoList(locks, QDir::Files | QDir::Hidden)) {
        const QString session = m_folder + "/" + file.completeBaseName().mid(file.fileName().startsWith('.') ? 1 : 0);
        if (session == m_path || QFile::exists(session))
            continue;
        // A program that is killed while it takes a lock leaves an incomplete lock file. QLockFile never takes such a
        // file over.
        const bool isOld = file.lastModified().secsTo(QDateTime::currentDateTime()) > 60;
        if ((isOld && !isComplete(file.filePath())) || takeLock(lockOf(session)))
            QFile::remove(file.filePath());
    }
}

std::list<Leftover> Autosave::leftovers() {
    removeStaleLocks();
    std::list<Leftover> found;
    for (const QFileInfo& file : QDir(m_folder).entryInfoList({"*.h5"}, QDir::Files, QDir::Time)) {
        const QString path = file.filePath();
        std::unique_ptr<QLockFile> lock = path == m_path ? nullptr : takeLock(lockOf(path));
        if (!lock)
            continue;
        try {
            const Session session = m_document->services().readSession(path.toStdString());
            const auto original = session.view.find(originalSession);
            found.push_back({path, QString::fromStdString(session.model.name),
                             original == session.view.end() ? QString() : QString::fromStdString(original->second),
                             static_cast<int>(session.masks.size()), static_cast<int>(session.evaluations.size())});
            m_taken.push_back(std::move(lock));
        } catch (const std::exception&) {
            QFile::remove(path); // the file cannot be read
        }
    }
    return found;
}

void Autosave::discard(const Leftover& leftover) {
    QFile::remove(leftover.path);
}

void Autosave::watchSession() {
    const QString path = QFileInfo(m_document->sessionPath()).absoluteFilePath();
    if (m_document->sessionPath().isEmpty() || path == m_watched)
        return;
    m_watched = path;
    const QByteArray name = QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha1).toHex();
    QDir().mkpath(m_folder + "/open");
    m_sessionLock = takeLock(m_folder + "/open/" + QString::fromLatin1(name) + ".lock");
    if (!m_sessionLock)
        emit openElsewhere(path);
}

} // namespace secateur
