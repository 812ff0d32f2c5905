#include "widgets/masks/mask_panel.h"

#include "analysis/base/text.h"
#include "analysis/export/export_target.h"
#include "analysis/masks/mask_algebra.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/effect_box.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/masks/cut_box.h"

#include <QComboBox>
#include <QEvent>
#include <QFrame>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

using Combination = PruningMask (*)(const PruningMask&, const PruningMask&);

QString exportText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString lines(const std::vector<std::string>& sentences) {
    QStringList list;
    for (const std::string& sentence : sentences)
        list << QString::fromStdString(sentence);
    return list.join('\n');
}

QFrame* separator() {
    auto* line = new QFrame;
    line->setFrameShape(QFrame::HLine);
    line->setForegroundRole(QPalette::Mid);
    return line;
}

} // namespace

MaskListBox::MaskListBox(MaskEditor* masks, QWidget* parent)
    : QWidget(parent)
    , m_masks(masks)
    , m_names(new QComboBox)
    , m_note(new QLineEdit)
    , m_more(new QToolButton) {
    m_names->setEditable(true);
    m_names->setInsertPolicy(QComboBox::NoInsert);
    m_names->setCompleter(nullptr);
    m_names->setAccessibleName(tr("Mask"));
    m_names->lineEdit()->setAccessibleName(tr("Name of the mask"));
    m_names->setToolTip(tr("The edited mask; type to rename it"));
    m_names->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_note->setPlaceholderText(tr("Note"));
    m_note->setAccessibleName(tr("Note on the mask"));
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
    connect(m_names, &QComboBox::activated, this,
            [this](int index) { m_masks->setCurrent(static_cast<std::size_t>(index)); });
    connect(m_names->lineEdit(), &QLineEdit::editingFinished, this, &MaskListBox::rename);
    connect(m_note, &QLineEdit::editingFinished, this, [this] { m_masks->setNote(m_note->text()); });
    connect(masks, &MaskEditor::listChanged, this, &MaskListBox::refresh);
    refresh();
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
    m_names->setCurrentIndex(static_cast<int>(state.current));
    m_note->setText(QString::fromStdString(state.edited().record->note));
}

ExportBox::ExportBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_targets(new QVBoxLayout)
    , m_legal(new QLabel)
    , m_takeLegal(new QPushButton(tr("Use that mask")))
    , m_export(new QPushButton(tr("&Export…"))) {
    m_targets->setSpacing(1);
    for (const ExportTarget& target : document->services().exportTargets) {
        auto* row = new QLabel;
        row->setAccessibleName(tr("Export as %1").arg(exportText(target.name)));
        m_targets->addWidget(row);
    }
    m_legal->setWordWrap(true);
    m_legal->setForegroundRole(QPalette::PlaceholderText);
    m_legal->setAccessibleName(tr("Nearest legal mask"));
    m_export->setToolTip(tr("Write a checkpoint under this mask, with the mask and a model card"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(new QLabel(tr("Can be exported as")));
    column->addLayout(m_targets);
    column->addWidget(m_legal);
    column->addWidget(m_takeLegal);
    column->addWidget(m_export);
    connect(m_takeLegal, &QPushButton::clicked, this, &ExportBox::takeLegalMask);
    connect(m_export, &QPushButton::clicked, this, &ExportBox::exportWanted);
    connect(document, &Document::opened, this, &ExportBox::refresh);
    connect(document, &Document::modelLocated, this, &ExportBox::refresh);
    connect(document->masks(), &MaskEditor::maskChanged, this, &ExportBox::refresh);
    refresh();
}

void ExportBox::refresh() {
    const PruningMask& mask = m_document->masks()->mask();
    const bool isCut = m_document->isOpen() && !mask.keepsAll();
    setVisible(isCut);
    if (!isCut)
        return;
    const ModelSpec& spec = m_document->spec();
    int index = 0;
    for (const ExportTarget& target : m_document->services().exportTargets) {
        const auto reasons = target.reasons(mask, spec, m_document->session().model.format);
        auto* row = static_cast<QLabel*>(m_targets->itemAt(index++)->widget());
        row->setText((reasons.empty() ? QStringLiteral("✓ ") : QStringLiteral("✗ ")) + exportText(target.name) +
                     (reasons.empty() && !target.writer ? tr(" (not available yet)") : QString()));
        row->setForegroundRole(reasons.empty() ? QPalette::WindowText : QPalette::PlaceholderText);
        row->setToolTip(reasons.empty() ? tr("Opens in %1").arg(exportText(target.opensIn)) : lines(reasons));
    }
    m_export->setEnabled(m_document->maskJobs()->exportTarget() && m_document->model());
    offerLegalMask();
}

void ExportBox::offerLegalMask() {
    const LegalMask legal = legalised(m_document->masks()->mask(), m_document->spec());
    const bool differs = !legal.cut.empty() || !legal.kept.empty();
    m_legal->setVisible(differs);
    m_takeLegal->setVisible(differs);
    if (!differs)
        return;
    QStringList changes;
    if (!legal.cut.empty())
        changes << tr("cuts %1 more").arg(QString::fromStdString(counted(legal.cut.size(), "head")));
    if (!legal.kept.empty())
        changes << tr("keeps %1 that are cut now").arg(QString::fromStdString(counted(legal.kept.size(), "head")));
    m_legal->setText(tr("KV groups keep different numbers of heads. The nearest mask with equal numbers %1.")
                         .arg(changes.join(tr(" and "))));
}

void ExportBox::takeLegalMask() {
    MaskEditor& masks = *m_document->masks();
    masks.replaceMask(legalised(masks.mask(), m_document->spec()).mask, tr("Use the nearest legal mask"));
}

MaskPanel::MaskPanel(Document* document, LiveEvaluation* live, QWidget* parent)
    : QScrollArea(parent)
    , m_list(new MaskListBox(document->masks()))
    , m_cut(new CutBox(document))
    , m_exports(new ExportBox(document)) {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(6);
    column->addWidget(m_list);
    column->addWidget(new PriceBox(document));
    column->addWidget(separator());
    column->addWidget(new PredictionBox(live->prediction()));
    column->addWidget(new EffectBox(live));
    column->addWidget(separator());
    column->addWidget(m_cut);
    column->addWidget(separator());
    column->addWidget(m_exports);
    column->addStretch();
    setWidget(content);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setAutoFillBackground(false); // shows the background of the dock
    content->setAutoFillBackground(false);
    content->installEventFilter(this);
    makeRoom();
}

bool MaskPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == widget() && event->type() == QEvent::LayoutRequest)
        makeRoom();
    return QScrollArea::eventFilter(watched, event);
}

void MaskPanel::makeRoom() {
    const int bar = style()->pixelMetric(QStyle::PM_ScrollBarExtent);
    setMinimumWidth(std::max(minimumWidth(), widget()->minimumSizeHint().width() + bar));
}

} // namespace secateur
