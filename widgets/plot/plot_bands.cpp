#include "widgets/plot/plot_bands.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr double columnWidth = 0.72; ///< of the distance between positions

/// Two quantiles, drawn as a band between them or as a tick at each.
class QuantilePair : public QCPAbstractPlottable {
public:
    QuantilePair(QCPAxis& x, QCPAxis& y, const FigureSeries& lower, const FigureSeries& upper)
        : QCPAbstractPlottable(&x, &y)
        , m_lower(lower.values)
        , m_upper(upper.values) {
        setName(QString::fromStdString(lower.label == upper.label ? lower.label : lower.label + "–" + upper.label));
        setAntialiased(false); // their edges are whole pixels
    }

    double tickWidth = 0; ///< of the column; 0 = a band

    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }
    QCPRange getKeyRange(bool& found, QCP::SignDomain) const override {
        found = !m_lower.empty();
        return {0, static_cast<double>(m_lower.size()) - 1};
    }
    QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override {
        found = false; // the figure sets the range
        return {};
    }

protected:
    void draw(QCPPainter* painter) override {
        for (std::size_t i = 0; i < m_lower.size(); ++i) {
            if (!isDrawable(m_lower[i]) || !isDrawable(m_upper[i]))
                continue;
            const auto position = static_cast<double>(i);
            const double half = columnWidth / 2 * (tickWidth > 0 ? tickWidth : 1);
            const double left = std::round(keyAxis()->coordToPixel(position - half));
            const double right = std::max(std::round(keyAxis()->coordToPixel(position + half)), left + 1);
            const double top = std::round(valueAxis()->coordToPixel(m_upper[i]));
            const double bottom = std::round(valueAxis()->coordToPixel(m_lower[i]));
            if (tickWidth == 0) {
                painter->fillRect(QRectF(left, top, right - left, std::max(bottom - top, 1.0)), mBrush);
                continue;
            }
            const double thick = std::max(1.0, std::round(mPen.widthF()));
            for (const double at : {top, bottom})
                painter->fillRect(QRectF(left, at - std::floor(thick / 2), right - left, thick), mPen.color());
        }
    }
    void drawLegendIcon(QCPPainter* painter, const QRectF& rect) const override {
        if (tickWidth == 0) {
            painter->fillRect(rect.adjusted(0, rect.height() * 0.15, 0, -rect.height() * 0.15), mBrush);
            return;
        }
        const double thick = std::max(1.0, std::round(mPen.widthF()));
        const double width = rect.width() * tickWidth;
        painter->fillRect(QRectF(rect.center().x() - width / 2, rect.center().y() - thick / 2, width, thick),
                          mPen.color());
    }

private:
    bool isDrawable(double value) const {
        return std::isfinite(value) && (valueAxis()->scaleType() != QCPAxis::stLogarithmic || value > 0);
    }

    std::vector<double> m_lower;
    std::vector<double> m_upper;
};

} // namespace

void addBands(QCPAxis& x, QCPAxis& y, const std::vector<FigureSeries>& quantiles, const PlotTheme& theme) {
    const QColor full = lineColours().front();
    const std::size_t middle = quantiles.size() / 2;
    const auto pair = [&](std::size_t index) {
        return new QuantilePair(x, y, quantiles[index], quantiles[quantiles.size() - 1 - index]);
    };
    for (std::size_t i = 1; i < middle; ++i) {
        const double share = static_cast<double>(i) / static_cast<double>(middle - 1);
        pair(i)->setBrush(mixed(theme.background, full, 0.12 + 0.78 * std::pow(share, 1.6)));
    }
    QuantilePair* median = pair(middle);
    median->tickWidth = 1;
    median->setPen(theme.pen(theme.text, 2));
    QuantilePair* ends = pair(0);
    ends->tickWidth = 0.5;
    ends->setPen(theme.pen(theme.muted));
}

} // namespace secateur
