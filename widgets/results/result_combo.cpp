#include "widgets/results/result_combo.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/results/metric_names.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

ResultCombo::ResultCombo(Document* document, Filter isOffered, QWidget* parent)
    : QComboBox(parent)
    , m_document(document)
    , m_isOffered(std::move(isOffered)) {
    connect(document, &Document::opened, this, &ResultCombo::refill);
    connect(document->measurements(), &Measurements::staleChanged, this, &ResultCombo::refill);
    connect(document->measurements(), &Measurements::stateChanged, this, &ResultCombo::refill);
    connect(this, &QComboBox::currentIndexChanged, this,
            [this] { setToolTip(currentData(Qt::ToolTipRole).toString()); });
    setWhatsThis(tr("The measured metric that is drawn."));
    refill();
}

void ResultCombo::refill() {
    const QString current = currentData().toString();
    const QSignalBlocker quiet(this);
    clear();
    for (const KnownResult& known : knownResults(*m_document)) {
        if (!m_isOffered(*known.request.info))
            continue;
        addItem(known.title, known.key);
        setItemData(count() - 1, metricHelp(known.request), Qt::ToolTipRole);
    }
    setCurrentIndex(std::max(0, findData(current)));
    setToolTip(currentData(Qt::ToolTipRole).toString());
}

std::string ResultCombo::key() const {
    return currentData().toString().toStdString();
}

bool ResultCombo::choose(const QString& key) {
    const int index = findData(key);
    if (index >= 0)
        setCurrentIndex(index);
    return index >= 0;
}

namespace {

struct ReadoutTexts {
    Q_DECLARE_TR_FUNCTIONS(HeadReadout)
};

/// A number as an ordinal: "95th".
QString ordinal(int number) {
    const int tens = number % 100;
    if (tens >= 11 && tens <= 13)
        return QString("%1th").arg(number);
    const int ones = number % 10;
    return QString::number(number) + (ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th");
}

} // namespace

void HeadReadout::setResult(const std::string& resultId) {
    m_resultId = resultId;
    m_ranks.clear();
    m_uncertain.clear();
    const MetricResult* shown = result();
    if (!shown)
        return;
    const std::span<const double> values = shown->values.values();
    m_ranks = ranks(values, shown->request.info->pruneFirst != PruneFirst::high);
    m_uncertain = shown->standardError ? notSeparated(values, shown->standardError->values())
                                       : std::vector<bool>(values.size(), false);
}

const MetricResult* HeadReadout::result() const {
    return m_document->measurements()->result(m_resultId);
}

bool HeadReadout::isByGroup() const {
    return result() && result()->request.info->scope == Scope::kvGroup;
}

/// The column of a head in the result's matrix. For metrics of KV groups, the column of the head's group.
std::size_t HeadReadout::column(HeadId head) const {
    const LayerSpec& layer = m_document->spec().layers[static_cast<std::size_t>(head.layer)];
    return static_cast<std::size_t>(isByGroup() ? layer.kvGroup(head.head) : head.head);
}

std::optional<double> HeadReadout::value(HeadId head) const {
    const MetricResult* shown = result();
    const auto row = static_cast<std::size_t>(head.layer);
    if (!shown || head.layer < 0 || head.head < 0 || row >= m_document->spec().layers.size() ||
        head.head >= m_document->spec().layers[row].heads || row >= shown->values.rows() ||
        column(head) >= shown->values.columns() || std::isnan(shown->values(row, column(head))))
        return {};
    return shown->values(row, column(head));
}

Matrix HeadReadout::perHead() const {
    return perHead(result() ? result()->values : Matrix());
}

Matrix HeadReadout::perHead(const Matrix& cells) const {
    const ModelSpec& spec = m_document->spec();
    Matrix values(spec.layers.size(), static_cast<std::size_t>(spec.maxHeads()));
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            if (const HeadId id{layer, head}; value(id))
                values(static_cast<std::size_t>(layer), static_cast<std::size_t>(head)) =
                    cells(static_cast<std::size_t>(layer), column(id));
    return values;
}

QString HeadReadout::cellName(HeadId head) const {
    return isByGroup() ? QString("L%1.G%2").arg(head.layer).arg(column(head))
                       : QString::fromStdString(headName(head.layer, head.head));
}

/// The state of a head as text, such as " · cut" or " · protected"; empty for a kept head.
QString HeadReadout::state(HeadId head) const {
    const MaskEditor& masks = *m_document->masks();
    if (head.layer < 0 || head.layer >= masks.mask().layerCount())
        return {};
    const LayerMask& layer = masks.mask().layer(head.layer);
    if (head.head < 0 || head.head >= static_cast<int>(layer.heads.size()))
        return {};
    QString text;
    if (!layer.block)
        text += ReadoutTexts::tr(" · cut with its block");
    else if (layer.attention == AttentionCut::drop)
        text += ReadoutTexts::tr(" · cut with its attention");
    else if (masks.isCut(head))
        text += ReadoutTexts::tr(" · cut");
    else if (layer.attention == AttentionCut::bypassQk)
        text += ReadoutTexts::tr(" · Q/K bypassed, α %1").arg(layer.alpha);
    if (masks.isProtected().has(head))
        text += ReadoutTexts::tr(" · protected");
    return text;
}

QString HeadReadout::classOf(HeadId head, std::string (*format)(double value)) const {
    const QStringList names = result() ? classNames(*result()->request.info) : QStringList();
    const auto index = static_cast<qsizetype>(value(head).value_or(-1));
    if (index < 0 || index >= names.size())
        return {};
    QStringList features = featuresOf(*result(), static_cast<std::size_t>(head.layer), column(head), format);
    if (features.isEmpty())
        return names[index];
    const QString first = features.takeFirst();
    return QString("%1 (%2%3)").arg(names[index], first, features.isEmpty() ? "" : "; " + features.join(", "));
}

QString HeadReadout::describe(HeadId head) const {
    const std::optional<double> number = value(head);
    if (!number)
        return QString::fromStdString(headName(head.layer, head.head)) + state(head);
    const auto brief = [](double feature) { return shownNumber(feature, 2); };
    if (const QString text = classOf(head, brief); !text.isEmpty())
        return cellName(head) + " = " + text + state(head);
    const MetricResult& shown = *result();
    const auto row = static_cast<std::size_t>(head.layer);
    const double error = shown.errorAt(row, column(head));
    QString text = cellName(head) + " = " + QString::fromStdString(shownWithError(*number, error));
    if (!shown.request.info->unit.empty())
        text += ' ' + toQString(shown.request.info->unit);
    if (error > 0)
        text += ReadoutTexts::tr(" (estimate)");
    const auto finite = std::count_if(m_ranks.begin(), m_ranks.end(), [](int rank) { return rank > 0; });
    const std::size_t cell = row * shown.values.columns() + column(head);
    if (cell < m_ranks.size())
        text += (m_uncertain[cell] ? ReadoutTexts::tr(" · rank ≈%1/%2") : ReadoutTexts::tr(" · rank %1/%2"))
                    .arg(m_ranks[cell])
                    .arg(finite);
    if (const double percent = percentBelow(shown.values.row(row), *number); !std::isnan(percent))
        text += ReadoutTexts::tr(" · %1 percentile of layer").arg(ordinal(static_cast<int>(std::lround(percent))));
    return text + state(head);
}

QString HeadReadout::exact(HeadId head) const {
    const std::optional<double> number = value(head);
    if (!number)
        return state(head).isEmpty() ? QString() : cellName(head) + state(head);
    if (const QString text = classOf(head, exactly); !text.isEmpty())
        return cellName(head) + " = " + text + state(head);
    const double error = result()->errorAt(static_cast<std::size_t>(head.layer), column(head));
    return cellName(head) + " = " + QString::fromStdString(exactlyWithError(*number, error)) + state(head);
}

QString HeadReadout::copyOf(const std::set<HeadId>& heads) const {
    QStringList lines{"layer,head," + QString::fromStdString(m_resultId) + ",kept"};
    QString single;
    for (const HeadId& head : heads) {
        const std::optional<double> number = value(head);
        if (!number)
            continue;
        const QStringList classes = classNames(*result()->request.info);
        single = classes.value(static_cast<qsizetype>(*number), QString::fromStdString(exactly(*number)));
        lines << QString("%1,%2,%3,%4")
                     .arg(head.layer)
                     .arg(head.head)
                     .arg(single)
                     .arg(m_document->masks()->isCut(head) ? 0 : 1);
    }
    return lines.size() < 2 ? QString() : lines.size() == 2 ? single : lines.join("\r\n") + "\r\n";
}

} // namespace secateur
