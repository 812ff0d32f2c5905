#include "widgets/plot/plot_theme.h"

#include <QFontDatabase>
#include <QPalette>
#include <QWidget>

#include <algorithm>
#include <cmath>

namespace secateur {

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

/// Arial, else a font with the same metrics, else any sans serif.
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
    // Okabe and Ito, as below, without the vermilion, which is close to the accent.
    static const std::vector<QColor> colours{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442"};
    return name == "other" ? QColor("#9a9a9a") : colours[index % colours.size()];
}

const std::vector<QColor>& lineColours() {
    // Okabe and Ito, "Color Universal Design" (2008), ordered so that neighbours differ, without the yellow, which is
    // too light for a line on white.
    static const std::vector<QColor> colours{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"};
    return colours;
}

} // namespace secateur
