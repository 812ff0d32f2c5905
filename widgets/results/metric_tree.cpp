#include "widgets/results/metric_tree.h"

#include "widgets/results/metric_names.h"

#include <QHeaderView>
#include <QSettings>

#include <algorithm>

namespace secateur {

namespace {

constexpr const char* foldedSetting = "metrics/folded";

QString groupTitle(Needs needs) {
    switch (needs) {
    case Needs::weights:
        return MetricTree::tr("From weights");
    case Needs::forward:
        return MetricTree::tr("From a text");
    case Needs::gradient:
        return MetricTree::tr("From gradients");
    case Needs::ablation:
        return MetricTree::tr("By ablation");
    }
    return {};
}

QString groupHelp(Needs needs) {
    switch (needs) {
    case Needs::weights:
        return MetricTree::tr("Need the weights only");
    case Needs::forward:
        return MetricTree::tr("Need a text and a forward pass over it");
    case Needs::gradient:
        return MetricTree::tr("Need a text, a forward and a backward pass");
    case Needs::ablation:
        return MetricTree::tr("Need an evaluation for each unit removed");
    }
    return {};
}

} // namespace

MetricTree::MetricTree(QWidget* parent)
    : QTreeWidget(parent) {
    setAccessibleName(tr("Metrics"));
    setWhatsThis(
        tr("All metrics by what they need. A click shows a measured metric; Enter or a double click measures "
           "one. The marks are: ○ not measured, ◐ being measured, ● measured, ≠ measured under another mask."));
    setColumnCount(2);
    setHeaderHidden(true);
    setFrameShape(QFrame::NoFrame);
    setUniformRowHeights(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setTextElideMode(Qt::ElideRight);
    setIndentation(fontMetrics().averageCharWidth() * 3 / 2);
    setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    viewport()->setAutoFillBackground(false); // one surface with the panel
    header()->setMinimumSectionSize(0);
    header()->setStretchLastSection(false);
    header()->setSectionResizeMode(nameColumn, QHeaderView::Stretch);
    header()->setSectionResizeMode(stateColumn, QHeaderView::ResizeToContents);
    for (const Needs needs : {Needs::weights, Needs::forward, Needs::gradient, Needs::ablation})
        addGroup(needs);
    restoreFolding();
    connect(this, &QTreeWidget::itemClicked, this, [](QTreeWidgetItem* item) {
        if (!item->parent())
            item->setExpanded(!item->isExpanded());
    });
    for (const auto folded : {&QTreeWidget::itemExpanded, &QTreeWidget::itemCollapsed})
        connect(this, folded, this, [this](const QTreeWidgetItem* item) {
            updateGeometry(); // it is as high as its rows
            if (!item->parent() && m_words.isEmpty())
                keepFolding();
        });
}

void MetricTree::addGroup(Needs needs) {
    auto* item = new QTreeWidgetItem(this, {groupTitle(needs)});
    QFont bold = font();
    bold.setBold(true);
    item->setFont(nameColumn, bold);
    item->setFlags(Qt::ItemIsEnabled);
    item->setToolTip(nameColumn, groupHelp(needs));
    item->setSizeHint(nameColumn, {0, fontMetrics().height() * 3 / 2});
    m_groups[needs] = item;
}

void MetricTree::clearRows() {
    for (const auto& [needs, item] : m_groups)
        qDeleteAll(item->takeChildren());
}

QTreeWidgetItem* MetricTree::addRow(QTreeWidgetItem* parent, const QString& text, const QString& key) {
    auto* item = new QTreeWidgetItem(parent, {text});
    item->setData(nameColumn, idRole, key);
    if (parent->parent())
        parent->setExpanded(true);
    showMatches(item, m_words, false);
    return item;
}

void MetricTree::filter(const QString& words) {
    m_words = words.split(' ', Qt::SkipEmptyParts);
    for (const auto& [needs, item] : m_groups) {
        showMatches(item, m_words, false);
        if (!m_words.isEmpty())
            item->setExpanded(true);
    }
    if (m_words.isEmpty())
        restoreFolding();
    updateGeometry();
}

/// Returns whether the row, or one below it, is shown.
bool MetricTree::showMatches(QTreeWidgetItem* row, const QStringList& words, bool isBelowMatch) {
    const QString text = row->text(nameColumn) + ' ' + row->data(nameColumn, idRole).toString();
    const bool isGroup = !row->parent();
    const bool matches = isBelowMatch || (!isGroup && std::ranges::all_of(words, [&](const QString& word) {
                             return text.contains(word, Qt::CaseInsensitive);
                         }));
    bool isShown = matches || words.isEmpty();
    for (int i = 0; i < row->childCount(); ++i)
        isShown = showMatches(row->child(i), words, matches) || isShown;
    row->setHidden(!isShown);
    return isShown;
}

void MetricTree::restoreFolding() {
    const QStringList usual{toQString(name(Needs::gradient)), toQString(name(Needs::ablation))};
    const QStringList folded = QSettings().value(foldedSetting, usual).toStringList();
    const QSignalBlocker quiet(this);
    for (const auto& [needs, item] : m_groups)
        item->setExpanded(!folded.contains(toQString(name(needs))));
}

void MetricTree::keepFolding() const {
    QStringList folded;
    for (const auto& [needs, item] : m_groups)
        if (!item->isExpanded())
            folded << toQString(name(needs));
    QSettings().setValue(foldedSetting, folded.isEmpty() ? QStringList{""} : folded);
}

} // namespace secateur
