#include "widgets/weights/tensor_details.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/plot/figure_widget.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr int detailDigits = 4;

QString detail(double number) {
    return std::isnan(number) ? QStringLiteral("–") : QString::fromStdString(shownNumber(number, detailDigits));
}

QString countOf(std::int64_t count) {
    return QString::fromStdString(grouped(static_cast<std::uint64_t>(count)));
}

QString decibels(double ratio) {
    if (std::isinf(ratio))
        return TensorDetails::tr("equal");
    return TensorDetails::tr("%1 dB").arg(
        QString::fromStdString(withMinus(QString::number(ratio, 'f', 1).toStdString())));
}

/// Joins neighbouring bins until they have enough numbers for their size.
void joinBins(std::vector<double>& edges, std::vector<double>& counts, std::int64_t numbers) {
    constexpr std::size_t fewest = 32;
    constexpr double enough = 40; // numbers of a bin, on average
    while (counts.size() > fewest && counts.size() % 2 == 0 &&
           static_cast<double>(numbers) < enough * static_cast<double>(counts.size())) {
        for (std::size_t i = 0; i < counts.size() / 2; ++i) {
            counts[i] = counts[2 * i] + counts[2 * i + 1];
            edges[i] = edges[2 * i];
        }
        edges[counts.size() / 2] = edges[counts.size()];
        counts.resize(counts.size() / 2);
        edges.resize(counts.size() + 1);
    }
}

/// The histogram on a logarithmic scale, on which empty bins lie below one.
Figure histogramOf(const TensorStatistics& statistics, const std::string& what) {
    Figure figure;
    figure.kind = FigureKind::histogram;
    figure.x.label = what;
    figure.y = {"numbers", true};
    figure.edges = statistics.edges;
    std::vector<double> counts(statistics.counts.begin(), statistics.counts.end());
    joinBins(figure.edges, counts, statistics.finite());
    for (double& count : counts)
        count = std::max(count, 0.5);
    const double most = counts.empty() ? 1 : *std::ranges::max_element(counts);
    figure.y.range = AxisRange{0.5, std::max(2.0, 1.6 * most)};
    figure.series.push_back({"numbers", std::move(counts), {}, false});
    return figure;
}

} // namespace

TensorDetails::TensorDetails(QWidget* parent)
    : QWidget(parent)
    , m_title(new QLabel)
    , m_numbers(new QLabel)
    , m_histogram(new FigureWidget) {
    m_title->setAccessibleName(tr("Numbers described"));
    m_numbers->setAccessibleName(tr("Statistics of the tensor"));
    m_numbers->setTextFormat(Qt::RichText);
    m_numbers->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_numbers->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_numbers->setToolTip(tr("Statistics of the decoded numbers. Outliers are more than 6 standard deviations from the "
                             "mean. Effective bits are the entropy of the stored numbers."));
    m_histogram->setAccessibleName(tr("Histogram of the tensor's numbers"));
    m_histogram->setMinimumHeight(90);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 4, 4, 4);
    column->setSpacing(4);
    column->addWidget(m_title);
    column->addWidget(m_numbers);
    column->addWidget(m_histogram, 1);
    say({});
}

void TensorDetails::say(const QString& sentence) {
    m_title->setText(sentence);
    m_title->setWordWrap(true);
    m_numbers->setVisible(false);
    m_histogram->setVisible(false);
}

/// The rows in two columns.
void TensorDetails::fill(const QList<QPair<QString, QString>>& rows) {
    QString text = "<table cellspacing=0 cellpadding=1>";
    const qsizetype half = (rows.size() + 1) / 2;
    for (qsizetype row = 0; row < half; ++row) {
        text += "<tr>";
        for (const qsizetype index : {row, half + row})
            if (index < rows.size())
                text += QString("<td>%1&nbsp;</td><td align=right style='padding-right:14px'><b>%2</b></td>")
                            .arg(rows[index].first, rows[index].second);
        text += "</tr>";
    }
    m_numbers->setText(text + "</table>");
}

void TensorDetails::show(const QString& what, const TensorStatistics& statistics, const TensorDifference* difference) {
    m_title->setWordWrap(false);
    m_title->setText(tr("%1: %2 numbers").arg(what, countOf(statistics.count)));
    QList<QPair<QString, QString>> rows{
        {tr("mean"), detail(statistics.mean)},
        {tr("standard deviation"), detail(statistics.sd)},
        {tr("least"), detail(statistics.least)},
        {tr("largest"), detail(statistics.largest)},
        {tr("Frobenius norm"), detail(statistics.norm)},
        {tr("zeros"),
         statistics.count == 0 ? QStringLiteral("–") : QString::fromStdString(shownShare(statistics.zeroShare()))},
        {tr("beyond 6 sd"), countOf(statistics.outliers)},
        {tr("effective bits"), std::isnan(statistics.effectiveBits)
                                   ? QStringLiteral("–")
                                   : QString::number(statistics.effectiveBits, 'f', 2)},
    };
    if (statistics.nan > 0)
        rows << QPair(tr("NaN"), countOf(statistics.nan));
    if (statistics.infinite > 0)
        rows << QPair(tr("infinite"), countOf(statistics.infinite));
    if (difference) {
        rows << QPair(tr("relative error"), detail(difference->relativeError()))
             << QPair(tr("signal to noise"), decibels(difference->signalToNoise()))
             << QPair(tr("largest difference"), detail(difference->largest))
             << QPair(tr("different numbers"), countOf(difference->different));
    }
    fill(rows);
    m_numbers->setVisible(true);
    const bool hasHistogram = !statistics.counts.empty();
    m_histogram->setVisible(hasHistogram);
    if (hasHistogram)
        m_histogram->setFigure(histogramOf(statistics, what.toStdString()));
}

} // namespace secateur
