#pragma once

#include "widgets/plot/plot_layer_marks.h"

#include <QString>
#include <QWidget>

#include <vector>

class QLabel;

namespace secateur {

class MaskEditor;

/// One mark for each layer of the current mask. @param attention whether cuts of attention are included
std::vector<LayerMark> layerMarks(const MaskEditor& masks, bool attention);

/// The cuts of a layer as text: "attention dropped · 120 of 1,536 neurons cut (7.8 %)". Empty if nothing is cut or
/// there is no such layer.
QString cutSummary(const PruningMask& mask, int index);

/// One line under a figure over the layers: the legend of its hatching and bars. Hidden while nothing is cut.
class LayerMarksLegend : public QWidget {
    Q_OBJECT

public:
    explicit LayerMarksLegend(QWidget* parent = nullptr);

    void setLayers(const std::vector<LayerMark>& layers);
    /// The entries that are shown, as text: "attention dropped · neurons cut".
    QString text() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Entry {
        QLabel* picture;
        QLabel* text;
    };
    void draw();

    std::vector<Entry> m_entries;
};

} // namespace secateur
