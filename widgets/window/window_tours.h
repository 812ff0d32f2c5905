#pragma once

#include <QObject>
#include <QString>

#include <cstddef>

class QMainWindow;

namespace secateur {

class CentralPages;
class Document;
class FileActions;
class MessageBar;
class Selection;
class TourGuide;
class ViewTabs;

/// Starts the tours of the window. If no model is open, it opens the demo model first.
class WindowTours : public QObject {
    Q_OBJECT

public:
    WindowTours(QMainWindow* window, Document* document, const Selection* selection, ViewTabs* views,
                CentralPages* pages, FileActions* files, MessageBar* messages);

    /// Starts a tour at a step, at once or when the model is open. Without a model and without the demo model, a
    /// message says what to do. @param id of Tour; others are ignored @param step index
    void start(const QString& id, std::size_t step = 0);
    TourGuide* guide() const { return m_guide; }

private:
    void startWaiting();
    void say(const QString& message);

    Document* m_document;
    const CentralPages* m_pages;
    FileActions* m_files;
    MessageBar* m_messages;
    TourGuide* m_guide;
    QString m_waiting; ///< id of the tour that starts when a model is open; empty = none
    std::size_t m_waitingStep = 0;
    QString m_opened; ///< the demo model, once it was opened for a tour
};

} // namespace secateur
