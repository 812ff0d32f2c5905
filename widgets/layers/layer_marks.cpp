#include "widgets/layers/layer_marks.h"

#include "analysis/base/text.h"
#include "widgets/document/mask_editor.h"

#include <QCoreApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPixmap>

#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

constexpr double bandPeriod = 10; ///< distance of hatch lines, in units of the theme
constexpr double barPeriod = 4;
constexpr double stripHeight = 18;
constexpr double stripGap = 3;
constexpr double barsWidth = 0.72; ///< width of the bars as a share of the distance between layers

QString markText(const char* text) {
    return QCoreApplication::translate("LayerMarks", text);
}

Cut cutOf(bool now, bool then) {
    return now && then ? Cut::real : now || then ? Cut::preview : Cut::none;
}

double shareCut(const std::vector<bool>& kept) {
    if (kept.empty())
        return 0;
    const auto cut = std::count(kept.begin(), kept.end(), false);
    return static_cast<double>(cut) / static_cast<double>(kept.size());
}

QString shares(const std::vector<bool>& kept, const char* thing) {
    const auto cut = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), false));
    if (cut == 0)
        return {};
    return markText("%1 of %2 cut (%3 %)")
        .arg(QString::fromStdString(grouped(cut)), QString::fromStdString(counted(kept.size(), thing)),
             QString::fromStdString(significant(100 * shareCut(kept))));
}

/// Entries of the legend, in the order in which they are shown.
enum Part { attention, mlp, block, bypass, heads, neurons, preview, partCount };

std::array<bool, partCount> partsIn(const std::vector<LayerMark>& layers) {
    std::array<bool, partCount> shown{};
    for (const LayerMark& mark : layers) {
        const std::array<Cut, 4> whole{mark.attention, mark.mlp, mark.block, mark.bypass};
        for (std::size_t i = 0; i < whole.size(); ++i)
            shown[i] = shown[i] || whole[i] != Cut::none;
        shown[heads] = shown[heads] || std::max(mark.heads, mark.headsPreview) > 0;
        shown[neurons] = shown[neurons] || std::max(mark.neurons, mark.neuronsPreview) > 0;
        shown[preview] = shown[preview] || std::ranges::count(whole, Cut::preview) > 0 ||
                         mark.heads != mark.headsPreview || mark.neurons != mark.neuronsPreview;
    }
    return shown;
}

void paintSwatch(QPainter& painter, const QRect& box, Part part, const PlotTheme& theme, double pixelRatio) {
    const bool isBar = part == heads || part == neurons;
    const Slant slant = part == block || part == preview     ? Slant::both
                        : part == attention || part == heads ? Slant::up
                                                             : Slant::down;
    QColor tint = theme.text;
    tint.setAlphaF(isBar ? 0.4F : part == block || part == bypass ? 0.09F : 0);
    painter.fillRect(box, isBar ? theme.absent : theme.background);
    const QRect filled = isBar ? box.adjusted(0, box.height() / 2, 0, 0) : box;
    painter.fillRect(filled, tint);
    if (part == bypass) {
        painter.setPen(theme.text);
        painter.setFont(theme.font);
        painter.drawText(box, Qt::AlignCenter | Qt::TextDontClip, QStringLiteral("α"));
        return;
    }
    const Cut cut = part == preview ? Cut::preview : Cut::real;
    painter.fillRect(filled, slantBrush(slant, cut, isBar ? 4 : 7, theme, pixelRatio));
}

} // namespace

std::vector<LayerMark> layerMarks(const MaskEditor& masks, bool attention) {
    std::vector<LayerMark> marks;
    for (int index = 0; index < masks.mask().layerCount(); ++index) {
        const LayerMask& now = masks.mask().layer(index);
        const LayerMask& then = masks.preview() ? masks.preview()->layer(index) : now;
        LayerMark mark;
        mark.block = cutOf(!now.block, !then.block);
        mark.mlp = cutOf(!now.mlp, !then.mlp);
        mark.neurons = shareCut(now.neurons);
        mark.neuronsPreview = masks.preview() ? shareCut(then.neurons) : mark.neurons;
        if (attention) {
            const auto isBypassed = [](const LayerMask& layer) { return layer.attention == AttentionCut::bypassQk; };
            mark.attention = cutOf(now.attention == AttentionCut::drop, then.attention == AttentionCut::drop);
            mark.bypass = cutOf(isBypassed(now), isBypassed(then));
            mark.alpha = isBypassed(then) ? then.alpha : now.alpha;
            mark.heads = shareCut(now.heads);
            mark.headsPreview = masks.preview() ? shareCut(then.heads) : mark.heads;
        }
        marks.push_back(mark);
    }
    return marks;
}

QString cutSummary(const PruningMask& mask, int index) {
    if (index >= mask.layerCount())
        return {};
    const LayerMask& layer = mask.layer(index);
    if (!layer.block)
        return markText("block dropped");
    QStringList parts;
    if (layer.attention == AttentionCut::drop)
        parts << markText("attention dropped");
    if (layer.attention == AttentionCut::bypassQk)
        parts << markText("Q/K bypassed, α %1").arg(layer.alpha);
    parts << shares(layer.heads, "head");
    if (!layer.mlp)
        parts << markText("MLP dropped");
    parts << shares(layer.neurons, "neuron");
    parts.removeAll(QString());
    return parts.join(" · ");
}

QBrush slantBrush(Slant slant, Cut cut, double period, const PlotTheme& theme, double pixelRatio) {
    const double scale = theme.unit * pixelRatio;
    const int side = std::max(3, static_cast<int>(std::lround(period * scale)));
    QPixmap tile(side, side);
    tile.fill(Qt::transparent);
    QColor colour = theme.text;
    colour.setAlphaF(cut == Cut::real ? 0.36F : 0.18F);
    QPainter painter(&tile);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colour, 1.1 * scale));
    for (int step = -1; step <= 1; ++step) { // includes the corners, which the lines of neighbouring tiles cross
        const double from = step * side;
        if (slant != Slant::down)
            painter.drawLine(QPointF(from - side, 2 * side), QPointF(from + 2 * side, -side));
        if (slant != Slant::up)
            painter.drawLine(QPointF(from - side, -side), QPointF(from + 2 * side, 2 * side));
    }
    painter.end();
    QBrush brush(tile);
    brush.setTransform(QTransform::fromScale(1 / pixelRatio, 1 / pixelRatio));
    return brush;
}

QRect layerColumn(const QCPAxis& layers, int layer, double width) {
    const int left = static_cast<int>(std::lround(layers.coordToPixel(layer - width / 2)));
    const int right = static_cast<int>(std::lround(layers.coordToPixel(layer + width / 2)));
    const QRect rect = layers.axisRect()->rect();
    return {left, rect.top(), std::max(1, right - left), rect.height()};
}

// ---- marks

LayerMarks::LayerMarks(QCPAxis* axis, const PlotTheme& theme)
    : PlotDrawing(axis->axisRect(), Layer::grid, theme)
    , m_axis(axis) {}

void LayerMarks::setLayers(const std::vector<LayerMark>& layers) {
    m_layers = layers;
    const bool hasBars = std::ranges::any_of(layers, [](const LayerMark& mark) {
        return std::max({mark.heads, mark.headsPreview, mark.neurons, mark.neuronsPreview}) > 0;
    });
    m_axis->setOffset(hasBars ? theme().length(stripHeight + stripGap) : 0);
}

QRect LayerMarks::clipRect() const {
    return PlotDrawing::clipRect().adjusted(0, 0, 0, theme().length(stripHeight + stripGap));
}

void LayerMarks::draw(QCPPainter& painter) {
    for (std::size_t layer = 0; layer < m_layers.size(); ++layer) {
        drawBands(painter, static_cast<int>(layer), m_layers[layer]);
        drawBars(painter, static_cast<int>(layer), m_layers[layer]);
    }
}

void LayerMarks::tint(QPainter& painter, const QRect& box, Cut cut) const {
    QColor colour = theme().text;
    colour.setAlphaF(cut == Cut::real ? 0.09F : 0.04F);
    painter.fillRect(box, colour);
}

void LayerMarks::hatch(QPainter& painter, const QRect& box, Slant slant, Cut cut, double period) const {
    if (cut != Cut::none)
        painter.fillRect(box, slantBrush(slant, cut, period, theme(), plot()->bufferDevicePixelRatio()));
}

void LayerMarks::drawBands(QPainter& painter, int layer, const LayerMark& mark) const {
    const QRect band = layerColumn(*m_axis, layer);
    for (const Cut cut : {mark.block, mark.bypass})
        if (cut != Cut::none)
            tint(painter, band, cut);
    hatch(painter, band, Slant::both, mark.block, bandPeriod);
    hatch(painter, band, Slant::up, mark.attention, bandPeriod);
    hatch(painter, band, Slant::down, mark.mlp, bandPeriod);
    if (mark.bypass != Cut::none)
        drawAlpha(painter, band, mark);
}

/// Draws the text of alpha in a band: horizontally, or rotated upwards if the band is narrow.
void LayerMarks::drawAlpha(QPainter& painter, const QRect& band, const LayerMark& mark) const {
    const QString text = QStringLiteral("α %1").arg(mark.alpha);
    const QFontMetrics metrics(theme().font);
    const int air = theme().length(3);
    if (band.width() < metrics.height() * 3 / 4)
        return;
    painter.setFont(theme().font);
    painter.setPen(mark.bypass == Cut::real ? theme().text : theme().muted);
    if (metrics.horizontalAdvance(text) + air <= band.width()) {
        painter.drawText(band.adjusted(0, air, 0, 0), Qt::AlignHCenter | Qt::AlignTop, text);
        return;
    }
    painter.save();
    painter.translate(band.left(), band.top() + air + metrics.horizontalAdvance(text));
    painter.rotate(-90);
    painter.drawText(QRect(0, 0, metrics.horizontalAdvance(text) + 1, band.width()), Qt::AlignCenter | Qt::TextDontClip,
                     text);
    painter.restore();
}

void LayerMarks::drawBars(QPainter& painter, int layer, const LayerMark& mark) const {
    const QRect whole = layerColumn(*m_axis, layer, barsWidth);
    const int top = whole.bottom() + 1 + theme().length(stripGap);
    const bool both = std::max(mark.heads, mark.headsPreview) > 0;
    const int middle = both ? whole.width() / 2 : 0;
    const QRect left(whole.left(), top, std::max(1, middle), theme().length(stripHeight));
    const QRect right(whole.left() + middle, top, whole.width() - middle, theme().length(stripHeight));
    const bool neurons = std::max(mark.neurons, mark.neuronsPreview) > 0;
    drawBar(painter, neurons ? left : left.united(right), Slant::up, mark.heads, mark.headsPreview);
    drawBar(painter, right, Slant::down, mark.neurons, mark.neuronsPreview);
}

void LayerMarks::drawBar(QPainter& painter, const QRect& room, Slant slant, double share, double previewed) const {
    if (std::max(share, previewed) <= 0)
        return;
    painter.fillRect(room, theme().absent);
    const auto part = [&](double height) {
        const int pixels = std::clamp(static_cast<int>(std::lround(height * room.height())), 2, room.height());
        return room.adjusted(0, room.height() - pixels, 0, 0);
    };
    const auto fill = [&](const QRect& box, float opacity, Cut cut) {
        QColor colour = theme().text;
        colour.setAlphaF(opacity);
        painter.fillRect(box, colour);
        hatch(painter, box, slant, cut, barPeriod);
    };
    fill(part(std::max(share, previewed)), 0.15F, Cut::preview);
    if (std::min(share, previewed) > 0)
        fill(part(std::min(share, previewed)), 0.4F, Cut::real);
}

// ---- legend

LayerMarksLegend::LayerMarksLegend(QWidget* parent)
    : QWidget(parent) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 0, 8, 6);
    row->setSpacing(6);
    for (const QString& text : {tr("attention dropped"), tr("MLP dropped"), tr("block dropped"), tr("Q/K bypassed"),
                                tr("heads cut"), tr("neurons cut"), tr("preview")}) {
        const Entry entry{new QLabel, new QLabel(text)};
        row->addWidget(entry.picture);
        row->addWidget(entry.text);
        entry.text->setContentsMargins(0, 0, 8, 0); // a margin is hidden together with the text
        m_entries.push_back(entry);
    }
    row->addStretch();
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // a narrow window clips the legend instead of growing
    draw();
    setLayers({});
}

void LayerMarksLegend::setLayers(const std::vector<LayerMark>& layers) {
    const std::array<bool, partCount> shown = partsIn(layers);
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        m_entries[i].picture->setVisible(shown[i]);
        m_entries[i].text->setVisible(shown[i]);
    }
    setVisible(std::ranges::count(shown, true) > 0);
    setAccessibleName(text());
}

QString LayerMarksLegend::text() const {
    QStringList parts;
    for (const Entry& entry : m_entries)
        if (!entry.text->isHidden())
            parts << entry.text->text();
    return parts.join(" · ");
}

void LayerMarksLegend::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        draw();
}

void LayerMarksLegend::draw() {
    const PlotTheme theme = themeOf(*this);
    const QSize size(26, 14);
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        QPixmap picture(size * devicePixelRatioF());
        picture.setDevicePixelRatio(devicePixelRatioF());
        QPainter painter(&picture);
        paintSwatch(painter, QRect(QPoint(), size), static_cast<Part>(i), theme, devicePixelRatioF());
        painter.end();
        m_entries[i].picture->setPixmap(picture);
    }
}

} // namespace secateur
