#pragma once

#include "analysis/model/model_spec.h"
#include "analysis/running/attention_reader.h"

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
struct PlotTheme;

/// Thumbnails of attention maps. Shows the heads of one layer in several columns, or all layers as rows with one column
/// per head. The colours of each thumbnail range from 0 to its own 99th percentile, so that thumbnails show the pattern
/// of the attention and not its size. A click or the arrows select a head, a double click or Enter opens it.
class AttentionSheet : public QWidget {
    Q_OBJECT

public:
    AttentionSheet(Selection* selection, QWidget* parent = nullptr);

    /// Sets the filter. Heads that do not pass it are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// Sets the layers to show and removes all thumbnails.
    void setLayers(const ModelSpec& spec, const std::vector<int>& layers);
    /// Sets the number of columns of a sheet of one layer. @param columns 0 = all heads in one row
    void setColumns(int columns);
    /// @param side side of a thumbnail in pixels
    void setSide(int side);
    int side() const { return m_side; }
    void setColours(const QString& map);
    void setThumbnail(const AttentionThumbnail& thumbnail);
    /// Notes that a layer was read. Its heads without a thumbnail are then drawn as cut.
    void setRead(int layer);

    QRect cellRect(HeadId head) const;
    std::optional<HeadId> headAt(QPointF point) const;
    QSize sizeHint() const override;

signals:
    /// Emitted when the wheel is turned with Ctrl. @param steps positive = larger thumbnails
    void zoomWanted(double steps, const QPointF& about);
    void toolTipRequested(const QPoint& globalPosition, secateur::HeadId head);
    /// Emitted when a thumbnail is double-clicked.
    void opened(secateur::HeadId head);

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void moveEvent(QMoveEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;

private:
    static constexpr int gap = 4;

    void paintCell(QPainter& painter, HeadId head, const QRect& cell) const;
    void followHover();
    void moveBy(int right, int down);
    std::set<HeadId> pointedAt() const;
    int rowOf(int layer) const;
    QPoint headerCorner() const;
    void paintLabels(QPainter& painter) const;
    void paintLayerLabels(QPainter& painter, const QPoint& corner, const PlotTheme& theme) const;
    int labelWidth() const;
    int labelHeight() const;
    int step() const { return m_side + gap; }

    Selection* m_selection;
    const HeadFilter* m_filter = nullptr;
    ModelSpec m_spec;
    std::vector<int> m_layers;
    std::vector<int> m_rows; ///< row on the sheet of each layer; -1 = not shown
    std::set<int> m_read;
    std::map<HeadId, AttentionThumbnail> m_thumbnails;
    mutable std::map<HeadId, QPixmap> m_pictures; ///< pictures of thumbnails that were painted before
    QString m_colours = "viridis";
    std::set<HeadId> m_pointedAt; ///< heads painted with a frame
    int m_side = 64;
    int m_columns = 0; ///< 0 = a row for each layer
};

} // namespace secateur
