#pragma once

#include <QObject>
#include <QString>

#include <functional>

class QMainWindow;
class QMenu;
class QMimeData;

namespace secateur {

class Autosave;
class Document;
class MessageBar;
struct Leftover;

/// Opening and saving: the file dialogs, recent files, what an earlier run left behind, and the question before changes
/// are lost. Dialogs do not block; each remembers the folder.
class FileActions : public QObject {
    Q_OBJECT

public:
    /// @param messages where leftovers are offered
    FileActions(QMainWindow* window, Document* document, MessageBar* messages);

    /// Asks first when something saved was changed since.
    void open(const QString& path);
    void chooseModel();
    void chooseModelFolder();
    void chooseSession();
    /// For an open session without its checkpoint.
    void locateModel();
    /// The local model or session that is being dropped; empty = something else.
    QString openablePath(const QMimeData* data) const;
    void listRecent(QMenu* menu);

    void saveSession(std::function<void()> next = {});
    void saveSessionAs(std::function<void()> next = {});
    void openMask();
    void saveMaskAs();
    void exportModel();
    /// @param chosen called with where the mask of a command is to lie
    void chooseCommandMask(const QString& name, std::function<void(const QString& path)> chosen);

    /// Whether the window may close now. Where not, it closes by itself once everything is saved or given up.
    bool mayClose();

signals:
    /// @param path empty = unsaved masks of an earlier run
    void opening(const QString& path);
    void failed(const QString& message);

private:
    void offerLeftovers(MessageBar* messages);
    void recover(const Leftover& leftover);
    void whenNothingIsLost(std::function<void()> next);
    void save(const QString& path, std::function<void()> next = {});

    QMainWindow* m_window;
    Document* m_document;
    Autosave* m_autosave;
    std::function<void()> m_afterSave;
    bool m_closing = false; ///< the person let changes go
};

} // namespace secateur
