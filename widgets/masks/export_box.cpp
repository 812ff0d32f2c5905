#include "widgets/masks/export_box.h"

#include "analysis/export/export_targets.h"
#include "analysis/export/legalise.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace secateur {

namespace {

QString exportText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString lines(const std::vector<std::string>& sentences) {
    QStringList list;
    for (const std::string& sentence : sentences)
        list << QString::fromStdString(sentence);
    return list.join('\n');
}

} // namespace

ExportBox::ExportBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_targets(new QVBoxLayout)
    , m_legal(new QLabel)
    , m_takeLegal(new QPushButton(tr("Take that mask")))
    , m_export(new QPushButton(tr("&Export…"))) {
    m_targets->setSpacing(1);
    for (const ExportTarget& target : exportTargets()) {
        auto* row = new QLabel;
        row->setAccessibleName(tr("Export as %1").arg(exportText(target.name)));
        m_targets->addWidget(row);
    }
    m_legal->setWordWrap(true);
    m_legal->setForegroundRole(QPalette::PlaceholderText);
    m_legal->setAccessibleName(tr("Nearest legal mask"));
    m_export->setToolTip(tr("Writes a checkpoint in which what is cut is 0, with the mask and a model card"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(new QLabel(tr("Can leave as")));
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
    bool canWrite = false;
    for (int i = 0; i < m_targets->count(); ++i) {
        const ExportTarget& target = exportTargets()[static_cast<std::size_t>(i)];
        const auto reasons = target.reasons(mask, m_document->spec(), m_document->session().model.format);
        auto* row = static_cast<QLabel*>(m_targets->itemAt(i)->widget());
        row->setText((reasons.empty() ? QStringLiteral("✓ ") : QStringLiteral("✗ ")) + exportText(target.name) +
                     (reasons.empty() && !target.isWritten ? tr(" (not written yet)") : QString()));
        row->setForegroundRole(reasons.empty() ? QPalette::WindowText : QPalette::PlaceholderText);
        row->setToolTip(reasons.empty() ? tr("Opens in %1").arg(exportText(target.opensIn)) : lines(reasons));
        canWrite = canWrite || (target.isWritten && reasons.empty());
    }
    m_export->setEnabled(canWrite && m_document->model());
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
        changes << tr("keeps %1 after all").arg(QString::fromStdString(counted(legal.kept.size(), "head")));
    m_legal->setText(tr("KV groups keep unequal numbers of heads; the nearest mask that does not %1.")
                         .arg(changes.join(tr(" and "))));
}

void ExportBox::takeLegalMask() {
    MaskEditor& masks = *m_document->masks();
    masks.replaceMask(legalised(masks.mask(), m_document->spec()).mask, tr("Take the nearest legal mask"));
}

} // namespace secateur
