#pragma once

#include "analysis/figures/figure.h"
#include "analysis/weights/head_circuit.h"
#include "widgets/plot/plot_cuts.h"
#include "widgets/weights/tile_makers.h"

#include <QWidget>

#include <memory>
#include <optional>

class QLabel;

namespace secateur {

class MatrixMap;

/// One circuit of a head: its numbers in a line, and its map.
class CircuitBox : public QWidget {
    Q_OBJECT

public:
    CircuitBox(CircuitKind kind, JobRunner* jobs, QWidget* parent = nullptr);

    /// Shows a circuit. @param value which number of a block is drawn @param hatch of a head that is cut
    void show(std::shared_ptr<const HeadCircuit> circuit, BlockValue value, Hatch hatch);
    /// Shows a sentence in the place of the map.
    void say(const QString& sentence);
    void setHatch(Hatch hatch);
    void setValue(BlockValue value);
    void setScale(const ColourScale& scale);
    const std::shared_ptr<const HeadCircuit>& circuit() const { return m_circuit; }
    MatrixMap* map() const { return m_map; }
    QString numbers() const;
    /// One line about the cell under the pointer; empty if there is none.
    QString readout() const;
    /// The map on screen as a figure; without cells if there is none. @param model its name
    Figure figure(const std::string& model) const;

signals:
    void cursorChanged();
    /// There is a map, or a sentence in its place.
    void shown();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    /// Leaves room that a square map does not need to the curves below.
    void limitHeight();

    CircuitKind m_kind;
    QLabel* m_title;
    MatrixMap* m_map;
    TileRun* m_tiles;
    std::shared_ptr<const HeadCircuit> m_circuit;
    std::shared_ptr<BlockPyramid> m_pyramid;
};

} // namespace secateur
