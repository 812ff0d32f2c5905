// The context menu of a tile in the gallery.

#include "widgets/gallery/figure_data.h"
#include "widgets/gallery/gallery_section.h"
#include "widgets/gallery/gallery_view.h"
#include "widgets/gallery/step_process.h"
#include "widgets/plot/figure_widget.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

namespace secateur {

void GalleryView::showMenu(GalleryTile& tile, const QPoint& at) {
    tile.setFocus(Qt::MouseFocusReason);
    m_current = &tile;
    const bool isDrawn = tile.figure() != nullptr;
    m_actions->setEnabled(isDrawn);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const bool isBusy =
        tile.state().kind == TileState::Kind::measuring || tile.state().kind == TileState::Kind::waiting;
    if (isDrawn)
        menu->addAction(tr("&Open"), this, [this, &tile] { openItem(tile.item()); });
    if (isBusy)
        menu->addAction(tr("Ca&ncel the measurement"), this, [this, &tile] { stopItem(tile); });
    const GallerySection* section = sectionOf(tile);
    const auto missing = missingSteps(tile.item(), m_contents->steps(section->paper()));
    if (!isBusy && m_steps->problem().isEmpty() && !keysOf(*section, missing).empty())
        menu->addAction(isDrawn ? tr("&Measure what is missing") : tr("&Measure"), this,
                        [this, &tile] { measure(tile.item()); });
    if (!missing.empty())
        menu->addAction(tr("Copy measurement as command &line"), this, [this, &tile] { copySteps(tile); });
    menu->addSeparator();
    menu->addActions(m_actions->actions());
    menu->addAction(tr("Save &data…"), this, [this, &tile] { saveData(tile); })->setEnabled(isDrawn);
    menu->popup(at);
}

void GalleryView::copySteps(const GalleryTile& tile) {
    QStringList lines;
    for (const RecipeStep* step : missingSteps(tile.item(), m_contents->steps(sectionOf(tile)->paper())))
        if (step->reason.empty())
            lines << QString::fromStdString(shellText(stepCommand(m_steps->program(), step->arguments)));
    QApplication::clipboard()->setText(lines.join('\n'));
}

void GalleryView::saveData(const GalleryTile& tile) {
    if (tile.figure())
        chooseAndSaveData(this, tile.figure(), itemId(tile.item()),
                          [this](const QString& message) { emit failed(message); });
}

} // namespace secateur
