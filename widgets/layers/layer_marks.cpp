#include "widgets/layers/layer_marks.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"

#include <QCoreApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPixmap>

#include <algorithm>

namespace secateur {

namespace {

struct LayerMarkTexts {
    Q_DECLARE_TR_FUNCTIONS(LayerMarks)
};

QString shares(const std::vector<bool>& kept, const char* thing) {
    const auto cut = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), false));
    if (cut == 0)
        return {};
    return LayerMarkTexts::tr("%1 of %2 cut (%3)")
        .arg(QString::fromStdString(grouped(cut)), countText(kept.size(), thing),
             QString::fromStdString(shownShare(shareCut(kept))));
}

} // namespace

std::vector<LayerMark> layerMarks(const MaskEditor& masks, bool attention) {
    return layerMarks(masks.mask(), masks.preview() ? &*masks.preview() : nullptr, attention);
}

QString cutSummary(const PruningMask& mask, int index) {
    if (index >= mask.layerCount())
        return {};
    const LayerMask& layer = mask.layer(index);
    if (!layer.block)
        return LayerMarkTexts::tr("block dropped");
    QStringList parts;
    if (layer.attention == AttentionCut::drop)
        parts << LayerMarkTexts::tr("attention dropped");
    if (layer.attention == AttentionCut::bypassQk)
        parts << LayerMarkTexts::tr("Q/K bypassed, α %1").arg(layer.alpha);
    parts << shares(layer.heads, "head");
    if (!layer.mlp)
        parts << LayerMarkTexts::tr("MLP dropped");
    parts << shares(layer.neurons, "neuron");
    parts.removeAll(QString());
    return parts.join(" · ");
}

// ---- legend

LayerMarksLegend::LayerMarksLegend(QWidget* parent)
    : QWidget(parent) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 0, 8, 6);
    row->setSpacing(6);
    for (const MarkEntry mark : allMarkEntries) {
        const Entry entry{new QLabel, new QLabel(markText(mark))};
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
    const std::vector<MarkEntry> shown = entriesOf(layers);
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        const bool isShown = std::ranges::find(shown, allMarkEntries[i]) != shown.end();
        m_entries[i].picture->setVisible(isShown);
        m_entries[i].text->setVisible(isShown);
    }
    setVisible(!shown.empty());
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
        painter.setRenderHint(QPainter::Antialiasing);
        drawSample(painter, QRectF(QPointF(), size), allMarkEntries[i], theme);
        painter.end();
        m_entries[i].picture->setPixmap(picture);
    }
}

} // namespace secateur
