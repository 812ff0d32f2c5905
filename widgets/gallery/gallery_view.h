#pragma once

#include "widgets/gallery/figure_dialog.h"
#include "widgets/gallery/gallery_contents.h"
#include "widgets/gallery/gallery_steps.h"
#include "widgets/gallery/gallery_tile.h"

#include <QHash>
#include <QPointer>
#include <QString>
#include <QWidget>

#include <vector>

class QLabel;
class QScrollArea;
class QStackedWidget;
class QTimer;
class QVBoxLayout;

namespace secateur {

class FigureActions;
class GalleryBar;
class GallerySection;

/// What a gallery consists of.
struct GallerySetup {
    std::vector<GalleryPaper> papers = galleryPapers();
    QString program = {}; ///< path of secateur-cli; empty = beside this program
    QString folder = {};  ///< for the session files of commands; empty = in the cache of the user
    GalleryContents::PromptSource prompt = {};
};

/// The tab *Gallery*: the figures and tables of the papers, drawn from the open session. What cannot be drawn is grey,
/// with what is missing and what it would cost; a click measures it.
class GalleryView : public QWidget {
    Q_OBJECT

public:
    GalleryView(Document* document, JobRunner* jobs, GallerySetup setup, QWidget* parent = nullptr);

    GalleryContents* contents() const { return m_contents; }
    GallerySteps* steps() const { return m_steps; }
    /// Actions on the figure of the tile that has or had the focus.
    FigureActions* figureActions() const { return m_actions; }
    /// The tile of an item; null if it is no item of the gallery.
    GalleryTile* tile(const FigureInfo& item) const { return m_tiles.value(&item); }
    std::vector<GallerySection*> sections() const { return m_sections; }
    /// Measures what an item lacks, or runs the model for it.
    void measure(const FigureInfo& item);
    /// Measures all steps of a paper, or of all papers.
    void measurePaper(const GalleryPaper& paper);
    void measureAll();
    /// Opens an item in a window of its own.
    void openItem(const FigureInfo& item);
    /// The window of an item; null if it is not open.
    FigureDialog* openedItem(const FigureInfo& item) const { return m_opened.value(&item); }

signals:
    /// Emitted when a picture could not be saved, or a measurement failed.
    void failed(const QString& message);

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void build();
    void addSection(const GalleryPaper& paper, QVBoxLayout& column);
    void connectTile(GalleryTile* tile);
    void connectAll();
    void updateTiles();
    void updateTile(GalleryTile& tile);
    void updateSections();
    void updateRunning();
    void showPage();
    void schedulePainting(int delayMs = 0);
    void paintNext();
    bool isOnScreen(const GallerySection& section, const GalleryTile& tile) const;
    void moveFocus(const GalleryTile& from, int right, int down);
    void showMenu(GalleryTile& tile, const QPoint& at);
    void copySteps(const GalleryTile& tile);
    void saveData(const GalleryTile& tile);
    const GallerySection* sectionOf(const GalleryTile& tile) const;
    std::vector<StepKey> keysOf(const GallerySection& section, const std::vector<const RecipeStep*>& steps) const;
    void stopItem(const GalleryTile& tile);

    Document* m_document;
    GallerySteps* m_steps;
    GalleryContents* m_contents;
    GalleryBar* m_bar;
    QStackedWidget* m_pages;
    QLabel* m_empty;
    QScrollArea* m_scroll;
    std::vector<GallerySection*> m_sections;
    QHash<const FigureInfo*, GalleryTile*> m_tiles;
    QHash<const FigureInfo*, QPointer<FigureDialog>> m_opened;
    QHash<const FigureInfo*, double> m_fractions; ///< of runs of the model
    QPointer<GalleryTile> m_current;              ///< had the focus last
    FigureActions* m_actions;
    QTimer* m_paint; ///< paints one thumbnail at a time, so that the window answers in between
};

/// What a tile of an item shows. @param steps of the item's paper @param fraction of a run of the model
TileState tileStateOf(const FigureInfo& item, const GalleryPaper& paper, const GalleryContents& contents,
                      const GallerySteps& steps, double fraction);

} // namespace secateur
