#include "widgets/window/central_pages.h"

#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/window/recent_files.h"
#include "widgets/window/welcome_page.h"

#include <QLabel>
#include <QTimer>

namespace secateur {

CentralPages::CentralPages(Document* document, QWidget* views)
    : m_document(document)
    , m_views(views)
    , m_welcome(new WelcomePage)
    , m_opening(new QLabel)
    , m_search(new ModelSearch(document->services().foundModels, this)) {
    m_opening->setAlignment(Qt::AlignCenter);
    m_opening->setForegroundRole(QPalette::PlaceholderText);
    addWidget(m_welcome);
    addWidget(m_opening);
    addWidget(m_views);
    connect(m_welcome, &WelcomePage::openModelWanted, this, &CentralPages::modelWanted);
    connect(m_welcome, &WelcomePage::openFolderWanted, this, &CentralPages::folderWanted);
    connect(m_welcome, &WelcomePage::openSessionWanted, this, &CentralPages::sessionWanted);
    connect(m_welcome, &WelcomePage::openWanted, this, &CentralPages::openWanted);
    connect(m_welcome, &WelcomePage::tourWanted, this, &CentralPages::tourWanted);
    connect(m_search, &ModelSearch::found, this, [this] { m_welcome->showFound(m_search->models()); });
}

void CentralPages::announce(const QString& text) {
    m_opening->setText(text);
}

void CentralPages::refresh() {
    if (!m_document->isOpen())
        m_welcome->refresh();
    // Delayed until the event loop runs, because a model on the command line is opened first. With an open model, only
    // the first search runs: its models are offered for masks that are dropped.
    QTimer::singleShot(0, this, [this] {
        if (!m_document->files()->isOpening() && (m_search->isFirst() || !m_document->isOpen()))
            m_search->start(recentPaths());
    });
    QWidget* otherwise = m_document->files()->isOpening() ? static_cast<QWidget*>(m_opening) : m_welcome;
    setCurrentWidget(m_document->isOpen() ? m_views : otherwise);
}

} // namespace secateur
