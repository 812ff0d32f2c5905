#include "widgets/window/shortcut_sheet.h"

#include <QAction>
#include <QHeaderView>
#include <QKeySequence>
#include <QScreen>
#include <QStyle>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <span>
#include <utility>

namespace secateur {

namespace {

struct ViewKey {
    const char* keys;
    const char* meaning;
};

constexpr ViewKey headsKeys[]{
    {"Arrows", "Move the active cell"},
    {"Ctrl+Arrows", "Move it to the edge"},
    {"Page Up, Page Down", "Move it by half a screen"},
    {"Home, End", "First and last head; with Ctrl, of the model"},
    {"Shift with these", "Extend the selection"},
    {"Esc", "Cancel the drag, then the preview, then the selection"},
    {"Space, Delete", "Cut the selected heads; restore them if all are cut"},
    {"S, or hold Alt", "Shears: click or drag to cut or restore; a header applies to its layer or column"},
    {"P", "Protect the selected heads, or end their protection"},
    {"U", "Grow the selection to KV groups"},
    {"[ and ]", "Move the threshold by one head or KV group"},
    {"Drag on the colour bar", "Cut everything below a threshold (above it if the metric prunes high values first)"},
    {"Click A, M or B", "Drop or restore the attention, the MLP or the block of a layer"},
    {"Click", "Select a cell; a header selects its layer or column"},
    {"Ctrl+Click", "Add a cell to the selection, or take it out"},
    {"Shift+Click", "Select everything from the active cell to this one"},
    {"Drag", "Select a rectangle"},
    {"Ctrl+Shift+Drag", "Select with a lasso"},
    {"Ctrl+Wheel, Ctrl++, Ctrl+-", "Zoom"},
    {"Wheel, middle button", "Move the zoomed picture"},
};

constexpr ViewKey layersKeys[]{
    {"Left, Right, Home, End", "Move to another layer"},
    {"Click", "Select the heads of a layer"},
    {"Ctrl+Click", "Add a layer's heads"},
    {"Shift+Click", "Select the layers from the first to this one"},
    {"Space, Delete", "Drop or restore the unit of the first metric (attention, MLP or block) in the selected layers"},
    {"Right click, Menu key", "Show all cuts of the selected layers"},
    {"Esc", "Cancel the preview, then the selection"},
};

constexpr ViewKey neuronsKeys[]{
    {"Left, Right, Home, End", "Move to another layer"},
    {"Click, Enter", "Open a layer's neurons"},
    {"Tab", "Go to the open layer's histogram and list"},
    {"Space, Delete", "Drop the MLPs of the selected layers; in the list, cut or restore the selected neurons"},
    {"Drag in the histogram", "Cut the neurons beyond a threshold; also with Left, Right and Enter"},
    {"Enter in the row below", "Cut the share that is previewed"},
    {"Esc", "Cancel the drag, the preview, the selected neurons, the open layer, in turn"},
};

constexpr ViewKey scatterKeys[]{
    {"Arrows", "Move to the next point in that direction; with Shift, select it too"},
    {"Click", "Select the head, the KV group or the layer of a point"},
    {"Ctrl+Click, Shift+Click", "Add or remove a point; add it"},
    {"Drag", "Select everything in a rectangle; with Ctrl or Shift, add it"},
    {"Ctrl+Shift+Drag", "Select with a lasso"},
    {"Double click, Enter", "Show the attention of a head, the neurons of a layer"},
    {"Wheel, Ctrl++, Ctrl+-", "Zoom; a double click next to the points shows all"},
    {"Middle button", "Move the picture when it is zoomed in"},
    {"Space, P, U", "Cut or restore, protect, grow to KV groups, as in Heads"},
    {"Esc", "Cancel the drag, the preview, the selection, in turn"},
};

constexpr ViewKey attentionKeys[]{
    {"Arrows", "Move from cell to cell of the map"},
    {"Ctrl+Wheel", "Zoom into the map; with all heads, resize the maps"},
    {"Click, Ctrl+Click", "Select a head, or add it"},
    {"Double click", "Show a head's map as a whole"},
    {"Arrows, Enter in the thumbnails", "Select the next head; show its map"},
};

constexpr ViewKey weightsKeys[]{
    {"Arrows", "Move from number to number; with Shift, by ten"},
    {"Page Up, Page Down, Home, End", "Move by half a screen; to the first and last column, with Ctrl to the corners"},
    {"Ctrl+Wheel, + and -, 0", "Zoom, down to single numbers; show everything"},
    {"Wheel, drag", "Move the zoomed picture"},
    {"Click, Enter", "Select the head, KV group or neuron of a row or column"},
    {"Right click, Menu key", "Cut or restore this unit, save or copy the picture"},
};

constexpr ViewKey pointKeys[]{
    {"Click, Arrows", "Choose a point; the next point in that direction"},
    {"Double click, Enter", "Make the mask of the chosen point the current one"},
};

constexpr ViewKey galleryKeys[]{
    {"Arrows, Tab", "Move from figure to figure"},
    {"Click, Enter", "Measure a grey figure"},
    {"Double click, Enter", "Open a figure with its options"},
    {"Right click, Menu key", "Save or copy a figure, its data or its command"},
    {"Esc", "Cancel the measurement of the figure"},
};

constexpr ViewKey filterKeys[]{
    {"layer 3-12, head 0", "Heads of these layers and with this number"},
    {"sink_head > 0.5", "Heads with a value above 0.5; also <, <= and >="},
    {"gate_norm_head lowest 10 %", "The lowest (or highest) heads of the model"},
    {"pattern is sink", "Heads with this attention pattern"},
    {"cut, protected", "Cut or protected heads; “not” negates any condition"},
    {"Esc", "Show all heads again"},
};

int rowHeight(const QWidget& widget) {
    return widget.fontMetrics().height() * 4 / 3;
}

void addRow(QTreeWidgetItem* group, const QString& keys, const QString& meaning) {
    auto* row = new QTreeWidgetItem(group, {keys, meaning});
    const QWidget& sheet = *group->treeWidget();
    const int width = sheet.fontMetrics().horizontalAdvance(keys) + 3 * sheet.fontMetrics().averageCharWidth();
    row->setSizeHint(0, {width, rowHeight(sheet)});
}

/// What an action does in general: "Undo", although its text names the step.
QString meaningOf(const QAction& action) {
    for (const auto& [standard, meaning] : {std::pair{QKeySequence::Undo, ShortcutSheet::tr("Undo")},
                                            std::pair{QKeySequence::Redo, ShortcutSheet::tr("Redo")}})
        if (action.shortcuts().contains(QKeySequence(standard)))
            return meaning;
    return action.text().remove('&').remove(QStringLiteral("…"));
}

} // namespace

ShortcutSheet::ShortcutSheet(const QList<QAction*>& actions, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(tr("Shortcuts"));
    auto* sheet = new QTreeWidget;
    sheet->setAccessibleName(tr("Shortcuts"));
    sheet->setFrameShape(QFrame::NoFrame);
    sheet->setColumnCount(2);
    sheet->setHeaderHidden(true);
    sheet->setRootIsDecorated(false);
    sheet->setItemsExpandable(false);
    sheet->setSelectionMode(QAbstractItemView::NoSelection);
    sheet->setWhatsThis(tr("All keys, first those that work everywhere, then those of each view."));
    sheet->setIndentation(fontMetrics().averageCharWidth() * 2);
    sheet->setUniformRowHeights(true);
    auto* everywhere = new QTreeWidgetItem(sheet, {tr("Everywhere")});
    for (const QAction* action : actions) {
        QStringList keys;
        if (action->shortcutContext() == Qt::WidgetShortcut)
            continue; // the shortcut is listed with the view that it works in
        for (const QKeySequence& sequence : action->shortcuts())
            keys << sequence.toString(QKeySequence::NativeText);
        if (!keys.isEmpty())
            addRow(everywhere, keys.join(QStringLiteral(", ")), meaningOf(*action));
    }
    const auto addGroup = [&](const QString& title, std::span<const ViewKey> keys) {
        auto* group = new QTreeWidgetItem(sheet, {title});
        for (const ViewKey& key : keys)
            addRow(group, tr(key.keys), tr(key.meaning));
    };
    addGroup(tr("In the picture of the heads"), headsKeys);
    addGroup(tr("In the picture of the layers"), layersKeys);
    addGroup(tr("In the picture of the neurons"), neuronsKeys);
    addGroup(tr("In the scatter of two metrics"), scatterKeys);
    addGroup(tr("In the attention maps"), attentionKeys);
    addGroup(tr("In the curves and the points of evaluations"), pointKeys);
    addGroup(tr("In the gallery"), galleryKeys);
    addGroup(tr("In pictures of weights"), weightsKeys);
    addGroup(tr("In the filter of heads"), filterKeys);
    int rows = 1;
    for (int i = 0; i < sheet->topLevelItemCount(); ++i) {
        QTreeWidgetItem* group = sheet->topLevelItem(i);
        QFont bold = font();
        bold.setBold(true);
        group->setFont(0, bold);
        group->setFirstColumnSpanned(true);
        group->setSizeHint(0, {0, rowHeight(*sheet)});
        rows += 1 + group->childCount();
    }
    sheet->expandAll();
    sheet->header()->setStretchLastSection(false); // a narrow sheet scrolls and cuts nothing off
    sheet->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    sheet->setTextElideMode(Qt::ElideNone);
    auto* column = new QVBoxLayout(this);
    column->addWidget(sheet);
    setBackgroundRole(QPalette::Base);
    setAutoFillBackground(true);
    const int bar = style()->pixelMetric(QStyle::PM_ScrollBarExtent);
    const QSize whole(sheet->header()->length() + bar, rowHeight(*this) * rows);
    resize((whole + 2 * QSize(column->contentsMargins().left(), column->contentsMargins().top()))
               .boundedTo(parent->screen()->availableSize() * 9 / 10));
}

} // namespace secateur
