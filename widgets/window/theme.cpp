#include "widgets/window/theme.h"

#include <QApplication>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyleOption>

namespace secateur {

namespace {

/// Greys, an accent and a link colour.
struct Colours {
    QColor window, base, alternate, button, text, muted, disabled, line, highlight, link;
};

const Colours light{"#f3f3f2", "#ffffff", "#f7f7f6", "#fbfbfa", "#1f2226",
                    "#6b6f76", "#a3a6ab", "#c9c9c7", "#f6cdb8", "#b23a08"};
const Colours dark{"#26282b", "#1c1e20", "#212326", "#323539", "#e2e3e5",
                   "#9a9da3", "#6a6d73", "#45484d", "#7a3d21", "#ff9a70"};

QPalette paletteFrom(const Colours& colours) {
    QPalette palette(colours.button, colours.window);
    palette.setColor(QPalette::Window, colours.window);
    palette.setColor(QPalette::WindowText, colours.text);
    palette.setColor(QPalette::Base, colours.base);
    palette.setColor(QPalette::AlternateBase, colours.alternate);
    palette.setColor(QPalette::Text, colours.text);
    palette.setColor(QPalette::PlaceholderText, colours.muted);
    palette.setColor(QPalette::Button, colours.button);
    palette.setColor(QPalette::ButtonText, colours.text);
    palette.setColor(QPalette::BrightText, colours.text);
    palette.setColor(QPalette::ToolTipBase, colours.base);
    palette.setColor(QPalette::ToolTipText, colours.text);
    palette.setColor(QPalette::Mid, colours.line);
    palette.setColor(QPalette::Highlight, colours.highlight);
    palette.setColor(QPalette::HighlightedText, colours.text);
    palette.setColor(QPalette::Link, colours.link);
    palette.setColor(QPalette::LinkVisited, colours.link);
    for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, colours.disabled);
    return palette;
}

bool platformIsDark() {
    QApplication::setPalette(QPalette()); // the palette of the platform
    const QPalette platform = QApplication::palette();
    return platform.color(QPalette::Window).lightness() < platform.color(QPalette::WindowText).lightness();
}

/// A style that corrects Fusion in one point: Fusion draws the frame of a check box darker than the window, which is
/// invisible in a dark theme.
class Style : public QProxyStyle {
public:
    Style()
        : QProxyStyle("Fusion") {}

    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override {
        QProxyStyle::drawPrimitive(element, option, painter, widget);
        if (element != PE_IndicatorCheckBox || option->palette.window().color().lightness() > 127)
            return;
        painter->setPen(option->palette.color(QPalette::Mid).lighter());
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    }
};

} // namespace

QStringList themeIds() {
    return {"system", "light", "dark"};
}

void applyTheme(const QString& id) {
    if (!dynamic_cast<Style*>(QApplication::style()))
        QApplication::setStyle(new Style);
    const bool isDark = id == "dark" || (id != "light" && platformIsDark());
    QApplication::setPalette(paletteFrom(isDark ? dark : light));
}

} // namespace secateur
