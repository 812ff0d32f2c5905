#include "analysis/base/text.h"
#include "widgets/attention/attention_view.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/heads/heads_view.h"
#include "widgets/layers/layers_view.h"
#include "widgets/neurons/neurons_view.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/metric_names.h"
#include "widgets/scatter/scatter_view.h"
#include "widgets/window/fuzzy.h"
#include "widgets/window/head_search.h"
#include "widgets/window/main_window.h"

#include <QDockWidget>
#include <QTabWidget>

#include <algorithm>

namespace secateur {

namespace {

/// Metrics that have the letters in their id or title, best first; those that are measured before the others.
std::vector<KnownResult> metricsFor(const QString& typed, const Document& document) {
    std::vector<std::pair<int, KnownResult>> found; // what sorts first
    for (const KnownResult& known : knownResults(document)) {
        const auto byId = fuzzyScore(typed, known.key);
        const auto byTitle = fuzzyScore(typed, metricTitle(known.request));
        const bool isMeasured = document.measurements()->result(known.key.toStdString());
        if (byId || byTitle)
            found.emplace_back(-2 * std::max(byId.value_or(0), byTitle.value_or(0)) - (isMeasured ? 1 : 0), known);
    }
    std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
    std::vector<KnownResult> metrics;
    for (auto& [score, known] : found)
        metrics.push_back(std::move(known));
    return metrics;
}

} // namespace

void MainWindow::openFinder() {
    m_palette->open([this](const QString& typed) { return findable(typed); },
                    tr("Find a head (12.3), a layer (12) or a metric…"));
}

std::vector<Command> MainWindow::findable(const QString& typed) {
    std::vector<Command> found;
    if (!m_document->isOpen())
        return found;
    for (const auto& place : placesFor(typed, m_document->spec(), CommandPalette::mostShown))
        if (const HeadId* head = std::get_if<HeadId>(&place))
            found.push_back({QString::fromStdString(headName(head->layer, head->head)), tr("head"),
                             [this, head = *head] { showHead(head); }});
        else
            found.push_back({QString("L%1").arg(std::get<LayerPlace>(place).layer), tr("layer"),
                             [this, layer = std::get<LayerPlace>(place).layer] { showLayer(layer); }});
    for (const KnownResult& metric : metricsFor(typed, *m_document))
        found.push_back({metric.key, metric.title, [this, key = metric.key] { showMetric(key); }});
    return found;
}

/// In the picture that is shown, if it shows heads.
void MainWindow::showHead(HeadId head) {
    if (m_tabs->currentWidget() != m_attention && m_tabs->currentWidget() != m_scatter)
        m_tabs->setCurrentWidget(m_heads);
    m_selection->select({head}, Selection::Mode::replace, head);
    m_heads->grid()->reveal(head);
    m_tabs->currentWidget()->setFocus();
}

void MainWindow::showLayer(int layer) {
    std::set<HeadId> heads;
    for (int head = 0; head < m_document->spec().layers[static_cast<std::size_t>(layer)].heads; ++head)
        heads.insert({layer, head});
    m_selection->select(heads, Selection::Mode::replace, heads.empty() ? std::optional<HeadId>() : HeadId{layer, 0});
    if (m_tabs->currentWidget() == m_neurons)
        m_neurons->openLayer(layer);
    else if (heads.empty())
        m_tabs->setCurrentWidget(m_layers);
    m_heads->grid()->reveal({layer, 0});
    m_tabs->currentWidget()->setFocus();
}

/// In the picture that is shown, if it can show it; one that is not measured, where it can be.
void MainWindow::showMetric(const QString& resultId) {
    const MetricResult* result = m_document->measurements()->result(resultId.toStdString());
    if (!result) {
        m_metrics->follow(resultId);
        m_metricsDock->show();
        m_metricsDock->raise();
        return;
    }
    const MetricInfo& info = *result->request.info;
    if (m_tabs->currentWidget() != m_layers || info.scope == Scope::neuron || !info.classes.empty()) {
        showResult(resultId);
        return;
    }
    QStringList chosen = m_layers->chosenMetrics();
    if (!chosen.contains(resultId))
        m_layers->chooseMetrics(chosen << resultId);
}

} // namespace secateur
