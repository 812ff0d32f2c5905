#include "widgets/results/selection_inspector.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/session/result_key.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/results/metric_names.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QTimer>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <optional>

namespace secateur {

namespace {

/// The cell of a head in a metric with this scope; empty for metrics of neurons.
std::optional<MetricCell> cellOf(Scope scope, const ModelSpec& spec, HeadId head) {
    const auto row = static_cast<std::size_t>(head.layer);
    switch (scope) {
    case Scope::layer:
        return MetricCell{row, 0};
    case Scope::head:
        return MetricCell{row, static_cast<std::size_t>(head.head)};
    case Scope::kvGroup:
        return MetricCell{row, static_cast<std::size_t>(spec.layers[row].kvGroup(head.head))};
    case Scope::neuron:
        return {};
    }
    return {};
}

QString fullNumber(double value, double error = 0) {
    return QString::fromStdString(exactlyWithError(value, error));
}

QString shortNumber(double value, double error = 0) {
    return QString::fromStdString(shownWithError(value, error));
}

} // namespace

SelectionInspector::SelectionInspector(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_title(new QLabel)
    , m_hint(new QLabel)
    , m_table(new QTreeWidget)
    , m_refresh(new QTimer(this)) {
    build();
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(0);
    connect(m_refresh, &QTimer::timeout, this, &SelectionInspector::refresh);
    const auto later = [this] { m_refresh->start(); };
    connect(selection, &Selection::changed, this, later);
    connect(selection, &Selection::hoverChanged, this, [this, later] {
        if (m_selection->heads().empty())
            later();
    });
    connect(document, &Document::opened, this, [this, later] {
        m_standings.clear();
        later();
    });
    connect(document->measurements(), &Measurements::resultChanged, this, [this, later](const QString& id) {
        std::erase_if(m_standings, [&](const auto& standing) {
            return parseResultKey(standing.first).resultId == id.toStdString();
        });
        later();
    });
    refresh();
}

void SelectionInspector::build() {
    QFont bold = font();
    bold.setBold(true);
    m_title->setFont(bold);
    m_title->setContentsMargins(8, 6, 8, 2);
    m_title->setAccessibleName(tr("Selected cells"));
    m_hint->setContentsMargins(8, 0, 8, 0);
    m_hint->setWordWrap(true);
    m_hint->setForegroundRole(QPalette::PlaceholderText);
    m_table->setAccessibleName(tr("Values of the selected cells"));
    m_table->setWhatsThis(
        tr("Every measured metric of the selected cells. While nothing is selected, those of the cell "
           "under the pointer."));
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->viewport()->setAutoFillBackground(false); // shows the background of the panel
    m_table->setRootIsDecorated(false);
    m_table->setSelectionMode(QAbstractItemView::NoSelection);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setColumnCount(2);
    m_table->setHeaderHidden(true);
    m_table->setItemsExpandable(false);
    m_table->setIndentation(m_table->fontMetrics().averageCharWidth());
    m_table->header()->setStretchLastSection(false);
    m_table->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_table->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addWidget(m_title);
    column->addWidget(m_hint);
    column->addWidget(m_table, 1);
    column->addStretch();
}

void SelectionInspector::refresh() {
    m_table->clear();
    const std::set<HeadId> heads = shown();
    m_hint->setVisible(heads.empty());
    m_table->setVisible(!heads.empty());
    if (heads.empty()) {
        m_title->setText(tr("Nothing is selected."));
        m_hint->setText(m_document->isOpen() ? tr("Click a cell, drag over several, or move with the arrow keys.")
                                             : QString());
        return;
    }
    heads.size() == 1 ? showOne(*heads.begin()) : showMany(heads);
    m_table->expandAll();
}

/// The selected heads, or the hovered heads if none is selected.
std::set<HeadId> SelectionInspector::shown() const {
    if (!m_selection->heads().empty() || !m_document->isOpen())
        return m_selection->heads();
    const std::optional<int> layer = m_selection->hoveredLayer();
    if (!layer || *layer >= m_document->spec().layerCount())
        return {};
    if (const std::optional<HeadId> head = m_selection->hovered())
        return {*head};
    std::set<HeadId> heads;
    for (int head = 0; head < m_document->spec().layers[static_cast<std::size_t>(*layer)].heads; ++head)
        heads.insert({*layer, head});
    return heads;
}

void SelectionInspector::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        m_refresh->start(); // muted lines store a colour of the old theme
}

void SelectionInspector::showOne(HeadId head) {
    const ModelSpec& spec = m_document->spec();
    const LayerSpec& layer = spec.layers[static_cast<std::size_t>(head.layer)];
    QString title = QString::fromStdString(headName(head.layer, head.head));
    if (layer.kvHeads > 0 && layer.kvHeads < layer.heads)
        title += tr("  (KV group %1)").arg(layer.kvGroup(head.head));
    m_title->setText(title);
    for (const std::string& id : allKeys()) {
        const MetricResult* result = m_document->measurements()->result(id);
        const auto cell = result ? cellOf(result->request.info->scope, spec, head) : std::nullopt;
        if (!cell)
            continue;
        const double value = result->values(cell->row, cell->column);
        if (const QStringList classes = classNames(*result->request.info); !classes.isEmpty()) {
            const QString named = classes.value(static_cast<qsizetype>(std::isnan(value) ? -1 : value), tr("no value"));
            addRow(id, {named, named}, featuresAt(*result, cell->row, cell->column));
            continue;
        }
        const double error = result->errorAt(cell->row, cell->column);
        addRow(id, {shortNumber(value, error), fullNumber(value, error)},
               placeOf(id, *result, cell->row, cell->column));
    }
}

SelectionInspector::Words SelectionInspector::featuresAt(const MetricResult& result, std::size_t row,
                                                         std::size_t column) {
    const auto brief = [](double value) { return shownNumber(value, 2); };
    return {featuresOf(result, row, column, brief).join(", "), featuresOf(result, row, column, exactly).join('\n')};
}

/// Adds a row with the number of cells in each class.
void SelectionInspector::addClasses(const std::string& resultId, const MetricResult& result,
                                    const std::set<MetricCell>& cells) {
    const QStringList names = classNames(*result.request.info);
    std::vector<int> counts(static_cast<std::size_t>(names.size()), 0);
    for (const MetricCell& cell : cells)
        if (const double value = result.values(cell.row, cell.column); value >= 0)
            ++counts.at(static_cast<std::size_t>(value));
    QStringList parts;
    for (qsizetype i = 0; i < names.size(); ++i)
        if (const int count = counts[static_cast<std::size_t>(i)]; count > 0)
            parts << QString("%1 %2").arg(count).arg(names[i]);
    const auto most = std::ranges::max_element(counts) - counts.begin();
    addRow(resultId, {parts.isEmpty() ? tr("no value") : tr("mostly %1").arg(names[most]), {}},
           {parts.join(" · "), parts.join('\n')});
}

/// The latest measurement of each metric, followed by its earlier ones.
std::vector<std::string> SelectionInspector::allKeys() const {
    std::vector<std::string> keys;
    for (const std::string& id : m_document->measurements()->resultIds()) {
        keys.push_back(id);
        for (std::string& other : m_document->measurements()->otherKeys(id))
            keys.push_back(std::move(other));
    }
    return keys;
}

SelectionInspector::Words SelectionInspector::placeOf(const std::string& resultId, const MetricResult& result,
                                                      std::size_t row, std::size_t column) {
    const Standing& standing = standingOf(resultId, result);
    const std::size_t at = row * result.values.columns() + column;
    const int rank = standing.ranks[at];
    Words place{tr("no value"), tr("Rank among all cells of the model; 1 is pruned first")};
    if (rank == 0)
        return place;
    const auto count = std::ranges::count_if(standing.ranks, [](int r) { return r > 0; });
    place.text = (standing.certain[at] ? tr("rank %1 of %2") : tr("rank ≈%1 of %2")).arg(rank).arg(count);
    if (!standing.certain[at])
        place.tip += tr("\nNot yet separated from other values: some are estimates");
    const bool isEstimate = result.errorAt(row, column) > 0;
    if (isEstimate)
        place.text = tr("estimate · %1").arg(place.text);
    const double percent = percentBelow(result.values.row(row), result.values(row, column));
    if (std::isnan(percent))
        return place;
    if (!isEstimate) // the column has no room for both
        place.text += tr(" · layer p%1").arg(std::lround(percent));
    place.tip += tr("\n%1 % of the layer's other cells lie below").arg(std::lround(percent));
    return place;
}

void SelectionInspector::showMany(const std::set<HeadId>& heads) {
    const ModelSpec& spec = m_document->spec();
    m_title->setText(m_selection->heads().empty() ? tr("L%1, %2 heads").arg(heads.begin()->layer).arg(heads.size())
                                                  : tr("%1 heads selected").arg(heads.size()));
    for (const std::string& id : allKeys()) {
        const MetricResult* result = m_document->measurements()->result(id);
        std::set<MetricCell> cells; // heads of the same layer or KV group share one cell
        for (const HeadId& head : heads)
            if (const auto cell = result ? cellOf(result->request.info->scope, spec, head) : std::nullopt)
                cells.insert(*cell);
        if (cells.empty())
            continue;
        if (!result->request.info->classes.empty()) {
            addClasses(id, *result, cells);
            continue;
        }
        std::vector<double> values;
        std::size_t estimates = 0;
        double error = 0;
        for (const MetricCell& cell : cells) {
            values.push_back(result->values(cell.row, cell.column));
            error = result->errorAt(cell.row, cell.column);
            estimates += error > 0 ? 1 : 0;
        }
        const auto [least, greatest] = finiteRange(values);
        const double mean = finiteMean(values);
        if (values.size() == 1) { // all heads are in one layer or KV group, which has one value
            addRow(id, {shortNumber(mean, error), fullNumber(mean, error)},
                   {error > 0 ? tr("one estimate for all of them") : tr("one value for all of them"), {}});
            continue;
        }
        const QString range =
            tr("%1 values from %2 to %3") + (estimates > 0 ? tr(", %1 estimated").arg(estimates) : "");
        addRow(id, {tr("mean %1").arg(shortNumber(mean)), fullNumber(mean)},
               {range.arg(values.size()).arg(shortNumber(least), shortNumber(greatest)),
                range.arg(values.size()).arg(fullNumber(least), fullNumber(greatest))});
    }
}

void SelectionInspector::addRow(const std::string& resultId, const Words& value, const Words& place) {
    const std::string label = m_document->measurements()->label(resultId);
    const ResultKey key = parseResultKey(resultId);
    const MetricResult* result = m_document->measurements()->result(resultId);
    const QString title = result ? metricTitle(result->request) : QString::fromStdString(key.resultId);
    auto* item = new QTreeWidgetItem(m_table, {key.key.empty() ? title : QString::fromStdString("· " + label),
                                               value.text}); // other measurements stand below the latest
    item->setToolTip(0, QString::fromStdString(label.empty() ? resultId : key.resultId + " · " + label));
    item->setToolTip(1, value.tip);
    item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    item->setSizeHint(0, {0, m_table->fontMetrics().height() * 3 / 2});
    auto* below = new QTreeWidgetItem(item, {place.text});
    below->setToolTip(0, place.tip);
    below->setForeground(0, palette().brush(QPalette::PlaceholderText));
    below->setFirstColumnSpanned(true);
}

const SelectionInspector::Standing& SelectionInspector::standingOf(const std::string& resultId,
                                                                   const MetricResult& result) {
    const auto known = m_standings.find(resultId);
    if (known != m_standings.end())
        return known->second;
    const std::span<const double> values = result.values.values();
    Standing standing{ranks(values, result.request.info->pruneFirst != PruneFirst::high),
                      std::vector<bool>(values.size(), true)};
    if (result.standardError) {
        standing.certain = notSeparated(values, result.standardError->values());
        standing.certain.flip();
    }
    return m_standings[resultId] = std::move(standing);
}

} // namespace secateur
