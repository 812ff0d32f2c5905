#include "widgets/heads_threshold.h"

#include "analysis/text.h"
#include "widgets/mask_editor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace secateur {

std::set<HeadId> headsUpTo(const Matrix& values, double threshold, PruneFirst end) {
    std::set<HeadId> heads;
    for (std::size_t layer = 0; layer < values.rows(); ++layer)
        for (std::size_t head = 0; head < values.columns(); ++head) {
            const double value = values(layer, head);
            if (end == PruneFirst::low ? value <= threshold : end == PruneFirst::high && value >= threshold)
                heads.insert(heads.end(), {static_cast<int>(layer), static_cast<int>(head)});
        }
    return heads;
}

HeadsThreshold::HeadsThreshold(MaskEditor* masks, QObject* parent)
    : QObject(parent)
    , m_masks(masks) {
    connect(masks, &MaskEditor::maskChanged, this, &HeadsThreshold::followMask);
    connect(masks, &MaskEditor::protectionChanged, this, &HeadsThreshold::followMask);
}

void HeadsThreshold::setValues(const Matrix& values, PruneFirst end, const std::string& resultId) {
    if (resultId != m_resultId) {
        m_result.reset();
        m_applied.reset();
        if (m_dragged)
            cancel();
    }
    m_values = values;
    m_end = end;
    m_resultId = resultId;
    emit changed();
}

/// Another hand changed the mask: the threshold no longer says what is cut.
void HeadsThreshold::followMask() {
    if (m_result && *m_result == m_masks->mask())
        return;
    m_result.reset();
    m_applied.reset();
    emit changed();
}

std::set<HeadId> HeadsThreshold::beyond(double threshold) const {
    return headsUpTo(m_values, threshold, m_end);
}

void HeadsThreshold::preview(double threshold) {
    if (!isOffered())
        return;
    m_dragged = threshold;
    m_masks->setPreview(m_masks->withHeads(m_result ? m_base : m_masks->mask(), beyond(threshold), true));
    emit changed();
}

void HeadsThreshold::apply() {
    if (!m_dragged)
        return;
    const double threshold = *std::exchange(m_dragged, {});
    const auto count = beyond(threshold).size();
    const QString heads = QString::fromStdString(counted(count, "head"));
    const QString limit = QString::fromStdString(significant(threshold));
    if (count == 0 && !m_result)
        cancel();
    else
        cut(threshold,
            m_end == PruneFirst::low ? tr("Cut %1 below %2").arg(heads, limit)
                                     : tr("Cut %1 above %2").arg(heads, limit),
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
    m_result = m_masks->withHeads(m_base, beyond(threshold), true);
    m_applied = threshold;
    m_masks->replaceMask(*m_result, action, repeats);
    emit changed();
}

/// Values at which a threshold would cut one more, from the end to cut first.
std::vector<double> HeadsThreshold::levels() const {
    std::vector<double> levels;
    const PruningMask& base = m_result ? m_base : m_masks->mask();
    const double all =
        m_end == PruneFirst::low ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    for (HeadId head : beyond(all))
        if (!isHeadCut(base, head) && !m_masks->isProtected().has(head))
            levels.push_back(m_values(static_cast<std::size_t>(head.layer), static_cast<std::size_t>(head.head)));
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    if (m_end == PruneFirst::high)
        std::ranges::reverse(levels);
    return levels;
}

void HeadsThreshold::step(int units) {
    if (!isOffered() || m_dragged)
        return;
    const std::vector<double> all = levels();
    const auto within = [&](double level) {
        return m_applied && (m_end == PruneFirst::low ? level <= *m_applied : level >= *m_applied);
    };
    const auto now = static_cast<int>(std::ranges::count_if(all, within));
    const int then = std::clamp(now + units, 0, static_cast<int>(all.size()));
    if (then == now)
        return;
    const auto next = static_cast<std::size_t>(then);
    const double beforeAll =
        m_end == PruneFirst::low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    // Between two values, so that "below" and "above" are true of it.
    const double threshold = then == 0            ? beforeAll
                             : next == all.size() ? all.back()
                                                  : std::midpoint(all[next - 1], all[next]);
    cut(threshold, tr("Move the threshold"), true);
}

QString HeadsThreshold::text() const {
    if (!marker())
        return {};
    std::size_t left = 0;
    const std::set<HeadId> heads = beyond(*marker());
    for (HeadId head : heads)
        left += m_masks->isProtected().has(head);
    if (heads.empty())
        return tr("no heads cut by a threshold");
    const QString count = QString::fromStdString(counted(heads.size() - left, "head"));
    const bool all = std::isinf(*marker());
    const QString limit = QString::fromStdString(significant(*marker()));
    QString text = all                        ? count
                   : m_end == PruneFirst::low ? tr("%1 below %2").arg(count, limit)
                                              : tr("%1 above %2").arg(count, limit);
    if (left > 0)
        text += tr(" · %1 protected left alone").arg(left);
    return text;
}

} // namespace secateur
