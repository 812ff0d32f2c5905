#pragma once

#include "analysis/figures/model_figures.h"
#include "widgets/plot/plot_scale.h"

#include <QImage>
#include <QPointF>
#include <QRect>
#include <QStringList>
#include <QWidget>

#include <memory>
#include <optional>

class QTimer;

namespace secateur {

/// A cell of an attention map. Positions count from 0.
struct AttentionCell {
    int query = 0;
    int key = 0;
    bool operator==(const AttentionCell&) const = default;
};

/// The attention map of one head, with a row for each query, a column for each key, and their tokens as labels. The
/// wheel scrolls, with Ctrl it zooms; the left or middle button pans; a double click shows everything; the arrow keys
/// move the hovered cell.
class AttentionPlot : public QWidget {
    Q_OBJECT

public:
    explicit AttentionPlot(QWidget* parent = nullptr);

    /// Sets the labels and resets the zoom. @param tokens texts of the prompt's tokens, in order
    void setTokens(const QStringList& tokens);
    /// @param map null = shows `reason` instead
    void setMap(std::shared_ptr<const MapPyramid> map, const ColourRange& range, const QString& reason = {});
    /// Sets a finer part of the map, for maps that are reduced. @param part null = none
    void setPart(std::shared_ptr<const AttentionPart> part);
    void resetZoom();
    /// Width in pixels of the colour bar with its labels.
    int widthBesideMap() const;

    const std::shared_ptr<const MapPyramid>& map() const { return m_map; }
    const QStringList& tokens() const { return m_tokens; }
    std::optional<AttentionCell> hovered() const { return m_hovered; }
    /// A value of the map. It is the maximum over `cells` x `cells` cells around the cell.
    struct Value {
        float value = 0;
        int cells = 1;
    };
    /// The value at the finest resolution that is known. There must be a map.
    Value valueAt(AttentionCell cell) const;
    std::optional<AttentionCell> cellAt(QPointF point) const;
    /// The rectangle of a cell in the widget's coordinates. It lies outside the widget if the cell is not on screen.
    QRect cellRect(AttentionCell cell) const;

signals:
    void hoverChanged();
    /// Emitted a moment after the view shows less than a cell of a reduced map per pixel.
    void partWanted(const secateur::MapWindow& window);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    static constexpr int gap = 6;

    void arrange();
    double fittingScale() const;
    void zoom(double factor, QPointF about);
    void pan(QPointF pixels);
    void clampView();
    void setHovered(std::optional<AttentionCell> cell);
    void reveal(AttentionCell cell);

    const QImage& picture();
    void requestPart();
    int widthOfLabels() const;
    void drawRowName(QPainter& painter, int token, const QString& name) const;
    void drawColumnName(QPainter& painter, int token, const QString& name) const;
    void paintTokens(QPainter& painter) const;
    void paintHover(QPainter& painter) const;
    void paintColourBar(QPainter& painter) const;
    QFont labelFont() const;
    /// Number of tokens from one label to the next.
    int labelStep() const;
    QString label(int token) const;

    std::shared_ptr<const MapPyramid> m_map;
    std::shared_ptr<const AttentionPart> m_part; ///< a finer part of m_map
    QTimer* m_zooming;
    ColourRange m_range;
    QString m_reason; ///< why there is no map
    QStringList m_tokens;
    QRect m_area;       ///< area of the map in the widget, in pixels
    double m_scale = 1; ///< pixels per cell
    QPointF m_first;    ///< key and query at the top left of the area
    QImage m_picture;   ///< null = must be drawn again
    std::optional<AttentionCell> m_hovered;
    QPointF m_lastPoint;
};

} // namespace secateur
