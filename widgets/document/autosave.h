#pragma once

#include <QElapsedTimer>
#include <QLockFile>
#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include <list>
#include <memory>

class QTimer;

namespace secateur {

class Document;

/// An autosaved session of a program that ended without saving.
struct Leftover {
    QString path;    ///< path of the autosaved session
    QString model;   ///< name of the model
    QString session; ///< the session file that was open; empty = none
    int masks = 0;
    int evaluations = 0;
};

/// Writes masks and evaluations into the user's state folder within a second of a change, and removes the file when
/// they are saved or discarded. Also reports that the session is open in another window. Lives on the GUI thread; files
/// are written on a thread of its own.
class Autosave : public QObject {
    Q_OBJECT

public:
    /// @param folder the state folder; it is created before the first write
    Autosave(Document* document, const QString& folder, QObject* parent = nullptr);
    ~Autosave() override;

    /// The path $XDG_STATE_HOME/secateur, or ~/.local/state/secateur if the variable is not set.
    static QString stateFolder();

    /// Autosaved sessions of programs that have ended, the latest first. Locks them, so that other programs do not
    /// offer them too.
    std::list<Leftover> leftovers();
    void discard(const Leftover& leftover);
    /// Whether every change so far was written.
    bool isWritten() const { return !m_pending && !m_writing; }

signals:
    void failed(const QString& message);
    /// Emitted when another window has the session open. @param path of the session
    void openElsewhere(const QString& path);

private:
    void noteChange();
    void startPause();
    void write();
    void written(const QString& error);
    void forget();
    void removeRecovered();
    void removeStaleLocks();
    void watchSession();
    QString ownPath();

    Document* m_document;
    QString m_folder;
    QTimer* m_pause;
    QThreadPool m_writer;        ///< one thread
    QElapsedTimer m_sinceChange; ///< since the first change that is not written
    QString m_path;              ///< file that this program writes; empty before the first write
    std::unique_ptr<QLockFile> m_lock;
    std::list<std::unique_ptr<QLockFile>> m_taken; ///< locks of the sessions that leftovers() returned
    std::unique_ptr<QLockFile> m_sessionLock;
    QString m_watched;
    QStringList m_recovered; ///< autosaved sessions opened by recover(); deleted once their content is saved elsewhere
    bool m_pending = false;
    bool m_writing = false;
    bool m_failed = false;
};

} // namespace secateur
