#pragma once

#include "analysis/model/cached_model.h"
#include "widgets/jobs/job_runner.h"

#include <QStackedWidget>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <vector>

class QLabel;
class QListWidget;
class QListWidgetItem;
class QVBoxLayout;

namespace secateur {

class Document;

/// What was opened lately, newest first, kept in the settings. Files that are gone are left out.
QStringList recentFiles();
void rememberRecentFile(const QString& path);
void forgetRecentFiles();

/// Looks for models that were fetched before, on a thread of its own: a slow disk holds up neither the window nor what
/// is being opened.
class CacheSearch : public QObject {
    Q_OBJECT

public:
    using Search = std::function<std::vector<CachedModel>(const Progress&)>;

    /// @param search runs on the worker; may be empty, then nothing is ever found
    explicit CacheSearch(Search search, QObject* parent = nullptr);

    /// Looks anew, unless it is looking already.
    void start();
    /// What the last search brought, newest first.
    const std::vector<CachedModel>& models() const { return m_models; }

signals:
    /// A search is done.
    void found();

private:
    Search m_search;
    std::vector<CachedModel> m_models;
    JobRunner m_runner;
};

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

/// The centre of the window: the welcome page, the name of what is being opened, or the views of what is open.
class CentralPages : public QStackedWidget {
    Q_OBJECT

public:
    CentralPages(Document* document, QWidget* views);

    /// What the page says while something is being opened.
    void announce(const QString& text);
    /// Shows the page that is due, and looks for cached models unless something is being opened.
    void refresh();
    const std::vector<CachedModel>& cachedModels() const { return m_cache->models(); }

signals:
    void modelWanted();
    void folderWanted();
    void sessionWanted();
    void openWanted(const QString& path);

private:
    Document* m_document;
    QWidget* m_views;
    WelcomePage* m_welcome;
    QLabel* m_opening;
    CacheSearch* m_cache;
};

} // namespace secateur
