#pragma once

#include "widgets/gallery/gallery_papers.h"
#include "widgets/gallery/gallery_tile.h"

#include <QWidget>

#include <vector>

class QPushButton;
class QToolButton;

namespace secateur {

class ElidedLabel;

/// Tiles in rows of equal width; as many in a row as have room.
class TileGrid : public QWidget {
    Q_OBJECT

public:
    explicit TileGrid(const std::vector<GalleryTile*>& tiles, QWidget* parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    int columns() const { return columnsIn(width()); }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    int columnsIn(int width) const;
    int tileWidth(int width) const;

    std::vector<GalleryTile*> m_tiles;
};

/// A paper in the gallery: a heading that folds the tiles away, what is drawn, and a button that measures the rest.
class GallerySection : public QWidget {
    Q_OBJECT

public:
    explicit GallerySection(const GalleryPaper& paper, QWidget* parent = nullptr);

    const GalleryPaper& paper() const { return m_paper; }
    const std::vector<GalleryTile*>& tiles() const { return m_tiles; }
    const TileGrid* grid() const { return m_grid; }
    bool isFolded() const { return m_isFolded; }
    void setFolded(bool folded);
    /// @param drawn number of tiles with a figure
    void setDrawn(int drawn);
    /// The button that measures what is missing. @param tip summaries of the steps
    void setOffer(const QString& text, const QString& tip, bool isEnabled);

signals:
    void folded(bool isFolded);
    void measureWanted();

private:
    GalleryPaper m_paper;
    bool m_isFolded = false;
    QToolButton* m_heading;
    ElidedLabel* m_count;
    QPushButton* m_measure;
    std::vector<GalleryTile*> m_tiles;
    TileGrid* m_grid;
};

} // namespace secateur
