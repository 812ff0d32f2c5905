#include "widgets/layers/layer_marks_legend.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPixmap>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

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

LayerMarksLegend::LayerMarksLegend(QWidget* parent)
    : QWidget(parent) {
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 0, 8, 6);
    row->setSpacing(6);
    for (const QString& text : {tr("no attention"), tr("no MLP"), tr("no block"), tr("Q/K bypassed"), tr("heads cut"),
                                tr("neurons cut"), tr("preview")}) {
        const Entry entry{new QLabel, new QLabel(text)};
        row->addWidget(entry.picture);
        row->addWidget(entry.text);
        entry.text->setContentsMargins(0, 0, 8, 0); // unlike spacing, it goes with the text
        m_entries.push_back(entry);
    }
    row->addStretch();
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // a narrow window cuts it off instead of growing
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
