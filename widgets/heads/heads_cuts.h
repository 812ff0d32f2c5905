#pragma once

#include "widgets/plot/plot_cuts.h"

#include <QString>
#include <QWidget>

#include <vector>

class QLabel;

namespace secateur {

class MaskEditor;

/// The cuts of the current mask together with those of its preview or, without a preview, of the compared mask.
std::vector<LayerCuts> cutsOf(const MaskEditor& masks);

/// One line under a heat map of heads that compares two masks: the legend of their hatchings.
class HatchLegend : public QWidget {
    Q_OBJECT

public:
    explicit HatchLegend(QWidget* parent = nullptr);

    void setNames(const QString& here, const QString& there);

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Entry {
        Hatch hatch;
        QLabel* picture;
        QLabel* text;
    };
    Entry addEntry(Hatch hatch);
    void draw();

    Entry m_here;
    Entry m_there;
    Entry m_both;
};

} // namespace secateur
