#include "widgets/report/text_boxes.h"

#include "widgets/plot/plot_axes.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QTextLayout>
#include <QTextOption>

#include <qcustomplot.h>

#include <cmath>
#include <memory>
#include <utility>

namespace secateur {

namespace {

constexpr double reportDotsPerInch = 300;

QFont sized(QFont font, double points) {
    font.setPixelSize(static_cast<int>(std::lround(points / 72 * reportDotsPerInch)));
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

std::shared_ptr<QTextLayout> layoutOf(const QString& text, const TextLook& look) {
    auto layout = std::make_shared<QTextLayout>(text, look.font);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    option.setUseDesignMetrics(true);
    layout->setTextOption(option);
    if (look.boldLetters > 0) {
        QTextCharFormat bold;
        bold.setFontWeight(QFont::Bold);
        layout->setFormats({{0, static_cast<int>(look.boldLetters), bold}});
    }
    layout->beginLayout();
    for (QTextLine line = layout->createLine(); line.isValid(); line = layout->createLine()) {
        line.setLineWidth(look.width - (line.lineNumber() > 0 ? look.hangingIndent : 0));
        line.setPosition({line.lineNumber() > 0 ? look.hangingIndent : 0, 0});
    }
    layout->endLayout();
    return layout;
}

} // namespace

double paperUnits(double millimetres) {
    return millimetres / 25.4 * reportDotsPerInch;
}

QFont reportFont(double points, bool isBold) {
    QFont font = sized(paperTheme(static_cast<int>(reportDotsPerInch)).font, points);
    font.setBold(isBold);
    return font;
}

QFont commandFont(double points) {
    return sized(QFontDatabase::systemFont(QFontDatabase::FixedFont), points);
}

std::vector<PageBox> textBoxes(const QString& text, const TextLook& look) {
    constexpr double spacing = 1.12;
    const std::shared_ptr<QTextLayout> layout = layoutOf(text, look);
    const double height = spacing * QFontMetricsF(look.font).height();
    const int lines = layout->lineCount();
    std::vector<PageBox> boxes;
    for (int i = 0; i < lines; ++i) {
        PageBox box{.height = height, .spaceAbove = i == 0 ? look.spaceAbove : 0};
        const bool isLast = i == lines - 1;
        box.staysWithNext = isLast ? look.staysWithNext : look.staysWhole || i == 0 || i == lines - 2;
        box.draw = [layout, i, colour = look.colour](QCPPainter& painter, double left, double top) {
            painter.setPen(colour);
            layout->lineAt(i).draw(&painter, {left, top});
        };
        boxes.push_back(std::move(box));
    }
    return boxes;
}

QStringList wrappedLines(const QString& text, const QFont& font, double width) {
    const std::shared_ptr<QTextLayout> layout = layoutOf(text, {.font = font, .width = width});
    QStringList lines;
    for (int i = 0; i < layout->lineCount(); ++i) {
        const QTextLine line = layout->lineAt(i);
        lines << text.mid(line.textStart(), line.textLength()).trimmed();
    }
    return lines.isEmpty() ? QStringList{QString()} : lines;
}

double heightOf(const std::vector<PageBox>& boxes) {
    double height = 0;
    for (const PageBox& box : boxes)
        height += box.spaceAbove + box.height;
    return height;
}

PageBox joined(std::vector<PageBox> boxes) {
    PageBox all{.height = heightOf(boxes)};
    all.draw = [boxes = std::move(boxes)](QCPPainter& painter, double left, double top) {
        for (const PageBox& box : boxes) {
            box.draw(painter, left, top + box.spaceAbove);
            top += box.spaceAbove + box.height;
        }
    };
    return all;
}

} // namespace secateur
