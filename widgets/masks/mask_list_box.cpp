#include "widgets/masks/mask_list_box.h"

#include "analysis/masks/mask_algebra.h"
#include "widgets/document/mask_editor.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLineEdit>
#include <QMenu>
#include <QToolButton>

namespace secateur {

namespace {

using Combination = PruningMask (*)(const PruningMask&, const PruningMask&);

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
    m_names->setToolTip(tr("The mask that is edited; type to rename it"));
    m_names->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_note->setPlaceholderText(tr("Note"));
    m_note->setAccessibleName(tr("Note on the mask"));
    m_more->setText("…");
    m_more->setToolTip(tr("Duplicate, compare, combine, open, save"));
    m_more->setAccessibleName(tr("What can be done with the mask"));
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
    // Choosing another mask ends editing too, with its name in the field.
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
    m_union = menu->addMenu(tr("Cut also what is cut &in"));
    m_intersect = menu->addMenu(tr("Cut only what is also cut i&n"));
    m_subtract = menu->addMenu(tr("&Restore what is cut in"));
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
    listOthers(m_union, combine(unionOf, tr("Cut also what is cut in %1")));
    listOthers(m_intersect, combine(intersectionOf, tr("Cut only what is also cut in %1")));
    listOthers(m_subtract, combine(subtraction, tr("Restore what is cut in %1")));
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

} // namespace secateur
