#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/scatter/scatter_plot.h"
#include "widgets/scatter/scatter_view.h"
#include "widgets/document/selection.h"

#include <QApplication>
#include <QClipboard>
#include <QStackedWidget>
#include <QToolTip>

#include <algorithm>

namespace secateur {

namespace {

std::string inShort(double value) {
    return significant(value);
}

} // namespace

QString ScatterView::describe(std::size_t point, std::string (*number)(double)) const {
    const FigureSeries& points = m_shown.series.front();
    const FigureUnit unit = points.units[point];
    QString name = QString::fromStdString(headName(unit.layer, unit.index));
    if (m_pairs.scope == Scope::layer)
        name = QString("L%1").arg(unit.layer);
    else if (m_pairs.scope != Scope::head)
        name = QString("L%1.%2%3").arg(unit.layer).arg(m_pairs.scope == Scope::kvGroup ? "G" : "N").arg(unit.index);
    QStringList parts{name};
    for (const auto& [axis, value] :
         {std::pair(&m_shown.x, points.positions[point]), std::pair(&m_shown.y, points.values[point])})
        parts << QString::fromStdString(axis->label + " = " + number(value));
    if (point < points.cut.size() && points.cut[point])
        parts << tr("cut");
    return parts.join(number == inShort ? " · " : "\n");
}

QString ScatterView::describe(HeadId head, std::string (*number)(double)) const {
    const FigureSeries& points = m_shown.series.front();
    const LayerSpec& layer = m_document->spec().layers[static_cast<std::size_t>(head.layer)];
    const int index = m_pairs.scope == Scope::head      ? head.head
                      : m_pairs.scope == Scope::kvGroup ? layer.kvGroup(head.head)
                                                        : 0;
    const auto found = std::ranges::lower_bound(points.units, FigureUnit{head.layer, index});
    if (found == points.units.end() || *found != FigureUnit{head.layer, index})
        return QString::fromStdString(headName(head.layer, head.head));
    return describe(static_cast<std::size_t>(found - points.units.begin()), number);
}

std::optional<QString> ScatterView::textUnder(std::string (*number)(double)) const {
    if (m_shown.series.empty())
        return {};
    if (isMapShown())
        return m_selection->hovered() ? std::optional(describe(*m_selection->hovered(), number)) : std::nullopt;
    const auto point = m_plot->hoveredPoint();
    return point ? std::optional(describe(*point, number)) : std::nullopt;
}

void ScatterView::tell() {
    if (m_shown.series.empty())
        return;
    const bool isMap = isMapShown();
    QString text = textUnder(inShort).value_or(QString());
    if (isMap && !m_grid->hint().isEmpty())
        text = m_grid->hint();
    else if (text.isEmpty() && isMap && m_selection->active())
        text = describe(*m_selection->active(), inShort);
    else if (text.isEmpty() && !isMap && m_plot->currentPoint())
        text = describe(*m_plot->currentPoint(), inShort);
    m_plot->setAccessibleDescription(text);
    m_grid->setAccessibleDescription(text);
    emit hoverText(text);
}

void ScatterView::showToolTip(const QPoint& globalPosition) {
    const std::optional<QString> text = textUnder(exactly);
    if (text)
        QToolTip::showText(globalPosition, *text, this);
    else
        QToolTip::hideText();
}

void ScatterView::copyValues() {
    if (m_shown.series.empty() || m_selection->heads().empty() || m_pairs.scope == Scope::neuron)
        return;
    Figure figure = m_shown;
    FigureSeries chosen;
    const FigureSeries& all = m_shown.series.front();
    for (std::size_t i = 0; i < all.units.size(); ++i) {
        const auto isOf = [&](HeadId head) {
            const LayerSpec& layer = m_document->spec().layers[static_cast<std::size_t>(head.layer)];
            return head.layer == all.units[i].layer &&
                   (m_pairs.scope == Scope::layer ||
                    (m_pairs.scope == Scope::head ? head.head : layer.kvGroup(head.head)) == all.units[i].index);
        };
        if (!std::ranges::any_of(m_selection->heads(), isOf))
            continue;
        chosen.units.push_back(all.units[i]);
        chosen.positions.push_back(all.positions[i]);
        chosen.values.push_back(all.values[i]);
        if (!all.cut.empty())
            chosen.cut.push_back(all.cut[i]);
    }
    figure.series = {std::move(chosen)};
    QApplication::clipboard()->setText(QString::fromStdString(toCsv(figure)));
}

} // namespace secateur
