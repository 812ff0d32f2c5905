#include "widgets/shortcut_sheet.h"

#include <QAction>
#include <QHeaderView>
#include <QKeySequence>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace secateur {

namespace {

struct ViewKey {
    const char* keys;
    const char* meaning;
};

constexpr ViewKey headsKeys[]{
    {"Arrows", "Move the active cell"},
    {"Shift+Arrows", "Select from where the movement began to here"},
    {"Home, End", "First and last head of the layer"},
    {"Esc", "Give up what is being dragged, then the selection"},
    {"Click", "Select a cell; a header selects its layer or column"},
    {"Ctrl+Click", "Add a cell to the selection, or take it out"},
    {"Shift+Click", "Select everything between the active cell and this one"},
    {"Drag", "Select a rectangle"},
    {"Ctrl+Shift+Drag", "Select with a lasso"},
    {"Wheel", "Scroll, when zoomed in"},
    {"Ctrl+Wheel", "Zoom"},
    {"Middle button", "Move the picture"},
};

void addRow(QTreeWidgetItem* group, const QString& keys, const QString& meaning) {
    new QTreeWidgetItem(group, {keys, meaning});
}

QString withoutMnemonic(QString text) {
    return text.remove('&').remove(QStringLiteral("…"));
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
    auto* everywhere = new QTreeWidgetItem(sheet, {tr("Everywhere")});
    for (const QAction* action : actions) {
        QStringList keys;
        for (const QKeySequence& sequence : action->shortcuts())
            keys << sequence.toString(QKeySequence::NativeText);
        if (!keys.isEmpty())
            addRow(everywhere, keys.join(QStringLiteral(", ")), withoutMnemonic(action->text()));
    }
    auto* heads = new QTreeWidgetItem(sheet, {tr("In the picture of the heads")});
    for (const ViewKey& key : headsKeys)
        addRow(heads, tr(key.keys), tr(key.meaning));
    for (QTreeWidgetItem* group : {everywhere, heads}) {
        QFont bold = font();
        bold.setBold(true);
        group->setFont(0, bold);
        group->setFirstColumnSpanned(true);
    }
    sheet->expandAll();
    sheet->resizeColumnToContents(0);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(sheet);
    const int rows = everywhere->childCount() + heads->childCount() + 3;
    resize(fontMetrics().averageCharWidth() * 90, fontMetrics().height() * 3 / 2 * rows);
}

} // namespace secateur
