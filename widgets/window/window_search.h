#pragma once

#include "widgets/window/command_palette.h"

#include <QList>
#include <QObject>

#include <vector>

class QAction;

namespace secateur {

class CentralPages;
class Document;
class FileActions;
class Panels;
class ViewTabs;

/// Entries of the command palette: commands of the menus, models that were found, metrics, heads and layers.
class WindowSearch : public QObject {
    Q_OBJECT

public:
    /// @param window the widget that the palette covers
    WindowSearch(QWidget* window, Document* document, FileActions* files, ViewTabs* views, Panels* panels,
                 CentralPages* pages);

    /// All commands that are enabled at the moment. @param actions actions of the menus
    std::vector<Command> commands(const QList<QAction*>& actions) const;
    void openPalette(const QList<QAction*>& actions);
    /// Opens the palette with heads, layers and metrics only.
    void openFinder();

private:
    std::vector<Command> findable(const QString& typed) const;
    void showMetric(const QString& key) const;

    Document* m_document;
    FileActions* m_files;
    ViewTabs* m_views;
    Panels* m_panels;
    CentralPages* m_pages;
    CommandPalette* m_palette;
};

} // namespace secateur
