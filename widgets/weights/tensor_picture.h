#pragma once

#include "analysis/figures/figure.h"
#include "analysis/session/command_line.h"
#include "widgets/weights/tensor_source.h"
#include "widgets/weights/unit_edges.h"

#include <QWidget>

#include <optional>
#include <vector>

class QComboBox;
class QTimer;

namespace secateur {

class ColourControls;
class Document;
class ElidedLabel;
class FigureActions;
class JobRunner;
class MatrixMap;
class Selection;
class StillLabel;
class TileRun;

/// The picture of one tensor with its controls, the marks of heads, KV groups and neurons, and the number of the cell
/// under the pointer.
class TensorPicture : public QWidget {
    Q_OBJECT

public:
    /// @param source outlives this object
    TensorPicture(Document* document, JobRunner* jobs, Selection* selection, TensorSource* source,
                  QWidget* parent = nullptr);

    /// Shows a tensor of the source.
    void showTensor(std::size_t tensor);
    /// Shows a sentence in the place of a tensor.
    void say(const QString& sentence);
    /// The source has another compared checkpoint. @param shown what to show now
    void followComparison(TensorShown shown);
    std::optional<std::size_t> tensor() const { return m_tensor; }
    TensorShown shown() const;
    void choose(TensorShown shown);
    MatrixMap* map() const { return m_map; }
    TileRun* tiles() const { return m_tiles; }
    /// The part on screen, as a figure; without cells if there is none.
    Figure currentFigure() const;
    QString readout() const;

signals:
    /// Another tensor, or something else of it, is shown.
    void shownChanged();
    /// The user wants to see a head or a neuron in its view.
    void unitWanted(const secateur::MarkedUnit& unit);
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void connectAll();
    void refillChoices(TensorShown wanted);
    void restart();
    void remake();
    void mark();
    void clickMark(int edge, std::size_t index, Qt::KeyboardModifiers modifiers);
    void offerColours();
    void updateReadout();
    QString numberText(std::int64_t row, std::int64_t column) const;
    std::optional<MarkedUnit> unitOf(std::int64_t row, std::int64_t column) const;
    std::vector<UnitMarks> marks() const;
    CommandLine command() const;

    Document* m_document;
    Selection* m_selection;
    TensorSource* m_source;
    ElidedLabel* m_title;
    QComboBox* m_shown;
    QComboBox* m_value;
    ColourControls* m_colours;
    MatrixMap* m_map;
    TileRun* m_tiles;
    StillLabel* m_readout;
    FigureActions* m_actions;
    QTimer* m_rest; ///< until the pointer rests
    std::optional<std::size_t> m_tensor;
    std::optional<MarkedUnit> m_chosen; ///< a neuron or KV group that was clicked
    UnitEdge m_rows;
    UnitEdge m_columns;
};

} // namespace secateur
