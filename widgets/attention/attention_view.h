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

/// Attention maps of a prompt: that of the active head with thumbnails of its layer beside it, or thumbnails of all
/// heads of the model. The prompt is edited in place. Nothing runs before the view is visible.
class AttentionView : public QWidget {
    Q_OBJECT

public:
    AttentionView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// Heads that do not pass are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The map on screen; without cells when there is none.
    Figure currentFigure() const;
    /// The command that draws the map again. @param maskFile of the mask that the model runs with; empty = dense
    CommandLine command(const std::string& maskFile) const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
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

signals:
    /// The command to copy needs the current mask in a file.
    void maskedCommandWanted();
    /// One line on the cell or head under the pointer; empty when there is none.
    void hoverText(const QString& text);
    /// A picture could not be saved.
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
    /// Asks for the active head's map, and for all thumbnails where they are shown. Runs nothing while invisible.
    void follow();
    /// The map takes a square, the layer's thumbnails the rest of the width.
    void shareWidth();
    void onLayerRead(int layer);
    void showMap();
    void updateHoverText();
    /// A head's name, with its attention pattern where that is measured.
    QString describe(HeadId head) const;
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
    QSlider* m_size; ///< of thumbnails in the sheet
    QLabel* m_title;
    QStackedWidget* m_stack;
    AttentionPlot* m_plot;
    AttentionSheet* m_strip;
    AttentionSheet* m_sheet;
    QScrollArea* m_stripArea;
    QScrollArea* m_sheetArea;
    FigureActions* m_actions;
    QTimer* m_typing; ///< runs until the prompt is complete
    int m_stripLayer = -1;
};

} // namespace secateur
