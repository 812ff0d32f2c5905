#pragma once

#include "analysis/figures/figure.h"
#include "widgets/weights/circuit_run.h"

#include <QWidget>

#include <string>

class QCheckBox;
class QComboBox;
class QLabel;
class QScrollArea;

namespace secateur {

class CircuitBox;
class CircuitSheet;
class ColourControls;
class Document;
class FigureWidget;
class Selection;

/// The query-key and the output-value circuit of the active head, with their singular values and the shares of the
/// rotary pairs; thumbnails of the layer's heads and of other selected heads beside them.
class CircuitsPage : public QWidget {
    Q_OBJECT

public:
    CircuitsPage(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    CircuitRun* run() const { return m_run; }
    CircuitBox* queryKey() const { return m_queryKey; }
    CircuitBox* outputValue() const { return m_outputValue; }
    CircuitSheet* sheet() const { return m_sheet; }
    /// The singular values and the rotary shares on screen.
    const Figure& curves() const { return m_curvesFigure; }
    const Figure& shares() const { return m_sharesFigure; }
    /// Both maps side by side; without parts if there are none.
    Figure currentFigure() const;
    /// Whether there is a map of any circuit.
    bool hasPicture() const;
    QWidget* picture() const;
    /// Computes what the active head needs. Called when the page is shown and when another head is active.
    void follow();

signals:
    void hoverText(const QString& text);
    void shown();

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void build();
    void connectAll();
    void restart();
    void followMask();
    void showCircuits();
    void showCurves();
    void listHeads();
    void applyOptions();
    HeadId head() const;
    QString reason() const;
    std::string figureText() const;

    Document* m_document;
    Selection* m_selection;
    CircuitRun* m_run;
    QLabel* m_title;
    QComboBox* m_value;
    ColourControls* m_colours;
    QCheckBox* m_foldNorm;
    QCheckBox* m_augmented;
    QCheckBox* m_normedHeads;
    CircuitBox* m_queryKey;
    CircuitBox* m_outputValue;
    FigureWidget* m_curves;
    FigureWidget* m_shares;
    Figure m_curvesFigure;
    Figure m_sharesFigure;
    CircuitSheet* m_sheet;
    QScrollArea* m_sheetArea;
};

} // namespace secateur
