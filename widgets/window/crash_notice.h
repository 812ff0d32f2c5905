#pragma once

#include <QDialog>
#include <QString>

namespace secateur {

class MessageBar;

/// Shows a crash report, which can be copied.
class CrashReportDialog : public QDialog {
    Q_OBJECT

public:
    CrashReportDialog(const QString& path, QWidget* parent = nullptr);
};

/// Tells the user once, in the message bar, of the report of a window that crashed.
class CrashNotice : public QObject {
    Q_OBJECT

public:
    /// Looks for reports that no window has announced yet, announces the newest, and removes all but the newest twenty
    /// files. The settings store the name of the last announced report.
    /// @param folder in which crash_report.h (backends/base) writes; need not exist
    CrashNotice(const QString& folder, MessageBar* messages, QWidget* window);

private:
    void show(const QString& path);

    QWidget* m_window;
};

} // namespace secateur
