#include "widgets/plot/plot_axes.h"

#include "analysis/figures/figure.h"

#include <QFontDatabase>
#include <QPalette>
#include <QWidget>

#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

/// Length in pixels of a tick label along its axis, including margins.
double labelExtent(const QCPAxis& axis, const QString& sample) {
    const QFontMetricsF metrics(axis.tickLabelFont());
    return axis.orientation() == Qt::Vertical ? metrics.height() : metrics.horizontalAdvance(sample + "0");
}

double pixelLength(const QCPAxis& axis) {
    const QRect rect = axis.axisRect()->rect();
    return axis.orientation() == Qt::Vertical ? rect.height() : rect.width();
}

/// The first of the steps 1, 2, 5, 10, 20... between labels, at which they do not touch.
double stepFor(double needed, double room) {
    for (double magnitude = 1; magnitude < 1e6; magnitude *= 10)
        for (const double mantissa : {1, 2, 5})
            if (magnitude * mantissa * room >= needed)
                return magnitude * mantissa;
    return 1e6;
}

class IndexTicker : public QCPAxisTicker {
public:
    IndexTicker(const QCPAxis& axis, QString prefix)
        : m_axis(axis)
        , m_prefix(std::move(prefix)) {}

protected:
    double getTickStep(const QCPRange& range) override {
        const double room = pixelLength(m_axis) / range.size();
        const double needed = labelExtent(m_axis, m_prefix + QString::number(std::floor(range.upper)));
        return stepFor(needed, room);
    }
    int getSubTickCount(double) override { return 0; }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override {
        return m_prefix + QString::number(std::lround(tick));
    }

private:
    const QCPAxis& m_axis;
    QString m_prefix;
};

/// Names at integers from 0; where they would touch, at every second, fifth... Only horizontal labels below an axis
/// stand side by side by their widths.
class NamedTicker : public QCPAxisTicker {
public:
    NamedTicker(const QCPAxis& axis, QStringList names)
        : m_axis(axis)
        , m_names(std::move(names)) {}

protected:
    double getTickStep(const QCPRange& range) override {
        const QFontMetricsF metrics(m_axis.tickLabelFont());
        double extent = metrics.height();
        if (m_axis.orientation() == Qt::Horizontal && m_axis.tickLabelRotation() == 0)
            for (const QString& name : m_names)
                extent = std::max(extent, metrics.horizontalAdvance(name + "0"));
        return stepFor(extent, pixelLength(m_axis) / range.size());
    }
    int getSubTickCount(double) override { return 0; }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override {
        return m_names.value(static_cast<qsizetype>(std::lround(tick)));
    }

private:
    const QCPAxis& m_axis;
    QStringList m_names;
};

/// Names at given places. Of names that would touch, only the first is shown.
class FixedTicker : public QCPAxisTicker {
public:
    FixedTicker(const QCPAxis& axis, QVector<double> places, QStringList names)
        : m_axis(axis)
        , m_places(std::move(places))
        , m_names(std::move(names)) {}

protected:
    QVector<double> createTickVector(double, const QCPRange& range) override {
        QVector<double> shown;
        m_shown.clear();
        double end = -std::numeric_limits<double>::infinity(); // of the last name, in pixels from the begin of the axis
        for (qsizetype i = 0; i < m_places.size(); ++i) {
            const double middle = pixelsFromBegin(m_places[i]);
            const double half = extent(m_names[i]) / 2;
            if (!range.contains(m_places[i]) || middle - half < end)
                continue;
            end = middle + half;
            shown << m_places[i];
            m_shown << m_names[i];
        }
        return shown;
    }
    QVector<QString> createLabelVector(const QVector<double>&, const QLocale&, QChar, int) override {
        return {m_shown.begin(), m_shown.end()};
    }
    int getSubTickCount(double) override { return 0; }

private:
    /// Pixels along the axis, ascending with the places.
    double pixelsFromBegin(double place) const {
        return std::abs(m_axis.coordToPixel(place) - m_axis.coordToPixel(m_places.front()));
    }
    double extent(const QString& name) const {
        const QFontMetricsF metrics(m_axis.tickLabelFont());
        const bool isWide = m_axis.orientation() == Qt::Horizontal && m_axis.tickLabelRotation() == 0;
        return isWide ? metrics.horizontalAdvance(name + "0") : metrics.height();
    }

    const QCPAxis& m_axis;
    QVector<double> m_places; ///< ascending
    QStringList m_names;
    QStringList m_shown;
};

class ValueTicker : public QCPAxisTicker {
public:
    explicit ValueTicker(const QCPAxis& axis, bool wholeNumbers = false)
        : m_axis(axis)
        , m_wholeNumbers(wholeNumbers) {}

protected:
    int roomForTicks() const {
        // Labels fill at most half of a vertical axis and two thirds of a horizontal axis.
        const double air = m_axis.orientation() == Qt::Vertical ? 2 : 1.5;
        const double count = pixelLength(m_axis) / (air * labelExtent(m_axis, "0.000"));
        return std::clamp(static_cast<int>(count), 2, 7);
    }
    double getTickStep(const QCPRange& range) override {
        setTickCount(std::min(roomForTicks(), 5));
        const double step = QCPAxisTicker::getTickStep(range);
        return m_wholeNumbers ? std::max(1.0, std::floor(step)) : step; // 2.5 becomes 2
    }
    int getSubTickCount(double) override { return 0; }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override {
        // Rounds ticks, because sums of steps such as 0.1 give 0.30000000000000004, and 1e-17 instead of 0.
        const double clean = std::abs(tick) < 1e-9 * m_axis.range().size() ? 0 : tick;
        QString text = QString::number(clean, 'g', 6);
        text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e");
        return text.replace('-', QChar(0x2212));
    }

private:
    const QCPAxis& m_axis;
    bool m_wholeNumbers;
};

/// Places ticks at powers of ten, with ticks between them if the range has few decades. A range within one decade gets
/// linear steps.
class LogTicker : public ValueTicker {
public:
    using ValueTicker::ValueTicker;

protected:
    QVector<double> createTickVector(double tickStep, const QCPRange& range) override {
        static const std::array<QVector<double>, 3> parts{QVector<double>{1, 2, 3, 5, 7}, {1, 2, 5}, {1}};
        const auto room = static_cast<qsizetype>(roomForTicks());
        for (const QVector<double>& mantissas : parts) {
            const QVector<double> ticks = within(range, mantissas, 1);
            if (ticks.size() <= room)
                return ticks.size() >= 3 ? ticks : QCPAxisTicker::createTickVector(tickStep, range);
        }
        int decades = 2;
        while (within(range, {1}, decades).size() > room)
            ++decades;
        return within(range, {1}, decades);
    }

private:
    static QVector<double> within(const QCPRange& range, const QVector<double>& mantissas, int decades) {
        QVector<double> ticks;
        int exponent = static_cast<int>(std::floor(std::log10(range.lower)));
        exponent -= ((exponent % decades) + decades) % decades;
        for (; exponent <= std::log10(range.upper); exponent += decades)
            for (const double mantissa : mantissas)
                if (const double tick = mantissa * std::pow(10.0, exponent); range.contains(tick))
                    ticks << tick;
        return ticks;
    }
};

} // namespace

QCustomPlot* addPlot(QWidget* parent) {
    auto* plot = new QCustomPlot(parent);
    plot->setAttribute(Qt::WA_TransparentForMouseEvents);
    plot->setFocusPolicy(Qt::NoFocus);
    clearPlot(*plot);
    QObject::connect(plot, &QCustomPlot::beforeReplot, plot, [plot] {
        plot->setBufferDevicePixelRatio(plot->devicePixelRatioF()); // the window may be on another screen now
        layOut(*plot);
    });
    return plot;
}

void clearPlot(QCustomPlot& plot) {
    plot.clearPlottables();
    plot.clearItems();
    plot.plotLayout()->clear();
}

void layOut(QCustomPlot& plot) {
    constexpr int rounds = 3; // ticks depend on the size, margins on the ticks, and the size on the margins
    for (int round = 0; round < rounds; ++round)
        for (const auto phase :
             {QCPLayoutElement::upPreparation, QCPLayoutElement::upMargins, QCPLayoutElement::upLayout})
            plot.plotLayout()->update(phase);
}

QCPAxisRect* addAxisRect(QCPLayoutGrid& layout, int row, int column) {
    auto* rect = new QCPAxisRect(layout.parentPlot(), false);
    layout.addElement(row, column, rect);
    return rect;
}

void styleAxis(QCPAxis& axis, const PlotTheme& theme) {
    axis.setLabelFont(theme.font);
    axis.setTickLabelFont(theme.font);
    axis.setLabelColor(theme.text);
    axis.setTickLabelColor(theme.text);
    axis.setBasePen(theme.pen(theme.muted, 0.8));
    axis.setTickPen(theme.pen(theme.muted, 0.8));
    axis.setSubTicks(false);
    axis.setTickLength(0, theme.length(3.5));
    axis.setTickLabelPadding(theme.length(3));
    axis.setLabelPadding(theme.length(4));
    axis.setPadding(theme.length(2));
    axis.grid()->setPen(theme.pen(theme.grid, 0.8));
    axis.grid()->setZeroLinePen(Qt::NoPen);
    axis.grid()->setLayer("grid");
    axis.setLayer("axes");
    axis.setSelectableParts(QCPAxis::spNone);
}

void useIndexTicks(QCPAxis& axis, const QString& prefix) {
    axis.setTicker(QSharedPointer<QCPAxisTicker>(new IndexTicker(axis, prefix)));
}

namespace {

QString elided(const std::string& name, const QCPAxis& axis, int longest) {
    return QFontMetrics(axis.tickLabelFont()).elidedText(QString::fromStdString(name), Qt::ElideRight, longest);
}

} // namespace

void useNamedTicks(QCPAxis& axis, const std::vector<std::string>& names, int longest) {
    QStringList shown;
    for (const std::string& name : names)
        shown << elided(name, axis, longest);
    axis.setTicker(QSharedPointer<QCPAxisTicker>(new NamedTicker(axis, shown)));
}

void useFixedTicks(QCPAxis& axis, const std::vector<AxisTick>& ticks, int longest) {
    std::vector<AxisTick> sorted = ticks;
    std::ranges::stable_sort(sorted, {}, &AxisTick::position);
    QVector<double> places;
    QStringList names;
    for (const AxisTick& tick : sorted) {
        places << tick.position;
        names << elided(tick.name, axis, longest);
    }
    axis.setTicker(QSharedPointer<QCPAxisTicker>(new FixedTicker(axis, places, names)));
}

void useValueTicks(QCPAxis& axis, bool logarithmic, bool wholeNumbers) {
    axis.setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    if (logarithmic)
        axis.setTicker(QSharedPointer<QCPAxisTicker>(new LogTicker(axis)));
    else
        axis.setTicker(QSharedPointer<QCPAxisTicker>(new ValueTicker(axis, wholeNumbers)));
}

namespace {

constexpr double pointsPerInch = 72;
constexpr double unitsPerInch = 96;
constexpr double paperTextPoints = 8;
constexpr float veilOpacity = 0.78F;

PlotTheme themeFrom(const QColor& background, const QColor& text) {
    PlotTheme theme;
    theme.background = background;
    theme.text = text;
    theme.muted = mixed(background, text, 0.6);
    theme.grid = mixed(background, text, 0.12);
    theme.absent = mixed(background, text, 0.09);
    theme.accent = background.lightness() < 128 ? QColor(0xff, 0x7a, 0x45) : QColor(0xe2, 0x4a, 0x0c);
    return theme;
}

/// The font of saved pictures: Arial if it is installed, otherwise a font with the same metrics, otherwise any sans
/// serif.
QFont paperFont() {
    QFont font;
    for (const char* family : {"Arial", "Liberation Sans", "Helvetica", "DejaVu Sans"}) {
        if (!QFontDatabase::hasFamily(family))
            continue;
        font.setFamily(family);
        break;
    }
    font.setStyleHint(QFont::SansSerif);
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

} // namespace

QColor mixed(const QColor& from, const QColor& to, double share) {
    const auto channel = [&](int a, int b) { return static_cast<int>(std::lround(a + share * (b - a))); };
    return {channel(from.red(), to.red()), channel(from.green(), to.green()), channel(from.blue(), to.blue())};
}

int PlotTheme::length(double units) const {
    return std::max(1, static_cast<int>(std::lround(units * unit)));
}

QPen PlotTheme::pen(const QColor& colour, double width) const {
    return {colour, width * unit, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin};
}

QColor PlotTheme::veil() const {
    QColor colour = background;
    colour.setAlphaF(veilOpacity);
    return colour;
}

PlotTheme themeOf(const QWidget& widget) {
    PlotTheme theme = themeFrom(widget.palette().color(QPalette::Base), widget.palette().color(QPalette::Text));
    theme.font = widget.font();
    return theme;
}

PlotTheme paperTheme(int pixelsPerInch) {
    PlotTheme theme = themeFrom(Qt::white, Qt::black);
    theme.muted = Qt::black;
    theme.font = paperFont();
    theme.font.setPixelSize(static_cast<int>(std::lround(paperTextPoints * pixelsPerInch / pointsPerInch)));
    theme.unit = pixelsPerInch / unitsPerInch;
    return theme;
}

QColor classColour(const QString& name, std::size_t index) {
    // the colours of Okabe and Ito (see below) without vermilion, which is similar to the accent
    static const std::vector<QColor> colours{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442"};
    return name == "other" ? QColor("#9a9a9a") : colours[index % colours.size()];
}

const std::vector<QColor>& lineColours() {
    // The colours of Okabe and Ito, "Color Universal Design" (2008), ordered so that neighbours differ. Yellow is left
    // out, because it is too light for a line on white.
    static const std::vector<QColor> colours{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"};
    return colours;
}

} // namespace secateur
