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
    QString path;    ///< of the autosaved session
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
    /// @param folder the state folder; created when it is needed
    Autosave(Document* document, const QString& folder, QObject* parent = nullptr);
    ~Autosave() override;

    /// $XDG_STATE_HOME/secateur, or ~/.local/state/secateur.
    static QString stateFolder();

    /// Autosaved sessions of programs that have ended, the latest first. From now on other programs leave them alone.
    std::list<Leftover> leftovers();
    void discard(const Leftover& leftover);
    /// Whether the last change was written.
    bool isWritten() const { return !m_pending && !m_writing; }

signals:
    void failed(const QString& message);
    /// @param path of the session that another window has open
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
    QThreadPool m_writer; ///< one thread
    QElapsedTimer m_sinceChange; ///< since the first change that is not written
    QString m_path;              ///< file that this program writes; empty before the first write
    std::unique_ptr<QLockFile> m_lock;
    std::list<std::unique_ptr<QLockFile>> m_taken; ///< locks of leftovers
    std::unique_ptr<QLockFile> m_sessionLock;
    QString m_watched;
    QStringList
        m_recovered; ///< leftovers that are open again; removed once their content is written, saved or discarded
    bool m_pending = false;
    bool m_writing = false;
    bool m_failed = false;
};

} // namespace secateur
