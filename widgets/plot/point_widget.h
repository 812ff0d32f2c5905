#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_curves.h"

#include <QPoint>

#include <cstddef>
#include <functional>
#include <optional>

namespace secateur {

/// A figure with points of quality against size. The tooltip of a point shows its name and values; a click chooses it,
/// a double click activates it. The arrows choose the next point in their direction, Enter activates it.
/// FigureSeries::places identify the points.
class PointWidget : public FigureWidget {
    Q_OBJECT

public:
    explicit PointWidget(QWidget* parent = nullptr);

    /// Draws a ring around a point, and removes the previous ring. @param place empty or without a point = no ring
    void highlight(std::optional<std::size_t> place);
    std::optional<std::size_t> highlighted() const { return m_highlighted; }
    /// The pixel of a point in the widget; empty if there is no such point.
    std::optional<QPoint> position(std::size_t place) const;
    /// A point's name and its two values with their axes, or what setDescription() says of it.
    QString text(std::size_t place) const;
    /// Sets a function that describes points for tooltips.
    void setDescription(std::function<QString(std::size_t place)> describe) { m_describe = std::move(describe); }

signals:
    void chosen(std::size_t place);
    void activated(std::size_t place);

protected:
    bool event(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void painted() override;

private:
    /// The first drawn point with a place.
    std::optional<FigurePoint> find(std::size_t place) const;
    std::size_t placeOf(const FigurePoint& point) const { return figure().series[point.series].places[point.point]; }
    /// The point with a place that is nearest to a position, within a few pixels.
    std::optional<FigurePoint> under(const QPointF& position) const;
    void showText(const FigurePoint& point);
    void moveBy(QPointF direction);

    std::optional<std::size_t> m_highlighted;
    std::function<QString(std::size_t place)> m_describe;
};

} // namespace secateur
