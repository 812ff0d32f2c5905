#include "widgets/plot/plot_layer_marks.h"

#include <QCoreApplication>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace secateur {

namespace {

constexpr double bandPeriod = 10; ///< units
constexpr double barPeriod = 4;
constexpr double stripHeight = 18;
constexpr double stripGap = 3;
constexpr double barsWidth = 0.72; ///< of the distance between layers

Cut cutOf(bool now, bool then) {
    return now && then ? Cut::real : now || then ? Cut::preview : Cut::none;
}

constexpr double lineWidth = 1.1;
constexpr double samplePeriod = 7;

QColor slantColour(Cut cut, const PlotTheme& theme) {
    QColor colour = theme.text;
    colour.setAlphaF(cut == Cut::real ? 0.36F : 0.18F);
    return colour;
}

void drawSlant(QPainter& painter, const QRectF& box, Slant slant, Cut cut, double period, const PlotTheme& theme) {
    painter.setPen(QPen(slantColour(cut, theme), lineWidth * theme.unit, Qt::SolidLine, Qt::FlatCap));
    if (slant != Slant::down)
        painter.drawLines(diagonals(box, Slope::up, period * theme.unit));
    if (slant != Slant::up)
        painter.drawLines(diagonals(box, Slope::down, period * theme.unit));
}

} // namespace

double shareCut(const std::vector<bool>& kept) {
    if (kept.empty())
        return 0;
    const auto cut = std::count(kept.begin(), kept.end(), false);
    return static_cast<double>(cut) / static_cast<double>(kept.size());
}

std::vector<MarkEntry> entriesOf(const std::vector<LayerMark>& layers) {
    std::set<MarkEntry> shown;
    for (const LayerMark& mark : layers) {
        const std::array<Cut, 4> whole{mark.attention, mark.mlp, mark.block, mark.bypass};
        for (std::size_t i = 0; i < whole.size(); ++i)
            if (whole[i] != Cut::none)
                shown.insert(allMarkEntries[i]);
        if (std::max(mark.heads, mark.headsPreview) > 0)
            shown.insert(MarkEntry::heads);
        if (std::max(mark.neurons, mark.neuronsPreview) > 0)
            shown.insert(MarkEntry::neurons);
        if (std::ranges::count(whole, Cut::preview) > 0 || mark.heads != mark.headsPreview ||
            mark.neurons != mark.neuronsPreview)
            shown.insert(MarkEntry::preview);
    }
    return {shown.begin(), shown.end()};
}

QString markText(MarkEntry entry) {
    static constexpr std::array texts{QT_TRANSLATE_NOOP("LayerMarks", "attention dropped"),
                                      QT_TRANSLATE_NOOP("LayerMarks", "MLP dropped"),
                                      QT_TRANSLATE_NOOP("LayerMarks", "block dropped"),
                                      QT_TRANSLATE_NOOP("LayerMarks", "Q/K bypassed"),
                                      QT_TRANSLATE_NOOP("LayerMarks", "heads cut"),
                                      QT_TRANSLATE_NOOP("LayerMarks", "neurons cut"),
                                      QT_TRANSLATE_NOOP("LayerMarks", "preview")};
    return QCoreApplication::translate("LayerMarks", texts[static_cast<std::size_t>(entry)]);
}

void drawSample(QPainter& painter, const QRectF& box, MarkEntry entry, const PlotTheme& theme) {
    const bool isBar = entry == MarkEntry::heads || entry == MarkEntry::neurons;
    const Slant slant = entry == MarkEntry::block || entry == MarkEntry::preview     ? Slant::both
                        : entry == MarkEntry::attention || entry == MarkEntry::heads ? Slant::up
                                                                                     : Slant::down;
    QColor tint = theme.text;
    tint.setAlphaF(isBar ? 0.4F : entry == MarkEntry::block || entry == MarkEntry::bypass ? 0.09F : 0);
    painter.fillRect(box, isBar ? theme.absent : theme.background);
    const QRectF filled = isBar ? box.adjusted(0, box.height() / 2, 0, 0) : box;
    painter.fillRect(filled, tint);
    if (entry == MarkEntry::bypass) {
        painter.setPen(theme.text);
        painter.setFont(theme.font);
        painter.drawText(box, Qt::AlignCenter | Qt::TextDontClip, QStringLiteral("α"));
        return;
    }
    drawSlant(painter, filled, slant, entry == MarkEntry::preview ? Cut::preview : Cut::real,
              isBar ? barPeriod : samplePeriod, theme);
}

std::vector<LayerMark> layerMarks(const PruningMask& mask, const PruningMask* preview, bool attention) {
    std::vector<LayerMark> marks;
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerMask& now = mask.layer(index);
        const LayerMask& then = preview ? preview->layer(index) : now;
        LayerMark mark;
        mark.block = cutOf(!now.block, !then.block);
        mark.mlp = cutOf(!now.mlp, !then.mlp);
        mark.neurons = shareCut(now.neurons);
        mark.neuronsPreview = preview ? shareCut(then.neurons) : mark.neurons;
        if (attention) {
            const auto isBypassed = [](const LayerMask& layer) { return layer.attention == AttentionCut::bypassQk; };
            mark.attention = cutOf(now.attention == AttentionCut::drop, then.attention == AttentionCut::drop);
            mark.bypass = cutOf(isBypassed(now), isBypassed(then));
            mark.alpha = isBypassed(then) ? then.alpha : now.alpha;
            mark.heads = shareCut(now.heads);
            mark.headsPreview = preview ? shareCut(then.heads) : mark.heads;
        }
        marks.push_back(mark);
    }
    return marks;
}

QBrush slantBrush(Slant slant, Cut cut, double period, const PlotTheme& theme, double pixelRatio) {
    const double scale = theme.unit * pixelRatio;
    const int side = std::max(3, static_cast<int>(std::lround(period * scale)));
    QPixmap tile(side, side);
    tile.fill(Qt::transparent);
    QPainter painter(&tile);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(slantColour(cut, theme), lineWidth * scale));
    for (int step = -1; step <= 1; ++step) { // with the corners that the lines of neighbouring tiles cross
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

void LayerMarks::tint(QCPPainter& painter, const QRect& box, Cut cut) const {
    QColor colour = theme().text;
    colour.setAlphaF(cut == Cut::real ? 0.09F : 0.04F);
    painter.fillRect(box, colour);
}

void LayerMarks::hatch(QCPPainter& painter, const QRect& box, Slant slant, Cut cut, double period) const {
    if (cut != Cut::none && isVector(painter))
        drawSlant(painter, box, slant, cut, period, theme());
    else if (cut != Cut::none)
        painter.fillRect(box, slantBrush(slant, cut, period, theme(), plot()->bufferDevicePixelRatio()));
}

void LayerMarks::drawBands(QCPPainter& painter, int layer, const LayerMark& mark) const {
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

/// Across, or upwards where the band is narrow.
void LayerMarks::drawAlpha(QCPPainter& painter, const QRect& band, const LayerMark& mark) const {
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

void LayerMarks::drawBars(QCPPainter& painter, int layer, const LayerMark& mark) const {
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

void LayerMarks::drawBar(QCPPainter& painter, const QRect& room, Slant slant, double share, double previewed) const {
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

namespace {

/// A legend entry without data.
class MarkSample : public QCPBars {
public:
    MarkSample(QCPAxis& key, QCPAxis& value, MarkEntry entry, const PlotTheme& theme)
        : QCPBars(&key, &value)
        , m_entry(entry)
        , m_theme(theme) {
        setName(markText(entry));
    }

protected:
    void drawLegendIcon(QCPPainter* painter, const QRectF& rect) const override {
        const double inset = rect.height() / 8;
        drawSample(*painter, rect.adjusted(0, inset, 0, -inset), m_entry, m_theme);
    }

private:
    MarkEntry m_entry;
    PlotTheme m_theme;
};

} // namespace

void addLayerMarks(QCPAxis& layers, QCPAxis& values, const std::vector<LayerMark>& marks, const PlotTheme& theme) {
    auto* drawing = new LayerMarks(&layers, theme); // belongs to the axis rect
    drawing->setLayers(marks);
    for (const MarkEntry entry : entriesOf(marks))
        new MarkSample(layers, values, entry, theme); // belongs to the plot
}

} // namespace secateur
