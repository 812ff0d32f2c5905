#pragma once

#include "widgets/layers/layer_marks.h"

#include <QWidget>

class QLabel;

namespace secateur {

/// One line under a picture over the layers: what its hatches and bars mean. Hidden while nothing is cut.
class LayerMarksLegend : public QWidget {
    Q_OBJECT

public:
    explicit LayerMarksLegend(QWidget* parent = nullptr);

    void setLayers(const std::vector<LayerMark>& layers);
    /// "no attention · neurons cut"
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
