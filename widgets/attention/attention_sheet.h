#pragma once

#include "analysis/running/attention_reader.h"
#include "analysis/model/model_spec.h"

#include <QPixmap>
#include <QString>
#include <QWidget>

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace secateur {

class HeadFilter;
class Selection;

/// Attention maps in small: of one layer, wrapped to so many columns, or of all as a contact sheet, layers from top to
/// bottom and heads from left to right. Colours of each go from 0 to its own 99th percentile: they show its shape, not
/// its size. A click selects a head.
class AttentionSheet : public QWidget {
    Q_OBJECT

public:
    AttentionSheet(Selection* selection, QWidget* parent = nullptr);

    /// Heads that do not pass step back.
    void setFilter(const HeadFilter* filter);
    /// Rows without any thumbnail as yet.
    void setLayers(const ModelSpec& spec, const std::vector<int>& layers);
    /// For a sheet of one layer. @param columns 0 = all heads in a row
    void setColumns(int columns);
    /// @param side pixels of a thumbnail
    void setSide(int side);
    int side() const { return m_side; }
    void setColours(const QString& map);
    void setThumbnail(const AttentionThumbnail& thumbnail);
    /// Heads of the layer that have no thumbnail are cut.
    void setRead(int layer);

    QRect cellRect(HeadId head) const;
    std::optional<HeadId> headAt(QPointF point) const;
    QSize sizeHint() const override;

signals:
    /// Larger or smaller thumbnails, by Ctrl and the wheel. @param steps above 0 = larger
    void zoomWanted(double steps, const QPointF& about);
    void toolTipRequested(const QPoint& globalPosition, secateur::HeadId head);
    /// A person wants to see this head as a whole.
    void opened(secateur::HeadId head);

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;

private:
    static constexpr int gap = 4;

    void paintCell(QPainter& painter, HeadId head, const QRect& cell) const;
    void followHover();
    std::set<HeadId> pointedAt() const;
    int rowOf(int layer) const;
    void paintLabels(QPainter& painter) const;
    int labelWidth() const;
    int labelHeight() const;
    int step() const { return m_side + gap; }

    Selection* m_selection;
    const HeadFilter* m_filter = nullptr;
    ModelSpec m_spec;
    std::vector<int> m_layers;
    std::vector<int> m_rows; ///< by layer; -1 = not shown
    std::set<int> m_read;
    std::map<HeadId, AttentionThumbnail> m_thumbnails;
    mutable std::map<HeadId, QPixmap> m_pictures; ///< as far as they were painted
    QString m_colours = "viridis";
    std::set<HeadId> m_pointedAt; ///< as it was painted
    int m_side = 64;
    int m_columns = 0; ///< 0 = a row for each layer
};

} // namespace secateur
