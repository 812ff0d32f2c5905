#include "widgets/neurons/layer_neurons.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"
#include "widgets/neurons/neuron_threshold.h"
#include "widgets/neurons/neuron_values.h"
#include "widgets/plot/figure_widget.h"

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

LayerNeurons::LayerNeurons(MaskEditor* masks, NeuronThreshold* threshold, QWidget* parent)
    : QWidget(parent)
    , m_masks(masks)
    , m_threshold(threshold)
    , m_title(new QLabel)
    , m_histogram(new NeuronHistogram)
    , m_table(new NeuronTable(this))
    , m_rows(new QTableView)
    , m_actions(new FigureActions(this, [this] { return m_figure; })) {
    build();
    connectAll();
}

void LayerNeurons::build() {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setAutoRaise(true);
    close->setAccessibleName(tr("Close the layer's neurons"));
    close->setToolTip(tr("Close (Esc)"));
    connect(close, &QToolButton::clicked, this, &LayerNeurons::closeWanted);
    m_title->setTextFormat(Qt::PlainText);
    m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_rows->setModel(m_table);
    m_rows->setItemDelegate(new NeuronDelegate(m_rows));
    m_rows->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_rows->installEventFilter(this);
    m_rows->setAccessibleName(tr("Neurons of the layer"));
    m_rows->setWhatsThis(
        tr("The neurons of this layer. Space cuts the selected neurons or restores them. A click on a title "
           "sorts the list."));
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

void LayerNeurons::connectAll() {
    connect(m_masks, &MaskEditor::maskChanged, this, &LayerNeurons::followMask);
    connect(m_masks, &MaskEditor::previewChanged, this, &LayerNeurons::followMask);
    connect(m_threshold, &NeuronThreshold::changed, this, &LayerNeurons::followThreshold);
    connect(m_rows->selectionModel(), &QItemSelectionModel::selectionChanged, this, &LayerNeurons::followSelection);
    connect(m_histogram, &NeuronHistogram::dragged, this,
            [this](double bound) { m_threshold->previewBound(m_layer, bound); });
    connect(m_histogram, &NeuronHistogram::released, m_threshold, &NeuronThreshold::apply);
    connect(m_histogram, &NeuronHistogram::enterPressed, m_threshold, &NeuronThreshold::apply);
    connect(m_histogram, &NeuronHistogram::stepped, this, &LayerNeurons::stepped);
    connect(m_histogram, &NeuronHistogram::cancelled, this, &LayerNeurons::escape);
}

void LayerNeurons::followMask() {
    if (!isVisible() || m_layer < 0 || m_layer >= m_masks->mask().layerCount())
        return;
    const std::vector<NeuronState> states = neuronStates(*m_masks, m_layer);
    m_table->setStates(states);
    m_histogram->setStates(states);
    updateTitle();
}

void LayerNeurons::followThreshold() {
    if (isVisible() && m_layer >= 0 && m_layer < m_masks->mask().layerCount())
        m_histogram->setThreshold(m_threshold->bound(m_layer), m_threshold->end());
}

void LayerNeurons::followSelection() {
    std::vector<double> values;
    for (const int row : selectedRows())
        values.push_back(m_table->valueAt(row));
    m_histogram->setSelected(values);
    updateTitle();
}

void LayerNeurons::updateTitle() {
    QStringList parts{m_summary};
    if (m_layer >= 0 && m_layer < m_masks->mask().layerCount()) {
        const LayerMask& layer = m_masks->mask().layer(m_layer);
        const auto cut = static_cast<std::uint64_t>(std::count(layer.neurons.begin(), layer.neurons.end(), false));
        if (!layer.block || !layer.mlp)
            parts << (layer.block ? tr("MLP dropped") : tr("block dropped"));
        else if (cut > 0)
            parts << tr("%1 cut").arg(QString::fromStdString(grouped(cut)));
    }
    if (const std::size_t count = selected().size(); count > 0)
        parts << tr("%1 selected").arg(QString::fromStdString(grouped(count)));
    m_title->setText(parts.join(" · "));
}

QString LayerNeurons::title() const {
    return m_title->text();
}

std::vector<int> LayerNeurons::selectedRows() const {
    std::vector<int> rows;
    for (const QItemSelectionRange& range : m_rows->selectionModel()->selection())
        for (int row = range.top(); row <= range.bottom(); ++row)
            rows.push_back(row);
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end()); // a row occurs twice if ranges cover single columns
    return rows;
}

std::vector<int> LayerNeurons::selected() const {
    std::vector<int> neurons = selectedRows();
    std::ranges::transform(neurons, neurons.begin(), [this](int row) { return m_table->neuron(row); });
    return neurons;
}

bool LayerNeurons::wouldCut(const std::vector<int>& neurons) const {
    const LayerMask& layer = m_masks->mask().layer(m_layer);
    const bool isGone = !layer.block || !layer.mlp;
    return !isGone && std::ranges::any_of(neurons, [&](int neuron) {
        return static_cast<bool>(layer.neurons[static_cast<std::size_t>(neuron)]);
    });
}

void LayerNeurons::cutOrRestore() {
    if (const std::vector<int> neurons = selected(); !neurons.empty())
        m_masks->setNeuronsCut(m_layer, neurons, wouldCut(neurons));
}

void LayerNeurons::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    followMask();
    followThreshold();
}

void LayerNeurons::showLayer(const ModelCard& model, const MetricResult& result, int layer, bool logarithmic,
                             const std::string& command) {
    const MetricInfo& info = *result.request.info;
    const auto row = static_cast<std::size_t>(layer);
    const auto values = result.values.row(row).first(cellsInLayer(info.scope, model.spec.layers[row]));
    const auto measured =
        static_cast<std::uint64_t>(std::ranges::count_if(values, [](double v) { return std::isfinite(v); }));
    m_summary = values.empty()  ? tr("Layer %1 has no MLP").arg(layer)
                : measured == 0 ? tr("Layer %1 has no values yet").arg(layer)
                                : tr("Layer %1 · %2 neurons · median %3")
                                      .arg(layer)
                                      .arg(QString::fromStdString(grouped(values.size())),
                                           QString::fromStdString(shownNumber(percentile(values, 50))));
    m_figure = neuronHistogram(model, result, layer, logarithmic);
    m_figure.command = command;
    m_actions->setEnabled(measured > 0);
    Figure untitled = m_figure; // the line above the histogram shows the title
    untitled.title.clear();
    m_histogram->setValues(untitled, values);
    if (const std::string id = result.request.resultId(); id != m_resultId) {
        m_resultId = id;
        const bool lowFirst = info.pruneFirst != PruneFirst::high;
        m_rows->sortByColumn(NeuronTable::valueColumn, lowFirst ? Qt::AscendingOrder : Qt::DescendingOrder);
    }
    const bool isSameLayer = std::exchange(m_layer, layer) == layer;
    m_table->setValues(values, QString::fromStdString(m_figure.x.label), isSameLayer);
    if (!isSameLayer)
        m_rows->scrollToTop();
    followMask();
    followThreshold();
    selectWanted();
    followSelection();
}

void LayerNeurons::copyValues() const {
    QStringList lines{"layer,neuron," + QString::fromStdString(m_resultId)};
    QString single;
    const std::vector<int> rows = selectedRows();
    for (const int row : rows) {
        single = QString::fromStdString(exactly(m_table->valueAt(row)));
        lines << QString("%1,%2,%3").arg(m_layer).arg(m_table->neuron(row)).arg(single);
    }
    if (!rows.empty())
        QApplication::clipboard()->setText(rows.size() == 1 ? single : lines.join("\r\n") + "\r\n");
}

void LayerNeurons::selectAll() {
    m_rows->selectAll();
}

void LayerNeurons::selectNeuron(int layer, int neuron) {
    m_wanted = {layer, neuron};
    selectWanted();
}

void LayerNeurons::selectWanted() {
    if (!m_wanted || m_wanted->first != m_layer)
        return;
    const int neuron = std::exchange(m_wanted, std::nullopt)->second;
    for (int row = 0; row < m_table->rowCount(); ++row)
        if (m_table->neuron(row) == neuron) {
            m_rows->selectRow(row);
            m_rows->scrollTo(m_table->index(row, 0), QAbstractItemView::PositionAtCenter);
        }
}

bool LayerNeurons::hasRowsInFocus() const {
    return m_rows->hasFocus();
}

void LayerNeurons::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    const std::vector<int> neurons = selected();
    if (!neurons.empty()) {
        const QString count = countText(neurons.size(), "neuron");
        menu.addAction((wouldCut(neurons) ? tr("C&ut %1") : tr("&Restore %1")).arg(count), this,
                       &LayerNeurons::cutOrRestore);
        menu.addSeparator();
    }
    QAction* values = menu.addAction(tr("Copy selected &values"), this, &LayerNeurons::copyValues);
    values->setEnabled(!neurons.empty());
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

/// Handles keys before the table does, because the table uses some of these keys itself.
bool LayerNeurons::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_rows && event->type() == QEvent::KeyPress && runTableKey(static_cast<QKeyEvent*>(event)))
        return true;
    return QWidget::eventFilter(watched, event);
}

bool LayerNeurons::runTableKey(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Delete)
        cutOrRestore();
    else if (event->matches(QKeySequence::Copy))
        copyValues();
    else if (event->key() == Qt::Key_Escape)
        escape();
    else
        return false;
    return true;
}

void LayerNeurons::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape)
        escape();
    else
        QWidget::keyPressEvent(event);
}

/// Removes the preview if there is one; otherwise clears the selection of rows; otherwise closes the layer.
void LayerNeurons::escape() {
    if (m_masks->preview()) {
        m_threshold->cancel();
    } else if (m_rows->selectionModel()->hasSelection()) {
        m_rows->clearSelection();
    } else {
        emit closeWanted();
    }
}

} // namespace secateur
