#pragma once

#include "analysis/metrics/metric.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/neurons/neuron_threshold.h"

#include <QPoint>

#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// The histogram of a layer's neurons, its cut part hatched, with a threshold that is dragged.
class NeuronHistogram : public FigureWidget {
    Q_OBJECT

public:
    explicit NeuronHistogram(QWidget* parent = nullptr);

    /// @param values by neuron, those that the figure counts
    void setValues(const Figure& figure, std::span<const double> values);
    /// @param states by neuron
    void setStates(const std::vector<NeuronState>& states);
    /// Ticks along the axis.
    void setSelected(const std::vector<double>& values);
    /// @param end where it stands while there is none; neither = it is not offered
    void setThreshold(std::optional<double> bound, PruneFirst end);
    /// Where a value lies on the axis.
    QPoint position(double value) const;

signals:
    /// The threshold is dragged; infinite beyond the ends.
    void dragged(double bound);
    void released();
    /// Esc pressed, during a drag or not.
    void givenUp();
    /// Moved with the arrows. @param steps of one percent of the neurons
    void stepped(int steps);
    void enterPressed();

protected:
    void painted() override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Overlay;
    struct Drawn {
        std::vector<double> edges;
        std::vector<double> cut;     ///< neurons in each bin
        std::vector<double> preview; ///< that would be cut, or kept
        std::vector<double> selected;
        std::optional<double> bound;
        PruneFirst end = PruneFirst::neither;
    };

    void count(const std::vector<NeuronState>& states);
    void replotOverlay();

    Overlay* m_overlay = nullptr; ///< belongs to the plot
    Drawn m_drawn;
    std::vector<double> m_values;
    std::vector<std::size_t> m_bins; ///< of each neuron; past the end = in none
    std::optional<QPoint> m_pressed;
    bool m_dragging = false;
};

} // namespace secateur
