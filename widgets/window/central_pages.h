#pragma once

#include "widgets/window/model_search.h"

#include <QStackedWidget>

class QLabel;

namespace secateur {

class Document;
class WelcomePage;

/// The centre of the window: the welcome page, a text while something is being opened, or the views of the open model.
class CentralPages : public QStackedWidget {
    Q_OBJECT

public:
    CentralPages(Document* document, QWidget* views);

    /// Sets the text that is shown while something is being opened.
    void announce(const QString& text);
    /// Shows the page for the current state. Searches for models unless something is being opened.
    void refresh();
    /// The models that were found on this computer.
    const ModelSearch* search() const { return m_search; }

signals:
    void modelWanted();
    void folderWanted();
    void sessionWanted();
    void openWanted(const QString& path);
    /// The user wants a tour. @param id of Tour
    void tourWanted(const QString& id);

private:
    Document* m_document;
    QWidget* m_views;
    WelcomePage* m_welcome;
    QLabel* m_opening;
    ModelSearch* m_search;
};

} // namespace secateur
