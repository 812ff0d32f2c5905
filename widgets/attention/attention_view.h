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

/// Attention maps of a prompt, which is edited in the view: the map of the active head with thumbnails of its layer
/// beside it, or thumbnails of all heads of the model. The model does not run before the view is visible.
class AttentionView : public QWidget {
    Q_OBJECT

public:
    AttentionView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// Heads that do not pass are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The map on screen; without cells if there is none.
    Figure currentFigure() const;
    /// The command that draws the map again. @param maskFile file of the model's mask; empty = dense
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
    /// The user wants to copy the command, which needs the current mask in a file.
    void maskedCommandWanted();
    /// One line about the cell or head under the pointer; empty if there is none.
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
    /// Requests the active head's map, and all thumbnails if they are shown. Runs nothing while invisible.
    void follow();
    /// Divides the width: the map is a square, the layer's thumbnails have the rest.
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
    QSlider* m_size; ///< of thumbnails in the sheet
    QLabel* m_title;
    QStackedWidget* m_stack;
    AttentionPlot* m_plot;
    AttentionSheet* m_strip;
    AttentionSheet* m_sheet;
    QScrollArea* m_stripArea;
    QScrollArea* m_sheetArea;
    FigureActions* m_actions;
    QTimer* m_typing; ///< runs while the user may still be typing the prompt
    int m_stripLayer = -1;
    bool m_fitsWidth = true; ///< whether the thumbnails fill the width of the sheet, until the user resizes them
};

} // namespace secateur
