#include "widgets/plot/plot_series.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr double bandWidth = 0.72; ///< as a share of the distance between positions
constexpr double barWidth = 0.7;   ///< as a share of the distance between positions
constexpr double capUnits = 8;
constexpr double capWidth = 0.75; ///< maximum width as a share of the distance between positions
constexpr double barTint = 0.2;

void drawWhisker(QCPPainter& painter, double x, double top, double bottom, double cap) {
    painter.drawLine(QLineF(x, top, x, bottom));
    for (const double end : {top, bottom})
        painter.drawLine(QLineF(x - cap / 2, end, x + cap / 2, end));
}

QCPScatterStyle hollow(const QCPScatterStyle& filled, const PlotTheme& theme) {
    QCPScatterStyle style = filled;
    style.setBrush(theme.background);
    style.setSize(1.1 * style.size()); // larger, so that its inside is visible
    return style;
}

/// A plottable that neither sets axis ranges nor can be selected.
class Drawing : public QCPAbstractPlottable {
public:
    using QCPAbstractPlottable::QCPAbstractPlottable;

    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }
    QCPRange getKeyRange(bool& found, QCP::SignDomain) const override {
        found = false;
        return {};
    }
    QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override {
        found = false;
        return {};
    }

protected:
    void draw(QCPPainter*) override {}
    void drawLegendIcon(QCPPainter*, const QRectF&) const override {}
};

/// Draws two quantiles: a band between them, or a tick at each of them.
class QuantilePair : public Drawing {
public:
    QuantilePair(QCPAxis& x, QCPAxis& y, const FigureSeries& lower, const FigureSeries& upper)
        : Drawing(&x, &y)
        , m_lower(lower.values)
        , m_upper(upper.values) {
        setName(QString::fromStdString(lower.label == upper.label ? lower.label : lower.label + "–" + upper.label));
        setAntialiased(false); // its edges are at whole pixels
    }

    double tickWidth = 0; ///< as a share of the column's width; 0 = draw a band

protected:
    void draw(QCPPainter* painter) override {
        for (std::size_t i = 0; i < m_lower.size(); ++i) {
            if (!isDrawable(m_lower[i]) || !isDrawable(m_upper[i]))
                continue;
            const auto position = static_cast<double>(i);
            const double half = bandWidth / 2 * (tickWidth > 0 ? tickWidth : 1);
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

class Bars : public Drawing {
public:
    Bars(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme)
        : Drawing(line.keyAxis(), line.valueAxis())
        , m_series(series) {
        setLayer("grid"); // the layer behind all lines
        setAntialiased(false);
        setBrush(mixed(theme.background, line.pen().color(), barTint));
    }

protected:
    void draw(QCPPainter* painter) override {
        const double bottom = std::round(valueAxis()->coordToPixel(0));
        for (std::size_t i = 0; i < std::min(m_series.values.size(), m_series.errors.size()); ++i) {
            const double top = valueAxis()->coordToPixel(m_series.values[i]);
            if (!(m_series.errors[i] > 0) || !std::isfinite(top))
                continue;
            const double left = std::round(keyAxis()->coordToPixel(static_cast<double>(i) - barWidth / 2));
            const double right = std::round(keyAxis()->coordToPixel(static_cast<double>(i) + barWidth / 2));
            const QRectF bar(left, std::round(top), std::max(right - left, 1.0), bottom - std::round(top));
            painter->fillRect(bar.normalized(), mBrush);
        }
    }

private:
    FigureSeries m_series;
};

class Whiskers : public Drawing {
public:
    Whiskers(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme)
        : Drawing(line.keyAxis(), line.valueAxis())
        , m_series(series)
        , m_hollow(hollow(line.scatterStyle(), theme))
        , m_cap(capUnits * theme.unit) {
        setPen(theme.pen(line.pen().color(), 1.2));
    }

protected:
    void draw(QCPPainter* painter) override {
        const double column = std::abs(keyAxis()->coordToPixel(1) - keyAxis()->coordToPixel(0));
        for (std::size_t i = 0; i < std::min(m_series.values.size(), m_series.errors.size()); ++i) {
            const double value = m_series.values[i];
            const double reach = whiskerErrors * m_series.errors[i];
            const double x = keyAxis()->coordToPixel(static_cast<double>(i));
            const double y = valueAxis()->coordToPixel(value);
            if (!(reach > 0) || !std::isfinite(y))
                continue;
            painter->setPen(mPen);
            applyDefaultAntialiasingHint(painter);
            drawWhisker(*painter, x, valueAxis()->coordToPixel(value + reach), valueAxis()->coordToPixel(value - reach),
                        std::min(m_cap, capWidth * column));
            applyScattersAntialiasingHint(painter);
            m_hollow.applyTo(painter, mPen);
            if (i < m_series.notSeparated.size() && m_series.notSeparated[i])
                m_hollow.drawShape(painter, x, y);
        }
    }

private:
    FigureSeries m_series;
    QCPScatterStyle m_hollow;
    double m_cap;
};

/// A legend entry that belongs to no plottable.
class Note : public Drawing {
public:
    Note(QCPAxisRect& rect, const QString& text, const PlotTheme& theme, const QCPScatterStyle& point, bool whisker)
        : Drawing(rect.axis(QCPAxis::atBottom), rect.axis(QCPAxis::atLeft))
        , m_point(point)
        , m_cap(whisker ? capUnits * theme.unit : 0) {
        setName(text);
        setPen(theme.pen(theme.muted, 1.2));
    }

protected:
    void drawLegendIcon(QCPPainter* painter, const QRectF& rect) const override {
        const double x = rect.center().x();
        applyDefaultAntialiasingHint(painter);
        painter->setPen(mPen);
        if (m_cap > 0)
            drawWhisker(*painter, x, rect.top() + 0.12 * rect.height(), rect.bottom() - 0.12 * rect.height(), m_cap);
        m_point.applyTo(painter, mPen);
        m_point.drawShape(painter, x, rect.center().y());
    }

private:
    QCPScatterStyle m_point;
    double m_cap;
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

bool hasEstimates(const FigureSeries& series) {
    return std::ranges::any_of(series.errors, [](double error) { return error > 0; });
}

void addEstimateBars(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme) {
    const QCPAxis& axis = *line.valueAxis();
    if (axis.scaleType() == QCPAxis::stLinear && axis.range().contains(0))
        new Bars(line, series, theme);
}

void addWhiskers(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme) {
    new Whiskers(line, series, theme);
}

void addEstimateNotes(QCPAxisRect& rect, const Figure& figure, const PlotTheme& theme) {
    if (estimatesIn(figure).empty())
        return;
    const QCPScatterStyle point(QCPScatterStyle::ssCircle, theme.pen(theme.muted, 1.2), theme.muted, 4.5 * theme.unit);
    new Note(rect, QString("estimate, whiskers ±%1 standard errors").arg(whiskerErrors), theme, point, true);
    new Note(rect, "not separated from another layer", theme, hollow(point, theme), false);
}

} // namespace secateur
