#include "widgets/weights/weights_view.h"

#include "widgets/plot/figure_widget.h"
#include "widgets/results/passed_focus.h"
#include "widgets/weights/circuits_page.h"
#include "widgets/weights/neuron_norms_page.h"

#include <QButtonGroup>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QMenu>
#include <QStackedWidget>
#include <QToolButton>

namespace secateur {

WeightsView::WeightsView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_showCircuits(addPage(tr("C&ircuits of the head"), tr("The query-key and the output-value circuit of the active "
                                                             "head")))
    , m_showNeurons(
          addPage(tr("&Neurons of the layer"), tr("The norms of the directions that the neurons of the active "
                                                  "layer read and write")))
    , m_pages(new QStackedWidget)
    , m_circuits(new CircuitsPage(document, jobs, selection))
    , m_neurons(new NeuronNormsPage(document, jobs, selection))
    , m_actions(new FigureActions(this, [this] { return currentFigure(); })) {
    auto* buttons = new QButtonGroup(this);
    buttons->addButton(m_showCircuits);
    buttons->addButton(m_showNeurons);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(8, 6, 8, 6);
    row->setSpacing(4);
    row->addWidget(m_showCircuits);
    row->addWidget(m_showNeurons);
    row->addStretch();
    m_pages->addWidget(m_circuits);
    m_pages->addWidget(m_neurons);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(row);
    column->addWidget(m_pages, 1);
    m_showCircuits->setChecked(true);
    connect(m_showNeurons, &QToolButton::toggled, this, &WeightsView::showNeurons);
    connect(m_circuits, &CircuitsPage::hoverText, this, &WeightsView::hoverText);
    connect(m_circuits, &CircuitsPage::shown, this, &WeightsView::enableActions);
    connect(m_neurons, &NeuronNormsPage::hoverText, this, &WeightsView::hoverText);
    connect(m_neurons, &NeuronNormsPage::unitWanted, this, &WeightsView::unitWanted);
    connect(m_neurons, &NeuronNormsPage::shown, this, &WeightsView::enableActions);
    connect(m_actions, &FigureActions::failed, this, &WeightsView::failed);
    new PassedFocus(this, [this] { return showsNeurons() ? m_neurons->picture() : m_circuits->picture(); });
    enableActions();
}

QToolButton* WeightsView::addPage(const QString& text, const QString& help) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(help);
    button->setCheckable(true);
    button->setAutoRaise(true);
    return button;
}

void WeightsView::showNeurons(bool neurons) {
    (neurons ? m_showNeurons : m_showCircuits)->setChecked(true);
    m_pages->setCurrentIndex(neurons ? 1 : 0);
    enableActions();
}

bool WeightsView::showsNeurons() const {
    return m_pages->currentIndex() == 1;
}

void WeightsView::enableActions() {
    m_actions->setEnabled(showsNeurons() ? !m_neurons->currentFigure().series.empty() : m_circuits->hasPicture());
}

Figure WeightsView::currentFigure() const {
    return showsNeurons() ? m_neurons->currentFigure() : m_circuits->currentFigure();
}

void WeightsView::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

} // namespace secateur
