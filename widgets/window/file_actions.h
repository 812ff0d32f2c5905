#pragma once

#include "analysis/masks/protection.h"

#include <QObject>
#include <QString>

#include <functional>

class QMainWindow;
class QMenu;
class QMimeData;

namespace secateur {

class Autosave;
class Document;
class MaskOpening;
class MessageBar;
struct Leftover;

/// Opens and saves files: file dialogs, recent files, recovery of unsaved changes of an earlier run, and the question
/// before unsaved changes are lost. Dialogs do not block the window, and they start in the folder of the previous
/// dialog.
class FileActions : public QObject {
    Q_OBJECT

public:
    /// @param messages the bar in which recovery is offered
    FileActions(QMainWindow* window, Document* document, MessageBar* messages);

    /// Opens a model or session; if there are unsaved changes, asks first. Opens a mask of the open model as a new
    /// mask.
    void open(const QString& path);
    void chooseModel();
    void chooseModelFolder();
    /// Asks for the address of a model on a server.
    void chooseServer();
    void chooseSession();
    /// Asks for the checkpoint of an open session whose checkpoint was not found.
    void locateModel();
    /// The path of a dropped folder, model, session or mask; empty for anything else. Goes by the name: nothing is
    /// read.
    QString openablePath(const QMimeData* data) const;
    void listRecent(QMenu* menu);

    void saveSession(std::function<void()> next = {});
    void saveSessionAs(std::function<void()> next = {});
    void openMask();
    void saveMaskAs();
    /// Opens the dialog that writes a report on the session.
    void writeReport();
    /// Asks where to write an export. @param isOneFile whether it is a .gguf file @param chosen called with the path
    void chooseExport(const QString& suggestion, bool isOneFile, std::function<void(const QString& path)> chosen);
    /// Asks where to write the mask file that a command needs. @param chosen called with the path
    void chooseCommandMask(const QString& name, std::function<void(const QString& path)> chosen);

    /// Whether the window may close now. If not, asks the user, and closes the window after changes were saved or
    /// discarded.
    bool mayClose();

signals:
    /// Emitted when a file is being opened. @param path the file; empty = unsaved masks of an earlier run are opened
    void opening(const QString& path);
    void failed(const QString& message);

private:
    void offerLeftovers(MessageBar* messages);
    void recover(const Leftover& leftover);
    /// Offers to save unsaved changes before an action, and then calls `next`, unless the user cancels.
    void askToSave(const QString& action, std::function<void()> next);
    /// Saves; if the masks were changed meanwhile, asks again before `next` is called.
    void saveBefore(const QString& action, std::function<void()> next);
    void save(const QString& path, std::function<void()> next = {});

    QMainWindow* m_window;
    Document* m_document;
    Autosave* m_autosave;
    MaskOpening* m_masks;
    std::function<void()> m_afterSave;
    MaskState m_savedMasks; ///< when the last saving began
    bool m_closing = false; ///< whether the user saved or discarded changes in order to close
};

} // namespace secateur
