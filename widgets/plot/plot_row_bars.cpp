#include "widgets/plot/plot_row_bars.h"

#include "analysis/base/statistics.h"
#include "widgets/plot/plot_scale.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double rowBarWidth = 0.7; ///< of the distance between rows
constexpr double barShade = 0.6;    ///< share of the text's colour; pictures for papers have no muted colour

} // namespace

PlotRowBars::PlotRowBars(QCPLayoutGrid& layout, int row, int column, const PlotTheme& theme)
    : m_rect(addAxisRect(layout, row, column))
    , m_title(m_rect->addAxis(QCPAxis::atTop))
    , m_values(m_rect->addAxis(QCPAxis::atBottom))
    , m_rows(m_rect->addAxis(QCPAxis::atLeft))
    , m_means(new QCPBars(m_rows, m_values)) {
    m_rows->setRangeReversed(true);
    m_means->setWidth(rowBarWidth);
    setTheme(theme);
}

void PlotRowBars::setTheme(const PlotTheme& theme) {
    for (QCPAxis* axis : {m_title, m_values, m_rows}) {
        styleAxis(*axis, theme);
        axis->setTickLength(0, 0);
        axis->setBasePen(Qt::NoPen);
        axis->setTickPen(Qt::NoPen);
        axis->setTickLabelColor(theme.muted);
        axis->setLabelColor(theme.muted);
        axis->grid()->setVisible(axis == m_values);
    }
    m_title->setTickLabels(false);
    m_title->setLabelPadding(theme.length(2));
    m_rows->setVisible(false);
    m_means->setPen(Qt::NoPen);
    m_means->setBrush(mixed(theme.background, theme.text, barShade));
}

void PlotRowBars::setTitle(const QString& title) {
    m_title->setLabel(title);
}

void PlotRowBars::clearShares() {
    for (QCPBars* bars : std::exchange(m_shares, {}))
        m_rect->parentPlot()->removePlottable(bars);
}

void PlotRowBars::setMeans(const Matrix& values, bool logarithmic) {
    clearShares();
    QVector<double> rows;
    QVector<double> means;
    for (std::size_t row = 0; row < values.rows(); ++row) {
        const double mean = finiteMean(values.row(row));
        if (std::isnan(mean))
            continue;
        rows << static_cast<double>(row);
        means << mean;
    }
    const auto [least, greatest] = finiteRange({means.constData(), static_cast<std::size_t>(means.size())});
    const bool isLog = logarithmic && least > 0;
    useValueTicks(*m_values, isLog);
    if (isLog)
        m_values->setRange(least / 1.5, greatest * 1.1);
    else if (std::isfinite(least))
        m_values->setRange(std::min(0.0, 1.08 * least), std::max(0.0, 1.08 * greatest));
    m_means->setBaseValue(isLog ? least / 1.5 : 0);
    m_means->setData(rows, means, true);
    m_means->setVisible(std::isfinite(least));
    m_values->setTickLabels(std::isfinite(least));
}

void PlotRowBars::setShares(const Matrix& values, const QStringList& classes) {
    clearShares();
    m_means->setVisible(false);
    const ColourRange range = ColourRange::ofClasses(classes);
    for (int i = 0; i < classes.size(); ++i) {
        auto* bars = new QCPBars(m_rows, m_values);
        bars->setWidth(rowBarWidth);
        bars->setPen(Qt::NoPen);
        bars->setBrush(QColor(range.colour(i)));
        for (std::size_t row = 0; row < values.rows(); ++row) {
            const std::span<const double> cells = values.row(row);
            const auto known = std::ranges::count_if(cells, [](double value) { return std::isfinite(value); });
            const auto own = std::ranges::count(cells, static_cast<double>(i));
            bars->addData(static_cast<double>(row),
                          known > 0 ? 100.0 * static_cast<double>(own) / static_cast<double>(known) : 0);
        }
        if (!m_shares.isEmpty())
            bars->moveAbove(m_shares.last());
        m_shares << bars;
    }
    useValueTicks(*m_values, false);
    m_values->setRange(0, 100);
    m_values->setTickLabels(true);
}

} // namespace secateur
