#include "widgets/gallery/gallery_view.h"

#include "widgets/document/document.h"
#include "widgets/gallery/figure_dialog.h"
#include "widgets/gallery/gallery_bar.h"
#include "widgets/gallery/gallery_section.h"
#include "widgets/gallery/gallery_tile.h"
#include "widgets/gallery/step_process.h"
#include "widgets/plot/figure_widget.h"

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace secateur {

namespace {

constexpr const char* galleryFolded = "gallery/folded";

QString usualFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + "/gallery";
}

} // namespace

GalleryView::GalleryView(Document* document, JobRunner* jobs, GallerySetup setup, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_steps(new GallerySteps(document, jobs, setup.papers,
                               setup.program.isEmpty() ? usualCommandLineProgram() : setup.program,
                               setup.folder.isEmpty() ? usualFolder() : setup.folder, this))
    , m_contents(new GalleryContents(document, jobs, m_steps, std::move(setup.papers), std::move(setup.prompt), this))
    , m_bar(new GalleryBar(m_steps))
    , m_pages(new QStackedWidget)
    , m_empty(new QLabel)
    , m_scroll(new QScrollArea)
    , m_actions(new FigureActions(this,
                                  [this] {
                                      const auto figure = m_current ? m_current->figure() : nullptr;
                                      return figure ? *figure : Figure();
                                  }))
    , m_paint(new QTimer(this)) {
    build();
    connectAll();
    m_contents->setChoice(m_bar->size(), m_bar->folder());
    m_actions->setEnabled(false);
    showPage();
    updateSections();
}

void GalleryView::build() {
    auto* content = new QWidget;
    auto* sections = new QVBoxLayout(content);
    sections->setContentsMargins(0, 0, 0, 0);
    for (const GalleryPaper& paper : m_contents->papers())
        addSection(paper, *sections);
    sections->addStretch();
    m_scroll->setWidget(content);
    m_scroll->setWidgetResizable(true);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn); // its appearance would change the tiles' width
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_scroll->setAccessibleName(tr("Figures of the papers"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setForegroundRole(QPalette::PlaceholderText);
    m_empty->setText(tr("Drop a model folder, a model file or a session here"));
    m_empty->setAccessibleName(tr("Reason for the missing figures"));
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_scroll);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(6);
    column->addWidget(m_bar);
    column->addWidget(m_pages, 1);
    m_paint->setSingleShot(true);
}

void GalleryView::addSection(const GalleryPaper& paper, QVBoxLayout& column) {
    auto* section = new GallerySection(paper);
    m_sections.push_back(section);
    column.addWidget(section);
    const QString id = QString::fromStdString(paper.id);
    section->setFolded(QSettings().value(galleryFolded).toStringList().contains(id));
    connect(section, &GallerySection::folded, this, [this, id](bool isFolded) {
        QStringList folded = QSettings().value(galleryFolded).toStringList();
        folded.removeAll(id);
        if (isFolded)
            folded << id;
        QSettings().setValue(galleryFolded, folded);
        schedulePainting();
    });
    connect(section, &GallerySection::measureWanted, this, [this, section] { measurePaper(section->paper()); });
    for (GalleryTile* tile : section->tiles()) {
        m_tiles.insert(&tile->item(), tile);
        connectTile(tile);
    }
}

void GalleryView::connectTile(GalleryTile* tile) {
    connect(tile, &GalleryTile::measureWanted, this, [this, tile] { measure(tile->item()); });
    connect(tile, &GalleryTile::openWanted, this, [this, tile] { openItem(tile->item()); });
    connect(tile, &GalleryTile::stopWanted, this, [this, tile] { stopItem(*tile); });
    connect(tile, &GalleryTile::moveWanted, this, [this, tile](int right, int down) { moveFocus(*tile, right, down); });
    tile->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(tile, &QWidget::customContextMenuRequested, this,
            [this, tile](const QPoint& at) { showMenu(*tile, tile->mapToGlobal(at)); });
}

void GalleryView::connectAll() {
    connect(m_bar, &GalleryBar::chosen, this, [this] { m_contents->setChoice(m_bar->size(), m_bar->folder()); });
    connect(m_bar, &GalleryBar::measureAllWanted, this, &GalleryView::measureAll);
    connect(m_contents, &GalleryContents::itemChanged, this, [this](const FigureInfo* item, double fraction) {
        m_fractions[item] = fraction;
        if (GalleryTile* changed = tile(*item))
            updateTile(*changed);
        updateSections();
    });
    connect(m_contents, &GalleryContents::stepsChanged, this, [this] {
        m_bar->showFiles(m_contents->files());
        updateTiles();
    });
    connect(m_contents, &GalleryContents::sessionChanged, this, [this] {
        showPage();
        updateTiles();
    });
    connect(m_steps, &GallerySteps::changed, this, &GalleryView::updateTiles);
    connect(m_steps, &GallerySteps::progressed, this, &GalleryView::updateRunning);
    connect(m_actions, &FigureActions::failed, this, &GalleryView::failed);
    connect(m_paint, &QTimer::timeout, this, &GalleryView::paintNext);
    connect(m_scroll->verticalScrollBar(), &QScrollBar::valueChanged, this, [this] { schedulePainting(); });
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
        auto* focused = qobject_cast<GalleryTile*>(now);
        if (!focused || tile(focused->item()) != focused)
            return;
        m_current = focused;
        m_actions->setEnabled(focused->figure() != nullptr);
    });
}

void GalleryView::showPage() {
    m_pages->setCurrentWidget(m_document->isOpen() ? static_cast<QWidget*>(m_scroll) : m_empty);
}

void GalleryView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    m_contents->setActive(true);
    showPage();
    updateTiles();
}

void GalleryView::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    m_contents->setActive(false);
}

void GalleryView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    constexpr int dragMs = 80; // while the window is resized, the thumbnails are scaled
    schedulePainting(dragMs);
}

void GalleryView::updateTiles() {
    for (GalleryTile* tile : std::as_const(m_tiles))
        updateTile(*tile);
    updateSections();
    schedulePainting(); // which also tells the contents what is on screen
}

void GalleryView::updateTile(GalleryTile& tile) {
    const FigureInfo& item = tile.item();
    const DrawnItem* drawn = m_contents->item(item);
    const GallerySection* section = sectionOf(tile);
    tile.setState(tileStateOf(item, section->paper(), *m_contents, *m_steps, m_fractions.value(&item, -1)));
    tile.setFigure(drawn ? drawn->figure : nullptr);
    if (&tile == m_current)
        m_actions->setEnabled(tile.figure() != nullptr);
    if (tile.needsPainting())
        schedulePainting();
}

/// Updates the tiles of the running step.
void GalleryView::updateRunning() {
    for (GalleryTile* tile : std::as_const(m_tiles))
        if (tile->state().kind == TileState::Kind::measuring && isFromSession(tile->item()))
            updateTile(*tile);
}

void GalleryView::updateSections() {
    std::vector<const RecipeStep*> all;
    const bool canMeasure = m_steps->problem().isEmpty();
    const auto cost = [this](const std::vector<const RecipeStep*>& steps) {
        return costText(m_contents->seconds(steps), GalleryContents::tokens(steps));
    };
    for (GallerySection* section : m_sections) {
        section->setDrawn(static_cast<int>(std::ranges::count_if(
            section->tiles(), [](const GalleryTile* tile) { return tile->figure() != nullptr; })));
        const std::vector<const RecipeStep*> missing = missingSteps(m_contents->steps(section->paper()));
        QStringList tip;
        for (const RecipeStep* step : missing)
            tip << QString::fromStdString(step->summary);
        section->setOffer(missing.empty() ? tr("Nothing to measure") : tr("Measure the rest: %1").arg(cost(missing)),
                          tip.join('\n'), canMeasure && !missing.empty());
        all.insert(all.end(), missing.begin(), missing.end());
    }
    m_bar->setOffer(all.empty() ? tr("Measure all") : tr("Measure all: %1").arg(cost(all)), canMeasure && !all.empty());
}

bool GalleryView::isOnScreen(const GallerySection& section, const GalleryTile& tile) const {
    if (section.isFolded())
        return false;
    const QRect place(tile.mapTo(m_scroll->widget(), QPoint()), tile.size());
    const QRect shown(QPoint(0, m_scroll->verticalScrollBar()->value()), m_scroll->viewport()->size());
    return shown.intersects(place);
}

void GalleryView::schedulePainting(int delayMs) {
    if (isVisible())
        m_paint->start(delayMs);
}

/// Paints one thumbnail on screen, and comes back for the next.
void GalleryView::paintNext() {
    std::vector<const FigureInfo*> shown;
    GalleryTile* next = nullptr;
    for (const GallerySection* section : m_sections)
        for (GalleryTile* tile : section->tiles()) {
            if (!isOnScreen(*section, *tile))
                continue;
            shown.push_back(&tile->item());
            if (!next && tile->needsPainting())
                next = tile;
        }
    m_contents->want(std::move(shown));
    if (!next)
        return;
    next->paintThumbnail();
    m_paint->start(0);
}

const GallerySection* GalleryView::sectionOf(const GalleryTile& tile) const {
    for (const GallerySection* section : m_sections)
        if (std::ranges::find(section->tiles(), &tile) != section->tiles().end())
            return section;
    return nullptr;
}

std::vector<StepKey> GalleryView::keysOf(const GallerySection& section,
                                         const std::vector<const RecipeStep*>& steps) const {
    std::vector<StepKey> keys;
    for (const RecipeStep* step : steps)
        if (step->reason.empty())
            keys.push_back({section.paper().id, step->id});
    return keys;
}

void GalleryView::measure(const FigureInfo& item) {
    const GalleryTile* of = tile(item);
    if (!of)
        return;
    if (!isFromSession(item))
        return m_contents->run(item);
    const GallerySection* section = sectionOf(*of);
    m_steps->run(keysOf(*section, missingSteps(item, m_contents->steps(section->paper()))));
}

void GalleryView::measurePaper(const GalleryPaper& paper) {
    for (const GallerySection* section : m_sections)
        if (section->paper().id == paper.id)
            m_steps->run(keysOf(*section, missingSteps(m_contents->steps(paper))));
}

void GalleryView::measureAll() {
    for (const GallerySection* section : m_sections)
        measurePaper(section->paper());
}

void GalleryView::stopItem(const GalleryTile& tile) {
    if (isFromSession(tile.item()))
        m_steps->stop();
    else
        m_contents->stop(tile.item());
}

void GalleryView::openItem(const FigureInfo& item) {
    QPointer<FigureDialog>& dialog = m_opened[&item];
    if (!dialog) {
        dialog = new FigureDialog(m_document, m_contents, item, this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        connect(dialog, &FigureDialog::failed, this, &GalleryView::failed);
    }
    dialog->show();
    dialog->raise();
    dialog->activateWindow();
}

/// Moves the focus to the neighbour of a tile; up and down to the nearest in the next row, of whichever section.
void GalleryView::moveFocus(const GalleryTile& from, int right, int down) {
    std::vector<GalleryTile*> tiles;
    for (const GallerySection* section : m_sections)
        if (!section->isFolded())
            tiles.insert(tiles.end(), section->tiles().begin(), section->tiles().end());
    const auto place = [this](const GalleryTile& tile) { return tile.mapTo(m_scroll->widget(), QPoint()); };
    const auto at = std::ranges::find(tiles, &from);
    GalleryTile* next = nullptr;
    if (right != 0 && at != tiles.end()) {
        const auto index = (at - tiles.begin()) + right;
        next = index >= 0 && index < std::ssize(tiles) ? tiles[static_cast<std::size_t>(index)] : nullptr;
    }
    const QPoint here = place(from);
    for (GalleryTile* tile : tiles) {
        const QPoint there = place(*tile);
        const int rows = down * (there.y() - here.y());
        if (down == 0 || rows <= 0)
            continue;
        const auto farness = [&](const GalleryTile& other) {
            return std::pair(down * (place(other).y() - here.y()), std::abs(place(other).x() - here.x()));
        };
        if (!next || farness(*tile) < farness(*next))
            next = tile;
    }
    if (!next)
        return;
    next->setFocus(Qt::OtherFocusReason);
    m_scroll->ensureWidgetVisible(next);
}

} // namespace secateur
