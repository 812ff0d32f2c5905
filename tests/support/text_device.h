#pragma once

#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QRectF>
#include <QString>
#include <QTransform>

#include <algorithm>
#include <vector>

namespace secateur::test {

/// A text that was drawn, and the rectangle of its ink in pixels.
struct DrawnText {
    QString text;
    QRectF box;
};

/// A paint device that keeps the places of texts and draws nothing.
class TextDevice : public QPaintDevice {
public:
    explicit TextDevice(QSize size)
        : m_size(size) {}

    std::vector<DrawnText> texts;

    QPaintEngine* paintEngine() const override { return &m_engine; }

protected:
    int metric(PaintDeviceMetric metric) const override {
        constexpr int dots = 300;
        switch (metric) {
        case PdmWidth:
            return m_size.width();
        case PdmHeight:
            return m_size.height();
        case PdmWidthMM:
            return m_size.width() * 254 / dots / 10;
        case PdmHeightMM:
            return m_size.height() * 254 / dots / 10;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY:
            return dots;
        case PdmDepth:
            return 32;
        case PdmDevicePixelRatio:
            return 1;
        case PdmDevicePixelRatioScaled:
            return static_cast<int>(devicePixelRatioFScale());
        default:
            return 0;
        }
    }

private:
    class Engine : public QPaintEngine {
    public:
        explicit Engine(TextDevice& device)
            : QPaintEngine(AllFeatures)
            , m_device(device) {}

        bool begin(QPaintDevice*) override { return true; }
        bool end() override { return true; }
        Type type() const override { return User; }
        void updateState(const QPaintEngineState& state) override {
            if (state.state() & DirtyTransform)
                m_transform = state.transform();
        }
        void drawTextItem(const QPointF& point, const QTextItem& item) override {
            const QRectF ink = QFontMetricsF(item.font()).tightBoundingRect(item.text()).translated(point);
            m_device.texts.push_back({item.text(), m_transform.mapRect(ink)});
        }
        void drawPath(const QPainterPath&) override {}
        void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
        void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
        void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}

    private:
        TextDevice& m_device;
        QTransform m_transform;
    };

    QSize m_size;
    mutable Engine m_engine{*this};
};

/// The first text that reaches beyond a picture, or that overlaps with another one; empty if there is none.
inline QString misplacedText(const std::vector<DrawnText>& texts, QSize picture) {
    constexpr double touching = 1.5; // pixels by which boxes may overlap
    const QRectF inside(QPointF(-touching, -touching), QSizeF(picture) + QSizeF(2 * touching, 2 * touching));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (texts[i].text.trimmed().isEmpty())
            continue;
        const QRectF box = texts[i].box.adjusted(touching, touching, -touching, -touching);
        if (!inside.contains(texts[i].box))
            return QString("\"%1\" is clipped at %2,%3").arg(texts[i].text).arg(box.x()).arg(box.y());
        for (std::size_t other = 0; other < i; ++other)
            if (!texts[other].text.trimmed().isEmpty() && box.intersects(texts[other].box))
                return QString("\"%1\" overlaps \"%2\" at %3,%4")
                    .arg(texts[i].text, texts[other].text)
                    .arg(box.x())
                    .arg(box.y());
    }
    return {};
}

} // namespace secateur::test
