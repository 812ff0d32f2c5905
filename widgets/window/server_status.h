#pragma once

#include <QLabel>
#include <QString>

#include <memory>

class QTimer;

namespace secateur {

class Document;
class FarModel;
class MessageBar;
class Model;

/// The connection to the server of the open model, for the status bar: its machine and the latency. A lost connection
/// and a new one are said in the message bar. Hidden for models of this machine.
class ServerStatus : public QLabel {
    Q_OBJECT

public:
    ServerStatus(Document* document, MessageBar* messages, QWidget* parent = nullptr);

private:
    void follow();
    void refresh();
    void tellChange(bool isConnected, const QString& place, const QString& problem);

    Document* m_document;
    MessageBar* m_messages;
    QTimer* m_timer;
    std::shared_ptr<const Model> m_model; ///< the model that is followed; null = none on a server
    bool m_wasConnected = true;
    int m_connections = 1;
    QString m_lost; ///< the message of a lost connection; empty = none
};

} // namespace secateur
