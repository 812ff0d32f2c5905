#pragma once

#include "analysis/base/head_id.h"
#include "analysis/figures/figure.h"
#include "analysis/session/command_line.h"

#include <QWidget>

#include <vector>

class QCheckBox;
class QLabel;
class QPlainTextEdit;
class QScrollArea;
class QSlider;
class QStackedWidget;
class QTimer;
class QToolButton;

namespace secateur {

class AttentionPlot;
class AttentionRun;
class AttentionSheet;
class ColourControls;
class Document;
class FigureActions;
class HeadFilter;
class JobRunner;
class Selection;

/// Attention maps of a prompt, which can be edited in the view. Shows the map of the active head next to the thumbnails
/// of its layer, or the thumbnails of all heads of the model. The model runs only while the view is visible.
class AttentionView : public QWidget {
    Q_OBJECT

public:
    AttentionView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// Sets the filter. Heads that do not pass it are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The map on screen; without cells if there is none.
    Figure currentFigure() const;
    /// The command that draws the map again. @param maskFile file of the model's mask; empty = dense
    CommandLine command(const std::string& maskFile) const;
    /// Actions that copy and save the map, for the window's menus. The context menu has them too.
    FigureActions* figureActions() const { return m_actions; }
    AttentionPlot* plot() const { return m_plot; }
    AttentionRun* run() const { return m_run; }
    AttentionSheet* strip() const { return m_strip; }
    AttentionSheet* sheet() const { return m_sheet; }
    QPlainTextEdit* prompt() const { return m_prompt; }

public slots:
    /// Selects a head and shows its map.
    void showHead(secateur::HeadId head);
    void showAllHeads(bool all);
    bool showsAllHeads() const;

signals:
    /// Emitted when the user copies the command while the model runs under a mask, which has to be written to a file
    /// first.
    void maskedCommandWanted();
    /// Emitted with one line about the cell or head under the pointer; empty if there is none.
    void hoverText(const QString& text);
    /// Emitted when a picture could not be saved.
    void failed(const QString& message);

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void build();
    void connectAll();
    void restore();
    void restart();
    /// Requests the map of the active head, and all thumbnails if they are shown. Does nothing while the view is
    /// invisible.
    void follow();
    /// Divides the width between the map, which is a square, and the thumbnails of the layer.
    void shareWidth();
    void onLayerRead(int layer);
    void showMap();
    void updateHoverText();
    /// A head's name, with its attention pattern if that was measured.
    QString describe(HeadId head) const;
    /// Sets the size at which the thumbnails of all heads fill the width, within limits.
    void fitThumbnails();
    /// Changes the size of thumbnails around a fixed point of the sheet.
    void resizeThumbnails(int side, const QPointF& about);
    HeadId head() const;

    Document* m_document;
    Selection* m_selection;
    AttentionRun* m_run;
    QPlainTextEdit* m_prompt;
    QCheckBox* m_masked;
    ColourControls* m_colours;
    QToolButton* m_all;
    QSlider* m_size; ///< size of the thumbnails of all heads
    QLabel* m_title;
    QStackedWidget* m_stack;
    AttentionPlot* m_plot;
    AttentionSheet* m_strip;
    AttentionSheet* m_sheet;
    QScrollArea* m_stripArea;
    QScrollArea* m_sheetArea;
    FigureActions* m_actions;
    QTimer* m_typing; ///< waits until the user has stopped typing the prompt
    int m_stripLayer = -1;
    bool m_fitsWidth = true; ///< whether the thumbnails fill the width of the sheet, until the user resizes them
};

} // namespace secateur
