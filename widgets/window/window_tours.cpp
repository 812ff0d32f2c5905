#include "widgets/window/window_tours.h"

#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/jobs/messages.h"
#include "widgets/tours/tour_guide.h"
#include "widgets/window/central_pages.h"
#include "widgets/window/file_actions.h"
#include "widgets/window/view_tabs.h"

#include <QMainWindow>

#include <utility>

namespace secateur {

WindowTours::WindowTours(QMainWindow* window, Document* document, const Selection* selection, ViewTabs* views,
                         CentralPages* pages, FileActions* files, MessageBar* messages)
    : QObject(window)
    , m_document(document)
    , m_pages(pages)
    , m_files(files)
    , m_messages(messages)
    , m_guide(new TourGuide(window, document, selection, [views](const QString& tab) { views->showTab(tab); })) {
    // Queued, so that the window shows the views and panels of the model first.
    connect(document, &Document::opened, this, &WindowTours::startWaiting, Qt::QueuedConnection);
    connect(document, &Document::failed, this, [this] { m_waiting.clear(); });
    connect(document->files(), &DocumentFiles::openingCancelled, this, [this] { m_waiting.clear(); });
    // The user opens something else.
    connect(files, &FileActions::opening, this, [this](const QString& path) {
        if (path != m_opened)
            m_waiting.clear();
    });
    connect(pages->search(), &ModelSearch::found, this, [this] {
        if (!m_waiting.isEmpty() && !m_document->files()->isOpening())
            startWaiting();
    });
    connect(pages, &CentralPages::tourWanted, this, [this](const QString& id) { start(id); });
}

void WindowTours::start(const QString& id, std::size_t step) {
    const Tour* tour = findTour(id);
    if (!tour)
        return;
    m_waiting = id;
    m_waitingStep = step;
    if (!m_document->isOpen() && (m_document->files()->isOpening() || m_pages->search()->isFirst()))
        return; // startWaiting() follows
    startWaiting();
}

void WindowTours::startWaiting() {
    const Tour* tour = findTour(std::exchange(m_waiting, {}));
    if (!tour)
        return;
    if (m_document->model())
        return m_guide->begin(*tour, m_waitingStep);
    if (m_document->isOpen())
        return say(tr("A tour needs the weights of the model: locate its checkpoint in the menu File first."));
    const FoundModel* demo = m_pages->search()->demo();
    if (!demo)
        return say(tr("A tour needs an open model. Open one, or get the demo model as the welcome page describes."));
    m_waiting = tour->id;
    m_opened = QString::fromStdString(demo->path);
    m_files->open(m_opened);
}

void WindowTours::say(const QString& message) {
    m_messages->say(MessageBar::Kind::notice, message);
}

} // namespace secateur
