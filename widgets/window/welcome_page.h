#pragma once

#include "analysis/model/cached_model.h"

#include <QWidget>

#include <vector>

class QLabel;
class QListWidget;
class QListWidgetItem;
class QVBoxLayout;

namespace secateur {

/// What the window shows while nothing is open: how to open something.
class WelcomePage : public QWidget {
    Q_OBJECT

public:
    explicit WelcomePage(QWidget* parent = nullptr);

    /// Lists the recent files anew.
    void refresh();
    /// Lists what lies in the cache.
    void showCached(const std::vector<CachedModel>& models);

signals:
    void openModelWanted();
    void openFolderWanted();
    void openSessionWanted();
    void openWanted(const QString& path);

private:
    void openItem(const QListWidgetItem* item);

    QVBoxLayout* m_recent;
    QLabel* m_cachedTitle;
    QListWidget* m_cached;
};

} // namespace secateur
