#pragma once

#include <QWidget>

class QVBoxLayout;

namespace secateur {

/// What the window shows while nothing is open: how to open something.
class WelcomePage : public QWidget {
    Q_OBJECT

public:
    explicit WelcomePage(QWidget* parent = nullptr);

    /// Lists the recent files anew.
    void refresh();

signals:
    void openModelWanted();
    void openFolderWanted();
    void openSessionWanted();
    void openWanted(const QString& path);

private:
    QVBoxLayout* m_recent;
};

} // namespace secateur
