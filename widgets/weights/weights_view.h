#pragma once

#include "analysis/figures/figure.h"
#include "analysis/weights/unit_marks.h"

#include <QWidget>

class QStackedWidget;
class QToolButton;

namespace secateur {

class CircuitsPage;
class Document;
class FigureActions;
class JobRunner;
class NeuronNormsPage;
class Selection;

/// What the weights of the active head and its layer do to the residual stream: the head's circuits, or the norms of
/// the layer's neurons. Nothing is computed before the view is visible.
class WeightsView : public QWidget {
    Q_OBJECT

public:
    WeightsView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    CircuitsPage* circuits() const { return m_circuits; }
    NeuronNormsPage* neurons() const { return m_neurons; }
    /// The picture on screen, for copying and saving.
    Figure currentFigure() const;
    FigureActions* figureActions() const { return m_actions; }
    void showNeurons(bool neurons);
    bool showsNeurons() const;

signals:
    void hoverText(const QString& text);
    /// The user wants to see a head or a neuron in its view.
    void unitWanted(const secateur::MarkedUnit& unit);
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    QToolButton* addPage(const QString& text, const QString& help);
    void enableActions();

    QToolButton* m_showCircuits;
    QToolButton* m_showNeurons;
    QStackedWidget* m_pages;
    CircuitsPage* m_circuits;
    NeuronNormsPage* m_neurons;
    FigureActions* m_actions;
};

} // namespace secateur
