#pragma once

#include <QElapsedTimer>
#include <QLockFile>
#include <QObject>
#include <QStringList>

#include <list>
#include <memory>

class QTimer;

namespace secateur {

class Document;

/// An autosaved session of a program that ended without saving.
struct Leftover {
    QString path;    ///< of the autosaved session
    QString model;   ///< its name
    QString session; ///< the session file that was open; empty = none
    int masks = 0;
    int evaluations = 0;
};

/// Writes masks and evaluations into the user's state folder within a second of a change; removes the file when they
/// are saved or discarded. Reports a session that is open in another window too. Lives on the GUI thread; files are
/// written on the global thread pool.
class Autosave : public QObject {
    Q_OBJECT

public:
    /// @param folder of the state; made when it is needed
    Autosave(Document* document, const QString& folder, QObject* parent = nullptr);
    ~Autosave() override;

    /// $XDG_STATE_HOME/secateur, or ~/.local/state/secateur.
    static QString stateFolder();

    /// Files of programs that have ended, the latest first. This program owns them from now on.
    std::list<Leftover> leftovers();
    void discard(const Leftover& leftover);
    /// Whether the last change is on the disk.
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
    QElapsedTimer m_sinceChange; ///< the first that is pending
    QString m_path;              ///< of what this program writes; empty until there is something
    std::unique_ptr<QLockFile> m_lock;
    std::list<std::unique_ptr<QLockFile>> m_taken; ///< of leftovers
    std::unique_ptr<QLockFile> m_sessionLock;
    QString m_watched;
    QStringList
        m_recovered; ///< leftovers that are open again; removed once their content is written, saved or discarded
    bool m_pending = false;
    bool m_writing = false;
    bool m_failed = false;
};

} // namespace secateur
