#include "widgets/heads/heads_threshold.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "analysis/strategies/prune.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace secateur {

HeadsThreshold::HeadsThreshold(MaskEditor* masks, QObject* parent)
    : QObject(parent)
    , m_masks(masks) {
    connect(masks, &MaskEditor::maskChanged, this, &HeadsThreshold::followMask);
    connect(masks, &MaskEditor::protectionChanged, this, &HeadsThreshold::followMask);
}

void HeadsThreshold::setResult(const MetricResult* result, const std::string& filter) {
    const std::string id = result ? result->request.resultId() : std::string();
    if (id != m_resultId) {
        m_result.reset();
        m_applied.reset();
        if (m_dragged)
            cancel();
    }
    m_values = result ? result->values : Matrix();
    m_metric = result ? result->request : MetricRequest();
    m_resultId = id;
    m_filter = filter;
    emit changed();
}

void HeadsThreshold::setScale(ScaleKind scale, const Matrix& values) {
    m_scale = scale;
    m_shown = values;
}

double HeadsThreshold::fromBar(double place) const {
    return m_scale == ScaleKind::rank && std::isfinite(place) ? valueAtPercentile(m_shown.values(), place) : place;
}

std::optional<double> HeadsThreshold::markerOnBar() const {
    const std::optional<double> value = marker();
    if (m_scale == ScaleKind::withinLayer)
        return {};
    return value && m_scale == ScaleKind::rank ? percentUpTo(m_shown.values(), *value) : value;
}

bool HeadsThreshold::isOffered() const {
    const bool isKnown = m_metric.info && findMetric(m_metric.info->id); // no strategy ranks unknown metrics
    return isKnown && m_scale != ScaleKind::withinLayer && end() != PruneFirst::neither &&
           m_values.rows() == m_masks->spec().layers.size() && !m_values.empty();
}

/// Removes the threshold if another action changed the mask.
void HeadsThreshold::followMask() {
    if (m_result && *m_result == m_masks->mask())
        return;
    m_result.reset();
    m_applied.reset();
    emit changed();
}

double HeadsThreshold::valueAt(Place place) const {
    return m_values(static_cast<std::size_t>(place.first), static_cast<std::size_t>(place.second));
}

std::vector<HeadsThreshold::Place> HeadsThreshold::beyond(double threshold) const {
    std::vector<Place> places;
    for (int layer = 0; isOffered() && layer < m_masks->spec().layerCount(); ++layer)
        for (int index = 0; index < unitsIn(m_masks->spec().layers[static_cast<std::size_t>(layer)], unit()); ++index) {
            const double value = valueAt({layer, index});
            if (end() == PruneFirst::low ? value <= threshold : value >= threshold)
                places.emplace_back(layer, index);
        }
    return places;
}

PruningMask HeadsThreshold::masked(const PruningMask& base, double threshold) const {
    return cutWithin(m_masks->spec(), m_values, {unit(), end() == PruneFirst::high, {}, false}, threshold,
                     m_masks->isProtected(), base);
}

std::optional<MaskProvenance> HeadsThreshold::provenance(double threshold) const {
    const std::size_t count = newlyCut(m_masks->spec(), unit(), m_base, *m_result);
    if (count == 0)
        return std::nullopt;
    const PruneRequest request{byMetric(m_metric, end() == PruneFirst::high, false),
                               {static_cast<double>(count), false},
                               m_masks->isProtected().text(m_masks->spec()),
                               0,
                               m_base};
    MaskProvenance made = provenanceOf(request, m_masks->state().edited().name);
    if (!m_filter.empty())
        made.options.emplace("filter", m_filter);
    if (std::isfinite(threshold))
        made.options.emplace("threshold", exactly(threshold));
    return made;
}

QString HeadsThreshold::counted(std::size_t units) const {
    return countText(units, unit() == CutUnit::head ? "head" : "KV group");
}

void HeadsThreshold::preview(double threshold) {
    if (!isOffered())
        return;
    m_dragged = threshold;
    m_masks->setPreview(masked(m_result ? m_base : m_masks->mask(), threshold));
    emit changed();
}

void HeadsThreshold::apply() {
    if (!m_dragged)
        return;
    const double threshold = *std::exchange(m_dragged, {});
    const auto count = beyond(threshold).size();
    const QString units = counted(count);
    const QString limit = QString::fromStdString(shownNumber(threshold));
    if (count == 0 && !m_result)
        cancel();
    else
        cut(threshold,
            end() == PruneFirst::low ? tr("Cut %1 below %2").arg(units, limit)
                                     : tr("Cut %1 above %2").arg(units, limit),
            false);
}

void HeadsThreshold::cancel() {
    m_dragged.reset();
    m_masks->setPreview({});
    emit changed();
}

void HeadsThreshold::cut(double threshold, const QString& action, bool repeats) {
    if (!m_result)
        m_base = m_masks->mask();
    m_result = masked(m_base, threshold);
    m_applied = threshold;
    m_masks->replaceMask(*m_result, action, repeats, provenance(threshold));
    emit changed();
}

/// The values of uncut, unprotected units, each once. They begin at the end that is pruned first.
std::vector<double> HeadsThreshold::levels() const {
    std::vector<double> levels;
    const PruningMask& base = m_result ? m_base : m_masks->mask();
    const double all =
        end() == PruneFirst::low ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    const ModelSpec& spec = m_masks->spec();
    for (const Place& place : beyond(all))
        if (!isCut(base, spec, unit(), place.first, place.second) &&
            !m_masks->isProtected().covers(spec, unit(), place.first, place.second))
            levels.push_back(valueAt(place));
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    if (end() == PruneFirst::high)
        std::ranges::reverse(levels);
    return levels;
}

void HeadsThreshold::step(int units) {
    if (!isOffered() || m_dragged)
        return;
    const std::vector<double> all = levels();
    const auto within = [&](double level) {
        return m_applied && (end() == PruneFirst::low ? level <= *m_applied : level >= *m_applied);
    };
    const auto now = static_cast<int>(std::ranges::count_if(all, within));
    const int then = std::clamp(now + units, 0, static_cast<int>(all.size()));
    if (then == now)
        return;
    const auto next = static_cast<std::size_t>(then);
    const double beforeAll =
        end() == PruneFirst::low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    // A threshold between two values, so that the texts "below" and "above" are both true.
    const double threshold = then == 0            ? beforeAll
                             : next == all.size() ? all.back()
                                                  : std::midpoint(all[next - 1], all[next]);
    cut(threshold, tr("Move the threshold"), true);
}

QString HeadsThreshold::text() const {
    if (!marker())
        return {};
    const std::vector<Place> places = beyond(*marker());
    const auto spared = static_cast<std::size_t>(std::ranges::count_if(places, [&](Place place) {
        return m_masks->isProtected().covers(m_masks->spec(), unit(), place.first, place.second);
    }));
    if (places.empty())
        return tr("no heads cut by a threshold");
    const QString count = counted(places.size() - spared);
    const bool all = std::isinf(*marker());
    const QString limit = QString::fromStdString(shownNumber(*marker()));
    QString text = all                        ? count
                   : end() == PruneFirst::low ? tr("%1 below %2").arg(count, limit)
                                              : tr("%1 above %2").arg(count, limit);
    if (spared > 0)
        text += tr(" · %1 protected left alone").arg(spared);
    return text;
}

} // namespace secateur
