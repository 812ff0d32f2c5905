#include "widgets/layer_neurons.h"

#include "analysis/statistics.h"
#include "analysis/text.h"
#include "widgets/figure_actions.h"
#include "widgets/figure_widget.h"
#include "widgets/neuron_table.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QTableView>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

LayerNeurons::LayerNeurons(QWidget* parent)
    : QWidget(parent)
    , m_title(new QLabel)
    , m_histogram(new FigureWidget)
    , m_table(new NeuronTable(this))
    , m_rows(new QTableView)
    , m_actions(new FigureActions(this, [this] { return m_figure; })) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setAutoRaise(true);
    close->setAccessibleName(tr("Close the layer's neurons"));
    close->setToolTip(tr("Close (Esc)"));
    connect(close, &QToolButton::clicked, this, &LayerNeurons::closeWanted);
    m_histogram->setAccessibleName(tr("Histogram of the layer's neurons"));
    m_rows->setModel(m_table);
    m_rows->setAccessibleName(tr("Neurons of the layer"));
    m_rows->setFrameShape(QFrame::NoFrame);
    m_rows->setShowGrid(false);
    m_rows->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_rows->setTabKeyNavigation(false);
    m_rows->setWordWrap(false);
    m_rows->verticalHeader()->hide();
    m_rows->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_rows->verticalHeader()->setDefaultSectionSize(fontMetrics().height() * 4 / 3);
    m_rows->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    m_rows->horizontalHeader()->setHighlightSections(false);
    m_rows->setSortingEnabled(true);
    m_rows->setMinimumWidth(fontMetrics().averageCharWidth() * 34);
    m_rows->setMaximumWidth(fontMetrics().averageCharWidth() * 52);

    auto* head = new QHBoxLayout;
    head->setContentsMargins(8, 4, 4, 0);
    head->addWidget(m_title, 1);
    head->addWidget(close);
    auto* body = new QHBoxLayout;
    body->addWidget(m_histogram, 3);
    body->addWidget(m_rows, 2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addLayout(head);
    column->addLayout(body, 1);
}

void LayerNeurons::showLayer(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic) {
    const MetricInfo& info = *result.request.info;
    const auto row = static_cast<std::size_t>(layer);
    const auto values = result.values.row(row).first(cellsInLayer(info.scope, model.spec.layers[row]));
    const auto measured =
        static_cast<std::uint64_t>(std::ranges::count_if(values, [](double v) { return std::isfinite(v); }));
    m_title->setText(values.empty()  ? tr("Layer %1 has no MLP").arg(layer)
                     : measured == 0 ? tr("Layer %1 has no values yet").arg(layer)
                                     : tr("Layer %1 · %2 neurons · median %3")
                                           .arg(layer)
                                           .arg(QString::fromStdString(grouped(values.size())),
                                                QString::fromStdString(significant(percentile(values, 50)))));
    m_figure = neuronHistogram(model, result, layer, logarithmic);
    m_figure.command = "secateur-cli plot " + model.path +
                       " --figure neurons:metric=" + fileForm(result.request.resultId()) +
                       ":layer=" + std::to_string(layer) + ":log=" + (logarithmic ? "true" : "false");
    m_actions->setEnabled(measured > 0);
    Figure untitled = m_figure; // the line above says it
    untitled.title.clear();
    m_histogram->setFigure(untitled);
    if (const std::string id = result.request.resultId(); id != m_resultId) {
        m_resultId = id;
        const bool lowFirst = info.pruneFirst != PruneFirst::high;
        m_rows->sortByColumn(NeuronTable::valueColumn, lowFirst ? Qt::AscendingOrder : Qt::DescendingOrder);
    }
    m_table->setValues(values, QString::fromStdString(m_figure.x.label));
    if (std::exchange(m_layer, layer) != layer)
        m_rows->scrollToTop();
}

void LayerNeurons::copyValues() const {
    QStringList lines{"layer,neuron," + QString::fromStdString(m_resultId)};
    QString single;
    QModelIndexList rows = m_rows->selectionModel()->selectedRows();
    std::ranges::sort(rows, {}, &QModelIndex::row);
    for (const QModelIndex& row : rows) {
        single = QString::fromStdString(exactly(m_table->valueAt(row.row())));
        lines << QString("%1,%2,%3").arg(m_layer).arg(m_table->neuron(row.row())).arg(single);
    }
    if (!rows.empty())
        QApplication::clipboard()->setText(rows.size() == 1 ? single : lines.join("\r\n") + "\r\n");
}

void LayerNeurons::selectAll() {
    m_rows->selectAll();
}

bool LayerNeurons::hasRowsInFocus() const {
    return m_rows->hasFocus();
}

void LayerNeurons::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    QAction* values = menu.addAction(tr("Copy selected &values"), this, &LayerNeurons::copyValues);
    values->setEnabled(m_rows->selectionModel()->hasSelection());
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

void LayerNeurons::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape)
        emit closeWanted();
    else
        QWidget::keyPressEvent(event);
}

} // namespace secateur
