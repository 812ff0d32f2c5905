#include "widgets/window/server_status.h"

#include "analysis/model/far_model.h"
#include "widgets/document/document.h"
#include "widgets/jobs/messages.h"

#include <QTimer>

#include <cmath>

namespace secateur {

namespace {

constexpr int glanceMs = 250;
constexpr double msPerSecond = 1000;

} // namespace

ServerStatus::ServerStatus(Document* document, MessageBar* messages, QWidget* parent)
    : QLabel(parent)
    , m_document(document)
    , m_messages(messages)
    , m_timer(new QTimer(this)) {
    setObjectName("server");
    setTextFormat(Qt::PlainText);
    setAccessibleName(tr("Server of the model"));
    setToolTip(tr("The machine that has the model, and the time that a message to it and back takes"));
    m_timer->setInterval(glanceMs);
    connect(m_timer, &QTimer::timeout, this, &ServerStatus::refresh);
    connect(document, &Document::opened, this, &ServerStatus::follow);
    connect(document, &Document::modelLocated, this, &ServerStatus::follow);
    follow();
}

void ServerStatus::follow() {
    const std::shared_ptr<const Model>& model = m_document->model();
    const bool isFar = model && farModel(*model);
    m_model = isFar ? model : nullptr;
    m_wasConnected = true;
    m_connections = isFar ? farModel(*model)->status().connections : 1;
    m_lost.clear();
    setVisible(isFar);
    if (isFar) {
        m_timer->start();
        refresh();
    } else {
        m_timer->stop();
    }
}

void ServerStatus::refresh() {
    if (!m_document->model()) // the document was closed
        return follow();
    const FarStatus status = farModel(*m_model)->status();
    const QString place = QString::fromStdString(status.place);
    QString text = tr("%1: not connected").arg(place);
    if (status.isConnected)
        text = status.latency ? tr("%1: %2 ms").arg(place).arg(std::ceil(*status.latency * msPerSecond)) : place;
    setText(text);
    if (status.isConnected != m_wasConnected || status.connections != m_connections)
        tellChange(status.isConnected, place, QString::fromStdString(status.problem));
    m_wasConnected = status.isConnected;
    m_connections = status.connections;
}

void ServerStatus::tellChange(bool isConnected, const QString& place, const QString& problem) {
    if (!m_lost.isEmpty())
        m_messages->retract(m_lost);
    m_lost = isConnected ? QString()
                         : tr("The connection to %1 was lost (%2). Secateur connects again; work that was cut off is "
                              "repeated.")
                               .arg(place, problem);
    m_messages->say(MessageBar::Kind::notice,
                    isConnected ? tr("Connected to %1 again. Work that was cut off is repeated.").arg(place) : m_lost);
}

} // namespace secateur
