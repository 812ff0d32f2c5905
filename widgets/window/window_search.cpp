#include "widgets/window/window_search.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/metric_names.h"
#include "widgets/window/central_pages.h"
#include "widgets/window/file_actions.h"
#include "widgets/window/panels.h"
#include "widgets/window/view_tabs.h"

#include <QAction>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace secateur {

namespace {

/// Metrics whose id or title matches, best match first. Of equally good matches, measured ones come first.
std::vector<KnownResult> metricsFor(const QString& typed, const Document& document) {
    std::vector<std::pair<int, KnownResult>> found; // sort key and result
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

WindowSearch::WindowSearch(QWidget* window, Document* document, FileActions* files, ViewTabs* views, Panels* panels,
                           CentralPages* pages)
    : QObject(window)
    , m_document(document)
    , m_files(files)
    , m_views(views)
    , m_panels(panels)
    , m_pages(pages)
    , m_palette(new CommandPalette(window)) {}

void WindowSearch::openPalette(const QList<QAction*>& actions) {
    m_palette->open(commands(actions));
}

std::vector<Command> WindowSearch::commands(const QList<QAction*>& actions) const {
    std::vector<Command> commands;
    for (QAction* action : actions)
        if (action->isEnabled())
            commands.push_back({action->text().remove('&'), action->shortcut().toString(QKeySequence::NativeText),
                                [action] { action->trigger(); }});
    for (const FoundModel& model : m_pages->search()->models())
        commands.push_back({tr("Open %1").arg(QString::fromStdString(model.name)),
                            QString::fromStdString(shortBytes(static_cast<double>(model.bytes))),
                            [files = m_files, path = QString::fromStdString(model.path)] { files->open(path); }});
    if (!m_document->isOpen())
        return commands;
    for (const std::string& id : m_document->measurements()->resultIds()) {
        const QString name = QString::fromStdString(id);
        commands.push_back(
            {tr("Show %1").arg(name), tr("metric"), [views = m_views, name] { views->showResult(name); }});
    }
    if (m_document->model())
        for (const MetricInfo* info : allMetrics())
            commands.push_back({tr("Measure %1").arg(QString::fromStdString(std::string(info->id))), tr("metric"),
                                [document = m_document, info] { document->measurements()->measure({{info, {}}}); }});
    const ModelSpec& spec = m_document->spec();
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            commands.push_back({QString::fromStdString(headName(layer, head)), tr("head"),
                                [views = m_views, layer, head] { views->goTo({layer, head}); }});
    return commands;
}

void WindowSearch::openFinder() {
    m_palette->open([this](const QString& typed) { return findable(typed); },
                    tr("Find a head (12.3), a layer (12) or a metric…"));
}

std::vector<Command> WindowSearch::findable(const QString& typed) const {
    std::vector<Command> found;
    if (!m_document->isOpen())
        return found;
    for (const auto& place : placesFor(typed, m_document->spec(), CommandPalette::mostShown))
        if (const HeadId* head = std::get_if<HeadId>(&place))
            found.push_back({QString::fromStdString(headName(head->layer, head->head)), tr("head"),
                             [views = m_views, head = *head] { views->showHead(head); }});
        else
            found.push_back(
                {QString("L%1").arg(std::get<LayerPlace>(place).layer), tr("layer"),
                 [views = m_views, layer = std::get<LayerPlace>(place).layer] { views->showLayer(layer); }});
    for (const KnownResult& metric : metricsFor(typed, *m_document))
        found.push_back({metric.key, metric.title, [this, key = metric.key] { showMetric(key); }});
    return found;
}

/// Shows a metric. A metric that is not measured is only selected in the list of metrics, where it can be measured.
void WindowSearch::showMetric(const QString& key) const {
    if (m_document->measurements()->result(key.toStdString())) {
        m_views->addResult(key);
        return;
    }
    m_panels->metrics()->follow(key);
    m_panels->showMetrics();
}

} // namespace secateur
