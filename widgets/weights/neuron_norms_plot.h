#pragma once

#include "widgets/plot/figure_widget.h"

#include <cstddef>
#include <optional>

namespace secateur {

/// A scatter of neurons in which one is chosen: by a click, or with the arrows, which choose the next one in the order
/// of the neurons. The tooltip is the owner's. The first series of the figure has a point for each neuron.
class NeuronNormsPlot : public FigureWidget {
    Q_OBJECT

public:
    explicit NeuronNormsPlot(QWidget* parent = nullptr);

    /// Draws a ring around a neuron, and removes the previous ring.
    void choose(std::optional<std::size_t> neuron);
    std::optional<std::size_t> chosen() const { return m_chosen; }
    /// The pixel of a neuron in the widget.
    std::optional<QPointF> position(std::size_t neuron) const;
    /// The nearest neuron within a few pixels.
    std::optional<std::size_t> neuronAt(QPointF point) const;

signals:
    void clicked(std::size_t neuron);
    /// @param neuron under the pointer; the number of neurons = none
    void hovered(std::size_t neuron);

protected:
    void painted() override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    std::size_t count() const;

    std::optional<std::size_t> m_chosen;
};

} // namespace secateur
