#pragma once

#include "analysis/figures/figure_info.h"

#include <QAbstractButton>
#include <QPixmap>
#include <QString>

#include <memory>

class QToolButton;

namespace secateur {

/// What a tile says and offers besides its figure.
struct TileState {
    enum class Kind {
        unknown,  ///< was not computed yet
        drawn,    ///< has a figure
        missing,  ///< can be measured by a click
        refused,  ///< cannot be measured
        waiting,  ///< its steps wait for others
        measuring ///< one of its steps runs
    };
    Kind kind = Kind::unknown;
    QString reason{};     ///< the sentence of what is missing, or why a measurement failed
    QString offer{};      ///< "Click to measure: about 4 min"; the running command's text while it measures
    QString details{};    ///< for the tooltip: commands, missing files
    double fraction = -1; ///< progress; negative = not known
    bool operator==(const TileState&) const = default;
};

/// A figure or table of a paper as a thumbnail with its title, or grey with the sentence of what is missing. A click or
/// Enter measures what is missing; a double click or Enter opens a figure.
class GalleryTile : public QAbstractButton {
    Q_OBJECT

public:
    explicit GalleryTile(const FigureInfo& item, QWidget* parent = nullptr);

    const FigureInfo& item() const { return m_item; }
    const TileState& state() const { return m_state; }
    void setState(const TileState& state);
    /// The figure of the thumbnail; null = none. It is painted by paintThumbnail().
    void setFigure(std::shared_ptr<const Figure> figure);
    const std::shared_ptr<const Figure>& figure() const { return m_figure; }
    /// Whether the thumbnail is not that of the figure, at this size and in these colours.
    bool needsPainting() const { return m_figure && m_isOld; }
    void paintThumbnail();
    bool hasThumbnail() const { return !m_picture.isNull(); }
    /// Height of a tile of a width.
    int heightFor(int width) const;
    /// The least width at which titles can be read.
    int leastWidth() const;
    QSize sizeHint() const override;

signals:
    void measureWanted();
    void openWanted();
    void stopWanted();
    /// An arrow key was pressed. @param right, down one of them is 1 or -1
    void moveWanted(int right, int down);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

private:
    QRect pictureRect() const;
    bool isBusy() const;
    void activate();
    void describe();
    void drawPicture(QPainter& painter, const QRect& rect) const;
    void drawReason(QPainter& painter, const QRect& rect) const;
    void drawTitle(QPainter& painter, const QRect& rect) const;
    void drawProgress(QPainter& painter, const QRect& rect) const;

    const FigureInfo& m_item;
    TileState m_state;
    std::shared_ptr<const Figure> m_figure;
    QPixmap m_picture;
    bool m_isOld = false;
    QToolButton* m_stop;
};

} // namespace secateur
