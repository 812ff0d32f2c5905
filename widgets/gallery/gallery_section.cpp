#include "widgets/gallery/gallery_section.h"

#include "widgets/jobs/elided_label.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QResizeEvent>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

constexpr int tileGap = 8;

std::vector<GalleryTile*> tilesOf(const GalleryPaper& paper) {
    std::vector<GalleryTile*> tiles;
    for (const FigureInfo* item : paper.items)
        tiles.push_back(new GalleryTile(*item));
    return tiles;
}

} // namespace

TileGrid::TileGrid(const std::vector<GalleryTile*>& tiles, QWidget* parent)
    : QWidget(parent)
    , m_tiles(tiles) {
    for (GalleryTile* tile : m_tiles)
        tile->setParent(this);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

int TileGrid::columnsIn(int width) const {
    if (m_tiles.empty())
        return 1;
    const int least = m_tiles.front()->leastWidth();
    return std::max(1, (width + tileGap) / (least + tileGap));
}

int TileGrid::tileWidth(int width) const {
    const int columns = columnsIn(width);
    return (width - (columns - 1) * tileGap) / columns;
}

int TileGrid::heightForWidth(int width) const {
    if (m_tiles.empty())
        return 0;
    const int columns = columnsIn(width);
    const int rows = (static_cast<int>(m_tiles.size()) + columns - 1) / columns;
    return rows * m_tiles.front()->heightFor(tileWidth(width)) + (rows - 1) * tileGap;
}

QSize TileGrid::sizeHint() const {
    return {width(), heightForWidth(std::max(width(), 1))};
}

QSize TileGrid::minimumSizeHint() const {
    return {m_tiles.empty() ? 0 : m_tiles.front()->leastWidth() / 2, 0};
}

void TileGrid::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const int columns = columnsIn(width());
    const int wide = tileWidth(width());
    for (std::size_t i = 0; i < m_tiles.size(); ++i) {
        const int row = static_cast<int>(i) / columns;
        const int column = static_cast<int>(i) % columns;
        const int high = m_tiles[i]->heightFor(wide);
        m_tiles[i]->setGeometry(column * (wide + tileGap), row * (high + tileGap), wide, high);
    }
}

GallerySection::GallerySection(const GalleryPaper& paper, QWidget* parent)
    : QWidget(parent)
    , m_paper(paper)
    , m_heading(new QToolButton)
    , m_count(new ElidedLabel)
    , m_measure(new QPushButton)
    , m_tiles(tilesOf(paper))
    , m_grid(new TileGrid(m_tiles)) {
    m_heading->setText(paper.title);
    m_heading->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_heading->setAutoRaise(true);
    m_heading->setFocusPolicy(Qt::StrongFocus);
    m_heading->setToolTip(paper.source);
    QFont large = font();
    large.setBold(true);
    m_heading->setFont(large);
    m_count->setForegroundRole(QPalette::PlaceholderText);
    m_measure->setWhatsThis(tr("Measures the missing results of the figures and tables of this paper."));
    auto* row = new QHBoxLayout;
    row->addWidget(m_heading);
    row->addWidget(m_count, 1);
    row->addWidget(m_measure);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, tileGap);
    column->setSpacing(tileGap / 2);
    column->addLayout(row);
    column->addWidget(m_grid);
    connect(m_heading, &QToolButton::clicked, this, [this] {
        setFolded(!m_isFolded);
        emit folded(m_isFolded);
    });
    connect(m_measure, &QPushButton::clicked, this, &GallerySection::measureWanted);
    setFolded(false);
    setDrawn(0);
}

void GallerySection::setFolded(bool folded) {
    m_isFolded = folded;
    m_grid->setVisible(!folded);
    m_heading->setArrowType(folded ? Qt::RightArrow : Qt::DownArrow);
    m_heading->setAccessibleName(folded ? tr("Show the figures of %1").arg(m_paper.title)
                                        : tr("Hide the figures of %1").arg(m_paper.title));
}

void GallerySection::setDrawn(int drawn) {
    m_count->setText(tr("%1   %2 of %3 drawn").arg(m_paper.source).arg(drawn).arg(m_tiles.size()));
}

void GallerySection::setOffer(const QString& text, const QString& tip, bool isEnabled) {
    m_measure->setText(text);
    m_measure->setToolTip(tip);
    m_measure->setAccessibleName(tr("%1: %2").arg(m_paper.title, text));
    m_measure->setEnabled(isEnabled);
}

} // namespace secateur
