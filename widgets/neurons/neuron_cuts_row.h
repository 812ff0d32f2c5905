#pragma once

#include "widgets/neurons/neuron_threshold.h"

#include <QWidget>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QSlider;

namespace secateur {

/// "Cut the lowest 12.5 % of every layer": previewed while it is changed, cut on release, Enter or the button; Esc
/// gives it up.
class NeuronCutsRow : public QWidget {
    Q_OBJECT

public:
    explicit NeuronCutsRow(NeuronThreshold* threshold, QWidget* parent = nullptr);

    /// The layer that may be cut alone, and is offered first. Empty = only every layer.
    void setLayer(std::optional<int> layer);
    /// Changes the share by so many percent of the layer, as the arrows do.
    void step(int percent);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void build();
    void follow();
    void preview(double percent);
    /// Absent = every layer.
    std::optional<int> scope() const;

    NeuronThreshold* m_threshold;
    QLabel* m_label;
    QDoubleSpinBox* m_percent;
    QSlider* m_slider;
    QComboBox* m_scope;
    QPushButton* m_cut;
    QLabel* m_text;
};

} // namespace secateur
