#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

#include <string>

namespace secateur {

class Document;
class MessageBar;

/// Opens mask files: as a new mask of the open model. While no model is open, offers those that have the name of the
/// mask's model, among the recent files and the models that are found on this computer; masks wait until a model is
/// open.
class MaskOpening : public QObject {
    Q_OBJECT

public:
    MaskOpening(Document* document, MessageBar* messages, QObject* parent);

    /// Whether a path has the extension of mask files, which models and sessions do not have.
    static bool isMaskFile(const QString& path);
    void open(const QString& path);

signals:
    /// The user chose a model for the mask.
    void modelWanted(const QString& path);
    /// The user wants to choose a model file, or a folder.
    void modelChoiceWanted();
    void folderChoiceWanted();

private:
    void openWaiting();
    void lookForModel(const QString& mask);
    void offer(const QString& mask, const QString& model, const QStringList& paths);

    Document* m_document;
    MessageBar* m_messages;
    QStringList m_waiting; ///< masks that wait for a model
    QStringList m_offers;  ///< messages on screen
};

} // namespace secateur
