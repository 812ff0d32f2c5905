#pragma once

#include "analysis/model/found_model.h"

#include <QWidget>

#include <vector>

class QLabel;
class QLayout;
class QListWidget;
class QListWidgetItem;
class QPushButton;
class QStackedWidget;
class QVBoxLayout;

namespace secateur {

/// The page that is shown while nothing is open. It offers files to open (recent files, models that were found), the
/// demo model, and the tours of the window.
class WelcomePage : public QWidget {
    Q_OBJECT

public:
    explicit WelcomePage(QWidget* parent = nullptr);

    /// Updates the list of recent files.
    void refresh();
    /// Lists models, without those that are listed as recent files.
    void showFound(std::vector<FoundModel> models);

signals:
    void openModelWanted();
    void openFolderWanted();
    void openSessionWanted();
    void openWanted(const QString& path);
    void tourWanted(const QString& id);

private:
    QLayout* makeButtons();
    QLayout* makeTours();
    QLayout* makeFoundList();
    QWidget* makeDemo();
    void listFound();
    void showDemo();
    void openItem(const QListWidgetItem* item);

    QVBoxLayout* m_recent;
    QLabel* m_foundTitle;
    QListWidget* m_found;
    QStackedWidget* m_demo; ///< how to fetch the demo model; the button that opens it
    QLabel* m_demoPlace;
    std::vector<FoundModel> m_models;
};

} // namespace secateur
