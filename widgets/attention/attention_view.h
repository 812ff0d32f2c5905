#pragma once

#include "analysis/session/command_line.h"
#include "analysis/figures/figure.h"
#include "analysis/base/head_id.h"

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

/// What tokens of a prompt attend to: the map of the active head with all heads of its layer in small beneath, or all
/// heads of the model at once. The prompt is edited in place. Nothing runs before the view is seen.
class AttentionView : public QWidget {
    Q_OBJECT

public:
    AttentionView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// Heads that do not pass step back.
    void setFilter(const HeadFilter* filter);
    /// The map on screen; without cells when there is none.
    Figure currentFigure() const;
    /// What draws it again. @param maskFile that the model runs under; empty = dense
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
    /// A command is to be copied that needs the current mask in a file.
    void maskedCommandWanted();
    /// One line on the cell or head under the pointer; empty when there is none.
    void hoverText(const QString& text);
    /// Saving a picture did not work.
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
    /// Asks for what is looked at, unless nobody looks.
    void follow();
    /// The map takes a square, the layer's heads what is left beside it.
    void share();
    void fillSheet(AttentionSheet& sheet, const std::vector<int>& layers);
    void onLayerRead(int layer);
    void showMap();
    void tell();
    /// What a head is called, and of which attention pattern it is, where that is measured.
    QString describe(HeadId head) const;
    /// Thumbnails of another size, with what is at a point of the sheet staying where it is.
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
    QTimer* m_typing; ///< until the prompt stands still
    int m_stripLayer = -1;
};

} // namespace secateur
