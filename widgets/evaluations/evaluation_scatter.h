#pragma once

#include "widgets/plot/figure_widget.h"

#include <QPoint>

#include <optional>

namespace secateur {

/// Quality against size: a point under the pointer says what it is; a click chooses it, a double click asks for its
/// mask. Points are told apart by FigureSeries::places.
class EvaluationScatter : public FigureWidget {
    Q_OBJECT

public:
    explicit EvaluationScatter(QWidget* parent = nullptr);

    /// Draws a ring around a point, of no other; empty, or a place without a point = none.
    void highlight(std::optional<std::size_t> place);
    std::optional<std::size_t> highlighted() const { return m_highlighted; }
    /// In the widget's pixels; empty where the figure has no such point.
    std::optional<QPoint> position(std::size_t place) const;
    /// "eight", and its two values with their axes.
    QString text(std::size_t place) const;

signals:
    void chosen(std::size_t place);
    void activated(std::size_t place);

protected:
    bool event(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void painted() override;

private:
    struct Point {
        const FigureSeries* series = nullptr;
        std::size_t index = 0;

        std::size_t place() const { return series->places[index]; }
    };

    std::vector<Point> points() const;
    std::optional<Point> find(std::size_t place) const;
    QPointF pixels(const Point& point) const;
    /// The nearest within reach of the pointer.
    std::optional<Point> under(const QPointF& position) const;
    void showText(const Point& point);

    std::optional<std::size_t> m_highlighted;
};

} // namespace secateur
