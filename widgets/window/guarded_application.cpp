#include "widgets/window/guarded_application.h"

#include <exception>

namespace secateur {

bool GuardedApplication::notify(QObject* receiver, QEvent* event) {
    try {
        return QApplication::notify(receiver, event);
    } catch (const std::exception& error) {
        report(QString::fromUtf8(error.what()));
    } catch (...) {
        report(tr("unknown error"));
    }
    return false;
}

/// Queued: the receiver may be in the middle of a change, and events of other threads pass here too.
void GuardedApplication::report(const QString& what) {
    const QString message = tr("The last action failed: %1").arg(what);
    QMetaObject::invokeMethod(
        this, [this, message] { emit caught(message); }, Qt::QueuedConnection);
}

} // namespace secateur
