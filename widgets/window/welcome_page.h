#pragma once

#include "analysis/model/cached_model.h"
#include "widgets/jobs/job_runner.h"

#include <QStackedWidget>
#include <QStringList>
#include <QWidget>

#include <functional>
#include <vector>

class QLabel;
class QLayout;
class QListWidget;
class QListWidgetItem;
class QVBoxLayout;

namespace secateur {

class Document;

/// The files that were opened last, newest first. They are stored in the settings. Files that no longer exist are left
/// out.
QStringList recentFiles();
/// Those with a model of this name.
QStringList recentFilesOf(const QString& model);
/// @param model name of the model in the file
void rememberRecentFile(const QString& path, const QString& model);
void forgetRecentFiles();

/// Searches the Hugging Face cache for models on a separate thread, so that a slow disk delays neither the window nor
/// the jobs.
class CacheSearch : public QObject {
    Q_OBJECT

public:
    using Search = std::function<std::vector<CachedModel>(const Progress&)>;

    /// @param search called on the separate thread; an empty function finds nothing
    explicit CacheSearch(Search search, QObject* parent = nullptr);

    /// Starts a search unless one is running.
    void start();
    /// The models that the last search found, newest first.
    const std::vector<CachedModel>& models() const { return m_models; }

signals:
    /// Emitted when a search has ended.
    void found();

private:
    Search m_search;
    std::vector<CachedModel> m_models;
    JobRunner m_runner;
};

/// The page that is shown while nothing is open, with buttons, recent files and cached models to open.
class WelcomePage : public QWidget {
    Q_OBJECT

public:
    explicit WelcomePage(QWidget* parent = nullptr);

    /// Updates the list of recent files.
    void refresh();
    /// Lists the models of the cache.
    void showCached(const std::vector<CachedModel>& models);

signals:
    void openModelWanted();
    void openFolderWanted();
    void openSessionWanted();
    void openWanted(const QString& path);

private:
    QLayout* makeButtons();
    QLayout* makeCachedList();
    void openItem(const QListWidgetItem* item);

    QVBoxLayout* m_recent;
    QLabel* m_cachedTitle;
    QListWidget* m_cached;
};

/// The centre of the window: the welcome page, a text while something is being opened, or the views of the open model.
class CentralPages : public QStackedWidget {
    Q_OBJECT

public:
    CentralPages(Document* document, QWidget* views);

    /// Sets the text that is shown while something is being opened.
    void announce(const QString& text);
    /// Shows the page for the current state. Searches for cached models unless something is being opened.
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
