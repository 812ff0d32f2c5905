#include "widgets/masks/mask_panel.h"

#include "analysis/base/text.h"
#include "analysis/export/export_target.h"
#include "analysis/masks/mask_algebra.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/evaluations/effect_box.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/masks/compensation_box.h"
#include "widgets/masks/cut_box.h"
#include "widgets/results/still_label.h"

#include <QComboBox>
#include <QFrame>
#include <QGridLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

using Combination = PruningMask (*)(const PruningMask&, const PruningMask&);

QString exportText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QFrame* separator() {
    auto* line = new QFrame;
    line->setFrameShape(QFrame::HLine);
    line->setForegroundRole(QPalette::Mid);
    return line;
}

} // namespace

MaskListBox::MaskListBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_masks(document->masks())
    , m_names(new QComboBox)
    , m_note(new QLineEdit)
    , m_more(new QToolButton) {
    setObjectName("maskList");
    m_names->setEditable(true);
    m_names->setInsertPolicy(QComboBox::NoInsert);
    m_names->setCompleter(nullptr);
    m_names->setAccessibleName(tr("Mask"));
    m_names->lineEdit()->setAccessibleName(tr("Name of the mask"));
    m_names->setToolTip(tr("The edited mask; type to rename it"));
    m_names->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_note->setPlaceholderText(tr("Note"));
    m_note->setAccessibleName(tr("Note on the mask"));
    m_note->setToolTip(tr("A line of yours that is kept with the mask"));
    m_more->setText("…");
    m_more->setToolTip(tr("Duplicate, compare, combine, open, save"));
    m_more->setAccessibleName(tr("Actions on the mask"));
    m_more->setPopupMode(QToolButton::InstantPopup);
    buildMenu();
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(0, 1);
    grid->addWidget(m_names, 0, 0);
    grid->addWidget(m_more, 0, 1);
    grid->addWidget(m_note, 1, 0, 1, 2);
    connect(m_names, &QComboBox::activated, this, &MaskListBox::choose);
    connect(m_names->lineEdit(), &QLineEdit::editingFinished, this, &MaskListBox::rename);
    connect(m_note, &QLineEdit::editingFinished, this, [this] { m_masks->setNote(m_note->text()); });
    connect(m_masks, &MaskEditor::listChanged, this, &MaskListBox::refresh);
    connect(document, &Document::evaluationsChanged, this, &MaskListBox::refresh);
    refresh();
}

void MaskListBox::choose(int index) {
    const QString digest = m_names->itemData(index).toString();
    if (digest.isEmpty())
        m_masks->setCurrent(static_cast<std::size_t>(index));
    else
        m_document->restoreMask({m_names->itemText(index).toStdString(), digest.toStdString()});
}

void MaskListBox::rename() {
    // Editing also ends when the user chooses another mask. The field then holds the name of that mask, and nothing is
    // renamed.
    if (m_names->findText(m_names->currentText()) < 0)
        m_masks->renameMask(m_names->currentText());
    refresh();
}

void MaskListBox::buildMenu() {
    auto* menu = new QMenu(m_more);
    menu->addAction(tr("&New mask"), this, [this] {
        MaskRecord record;
        record.mask = PruningMask(m_masks->spec());
        m_masks->addMask(tr("mask"), std::move(record));
    });
    menu->addAction(tr("&Duplicate"), m_masks, &MaskEditor::duplicateMask);
    menu->addAction(tr("Remo&ve"), m_masks, &MaskEditor::removeMask);
    menu->addSeparator();
    m_compare = menu->addMenu(tr("&Compare with"));
    m_union = menu->addMenu(tr("Add the cuts &in"));
    m_intersect = menu->addMenu(tr("Keep only cuts shared wit&h"));
    m_subtract = menu->addMenu(tr("&Restore the cuts in"));
    menu->addSeparator();
    menu->addAction(tr("&Open a mask file…"), this, &MaskListBox::openWanted);
    menu->addAction(tr("&Save as a mask file…"), this, &MaskListBox::saveWanted);
    menu->addAction(tr("Copy as command &line"), this, &MaskListBox::commandWanted);
    connect(menu, &QMenu::aboutToShow, this, &MaskListBox::fillMenus);
    m_more->setMenu(menu);
}

template <typename Chosen>
void MaskListBox::listOthers(QMenu* menu, Chosen chosen) {
    menu->clear();
    const MaskState& state = m_masks->state();
    for (std::size_t index = 0; index < state.masks.size(); ++index)
        if (index != state.current)
            menu->addAction(QString::fromStdString(state.masks[index].name), this, [chosen, index] { chosen(index); });
    menu->setEnabled(!menu->isEmpty());
}

void MaskListBox::fillMenus() {
    listOthers(m_compare, [this](std::size_t index) { m_masks->compareWith(index); });
    if (m_masks->compared())
        m_compare->addAction(tr("Nothing"), this, [this] { m_masks->compareWith({}); });
    const auto combine = [this](Combination combination, const QString& action) {
        return [this, combination, action](std::size_t index) {
            const NamedMask& other = m_masks->state().masks[index];
            m_masks->replaceMask(combination(m_masks->mask(), other.record->mask),
                                 action.arg(QString::fromStdString(other.name)));
        };
    };
    listOthers(m_union, combine(unionOf, tr("Add the cuts in %1")));
    listOthers(m_intersect, combine(intersectionOf, tr("Keep only cuts shared with %1")));
    listOthers(m_subtract, combine(subtraction, tr("Restore the cuts in %1")));
}

void MaskListBox::refresh() {
    const MaskState& state = m_masks->state();
    QStringList names;
    for (const NamedMask& mask : state.masks)
        names << QString::fromStdString(mask.name);
    const QSignalBlocker quiet(m_names);
    m_names->clear();
    m_names->addItems(names);
    if (!m_document->session().evaluations.empty())
        listEvaluated();
    m_names->setCurrentIndex(static_cast<int>(state.current));
    m_note->setText(QString::fromStdString(state.edited().record->note));
}

/// Adds the evaluated masks that the list lacks, below a line, with their digests.
void MaskListBox::listEvaluated() {
    std::vector<std::string> known = m_document->listedDigests();
    known.emplace_back("dense");
    bool isFirst = true;
    for (const Evaluation& evaluation : m_document->session().evaluations) {
        const EvaluatedMask& mask = evaluation.mask;
        if (std::ranges::find(known, mask.digest) != known.end() || !m_document->session().mask(mask.digest))
            continue;
        if (std::exchange(isFirst, false))
            m_names->insertSeparator(m_names->count());
        m_names->addItem(QString::fromStdString(mask.name), QString::fromStdString(mask.digest));
        known.push_back(mask.digest);
    }
}

ExportBox::ExportBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_targets(new StillLabel(3))
    , m_export(new QPushButton(tr("&Export…"))) {
    m_targets->setForegroundRole(QPalette::PlaceholderText);
    m_targets->setAccessibleName(tr("Targets that can hold the mask"));
    m_export->setToolTip(tr("Show the export targets, with the sizes of their files and the reasons against them"));
    auto* title = new StillLabel;
    title->setText(tr("Can be exported as"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(title);
    column->addWidget(m_targets);
    connect(m_export, &QPushButton::clicked, this, &ExportBox::exportWanted);
    connect(document, &Document::opened, this, &ExportBox::refresh);
    connect(document->masks(), &MaskEditor::maskChanged, this, &ExportBox::refresh);
    refresh();
}

void ExportBox::refresh() {
    m_export->setEnabled(m_document->isOpen());
    if (!m_document->isOpen())
        return m_targets->clear();
    QStringList names;
    for (const ExportTarget& target : m_document->services().exportTargets)
        if (firstExportTarget({&target, 1}, m_document->masks()->mask(), m_document->spec(),
                              m_document->session().model.format))
            names << exportText(target.name);
    m_targets->setText(names.isEmpty() ? tr("No target can hold this mask.") : names.join(QStringLiteral(" · ")));
}

MaskPanel::MaskPanel(Document* document, JobRunner* jobs, LiveEvaluation* live, QWidget* parent)
    : QWidget(parent)
    , m_list(new MaskListBox(document))
    , m_cut(new CutBox(document))
    , m_exports(new ExportBox(document)) {
    m_list->setContentsMargins(8, 6, 8, 0);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 6);
    rows->setSpacing(4);
    rows->addWidget(m_list);
    rows->addWidget(scrolledRows(document, jobs, live), 1);
    auto* last = new QHBoxLayout;
    last->setContentsMargins(8, 0, 8, 0);
    last->addWidget(m_exports->button());
    rows->addLayout(last);
}

QScrollArea* MaskPanel::scrolledRows(Document* document, JobRunner* jobs, LiveEvaluation* live) {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(6);
    column->addWidget(new PriceBox(document));
    column->addWidget(separator());
    column->addWidget(new PredictionBox(live->prediction()));
    column->addWidget(new EffectBox(live));
    column->addWidget(separator());
    column->addWidget(m_cut);
    column->addWidget(separator());
    column->addWidget(new CompensationBox(document, jobs, live));
    column->addWidget(separator());
    column->addWidget(m_exports);
    column->addStretch();
    auto* scrolled = new QScrollArea;
    scrolled->setWidget(content);
    scrolled->setWidgetResizable(true);
    scrolled->setFrameShape(QFrame::NoFrame);
    scrolled->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scrolled->setFocusPolicy(Qt::NoFocus);
    scrolled->viewport()->setAutoFillBackground(false); // one surface with the dock
    content->setAutoFillBackground(false);
    scrolled->setMinimumWidth(content->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
    return scrolled;
}

} // namespace secateur
