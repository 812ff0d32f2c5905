#include "widgets/export/legal_box.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"
#include "widgets/results/still_label.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>

#include <algorithm>

namespace secateur {

namespace {

constexpr int effectLines = 3;

/// Whether some of the reasons are not among others.
bool losesAny(const Reasons& before, const Reasons& after) {
    return std::ranges::any_of(before, [&](const ExportReason& reason) {
        return std::ranges::find(after, reason.sentence, &ExportReason::sentence) == after.end();
    });
}

} // namespace

LegalBox::LegalBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_by(new QComboBox)
    , m_preview(new QPushButton(tr("Pre&view")))
    , m_apply(new QPushButton(tr("&Apply")))
    , m_effect(new StillLabel(effectLines)) {
    for (const auto& [text, by] :
         {std::pair{tr("cut more heads"), LegaliseBy::cutting}, std::pair{tr("restore heads"), LegaliseBy::keeping},
          std::pair{tr("change the fewest heads"), LegaliseBy::either}})
        m_by->addItem(text, static_cast<int>(by));
    m_by->setAccessibleName(tr("How the mask is made legal"));
    m_by->setToolTip(tr("How all KV groups of a layer come to keep equally many heads"));
    m_preview->setCheckable(true);
    m_preview->setAccessibleName(tr("Preview the legal mask"));
    m_preview->setToolTip(tr("Mark the changed heads in the views"));
    m_apply->setAccessibleName(tr("Apply the legal mask"));
    m_apply->setToolTip(tr("Change the mask; one undo step"));
    m_effect->setAccessibleName(tr("Changes of the legal mask"));
    auto* title = new QLabel(tr("&Make it legal:"));
    title->setBuddy(m_by);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->addWidget(title, 0, 0);
    grid->addWidget(m_by, 0, 1);
    grid->addWidget(m_preview, 0, 2);
    grid->addWidget(m_apply, 0, 3);
    grid->addWidget(m_effect, 1, 0, 1, 4);
    grid->setColumnStretch(1, 1);
    connect(m_by, &QComboBox::currentIndexChanged, this, [this] {
        refresh();
        if (m_preview->isChecked())
            preview(true);
    });
    connect(m_preview, &QPushButton::clicked, this, &LegalBox::preview);
    connect(m_apply, &QPushButton::clicked, this, &LegalBox::apply);
    connect(document->masks(), &MaskEditor::protectionChanged, this, &LegalBox::refresh);
    connect(document->masks(), &MaskEditor::previewChanged, this, [this] {
        const auto& shown = m_document->masks()->preview();
        if (m_preview->isChecked() && (!shown || *shown != legal().mask))
            m_preview->setChecked(false);
    });
    hide();
}

LegalMask LegalBox::legal() const {
    const MaskEditor& masks = *m_document->masks();
    return legalised(masks.mask(), masks.spec(), static_cast<LegaliseBy>(m_by->currentData().toInt()),
                     masks.isProtected());
}

void LegalBox::offerFor(const ExportTarget* target) {
    m_target = target;
    refresh();
}

void LegalBox::refresh() {
    const std::string& format = m_document->session().model.format;
    const bool isRefused = m_target && m_document->isOpen() &&
                           !m_target->reasons(m_document->masks()->mask(), m_document->spec(), format).empty();
    const auto isOffered = [&](const LegalMask& changed) {
        return losesAny(m_target->reasons(m_document->masks()->mask(), m_document->spec(), format),
                        m_target->reasons(changed.mask, m_document->spec(), format));
    };
    const LegalMask changed = isRefused ? legal() : LegalMask{};
    if (!isRefused || !isOffered(changed)) {
        endPreview();
        hide();
        return;
    }
    m_effect->setText(effectText(changed));
    if (!m_document->masks()->preview()) // an edit of the mask ends previews
        m_preview->setChecked(false);
    show();
}

QString LegalBox::effectText(const LegalMask& legal) const {
    QStringList sentences;
    if (!legal.cut.empty() && !legal.kept.empty())
        sentences << tr("Cuts %1 and restores %2.")
                         .arg(countText(legal.cut.size(), "more head"), countText(legal.kept.size(), "head"));
    else if (!legal.cut.empty())
        sentences << tr("Cuts %1.").arg(countText(legal.cut.size(), "more head"));
    else if (!legal.kept.empty())
        sentences << tr("Restores %1.").arg(countText(legal.kept.size(), "head"));
    if (!legal.restoredLayers.empty()) {
        QStringList layers;
        for (const int layer : legal.restoredLayers)
            layers << QString::number(layer);
        sentences << tr("Restores heads in layer %1: cutting alone would cut protected heads.").arg(layers.join(", "));
    }
    const Reasons left = m_target->reasons(legal.mask, m_document->spec(), m_document->session().model.format);
    if (left.empty())
        sentences << tr("The target can then hold the mask.");
    else
        sentences << tr("Then still: %1.").arg(QString::fromStdString(left.front().sentence));
    return sentences.join(' ');
}

void LegalBox::preview(bool shown) {
    if (shown)
        m_document->masks()->setPreview(legal().mask);
    else
        m_document->masks()->setPreview({});
}

void LegalBox::endPreview() {
    if (!m_preview->isChecked())
        return;
    m_preview->setChecked(false);
    m_document->masks()->setPreview({});
}

void LegalBox::apply() {
    m_document->masks()->replaceMask(legal().mask, tr("Make the mask legal"));
}

} // namespace secateur
