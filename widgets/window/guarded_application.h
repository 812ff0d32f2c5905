#pragma once

#include <QApplication>
#include <QString>

namespace secateur {

/// The application of the window. An exception that leaves a slot or an event handler becomes a message; the event loop
/// goes on.
class GuardedApplication : public QApplication {
    Q_OBJECT

public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override;

signals:
    /// Emitted on the GUI thread, after the event that failed. @param message the sentence for the user
    void caught(const QString& message);

private:
    void report(const QString& what);
};

} // namespace secateur
