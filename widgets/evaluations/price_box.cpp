#include "widgets/evaluations/price_box.h"

#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <QGridLayout>
#include <QLabel>

#include <cmath>

namespace secateur {

namespace {

QString shown(const std::string& text) {
    return QString::fromStdString(text);
}

template <typename Number>
QString percentSaved(const Share<Number>& share) {
    if (share.all == 0)
        return {};
    const double percent = 100 * static_cast<double>(share.saved()) / static_cast<double>(share.all);
    return QString(" (%1 %)").arg(shown(significant(percent)));
}

/// "−3.2 M (2.4 %)", "–" where there is nothing to save.
template <typename Number>
QString saving(const Share<Number>& share, std::string (*text)(double)) {
    if (share.saved() == 0)
        return share.all == 0 ? QString("–") : shown(text(static_cast<double>(share.all)));
    return QString("−%1%2").arg(shown(text(static_cast<double>(share.saved()))), percentSaved(share));
}

std::string operationCount(double count) {
    return shortCount(count);
}

} // namespace

QString cutSummary(const Price& price) {
    QStringList parts;
    const auto add = [&parts](std::int64_t count, const char* thing) {
        if (count > 0)
            parts << shown(counted(static_cast<std::uint64_t>(count), thing));
    };
    add(price.blocks.saved(), "block");
    add(price.attention.saved() - price.blocks.saved(), "attention");
    add(price.mlps.saved() - price.blocks.saved(), "MLP");
    add(price.bypassed, "bypass");
    add(price.heads.saved(), "head");
    add(price.neurons.saved(), "neuron");
    return parts.join(" · ");
}

PriceBox::PriceBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_cuts(new QLabel)
    , m_notes(new QLabel) {
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    m_cuts->setWordWrap(true);
    m_cuts->setAccessibleName(tr("What is cut"));
    grid->addWidget(m_cuts, 0, 0, 1, 2);
    m_parameters = addRow(grid, tr("parameters"));
    m_bytes = addRow(grid, tr("bytes"));
    m_cache = addRow(grid, tr("KV per token"));
    m_cache->setToolTip(tr("Bytes that each token adds to a KV cache of 16-bit numbers"));
    m_operations = addRow(grid, tr("operations"));
    m_operations->setToolTip(tr("Multiplications and additions for one token of a sequence of 1,024"));
    m_notes->setWordWrap(true);
    m_notes->setForegroundRole(QPalette::PlaceholderText);
    m_notes->setAccessibleName(tr("Cuts that save less than they could"));
    grid->addWidget(m_notes, grid->rowCount(), 0, 1, 2);
    connect(document, &Document::opened, this, &PriceBox::refresh);
    connect(document->masks(), &MaskEditor::maskChanged, this, &PriceBox::refresh);
    connect(document->masks(), &MaskEditor::previewChanged, this, &PriceBox::refresh);
    refresh();
}

QLabel* PriceBox::addRow(QGridLayout* grid, const QString& name) {
    auto* value = new QLabel;
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    value->setAccessibleName(name);
    const int row = grid->rowCount();
    grid->addWidget(new QLabel(name), row, 0);
    grid->addWidget(value, row, 1);
    return value;
}

void PriceBox::refresh() {
    const MaskEditor& masks = *m_document->masks();
    const PriceList* prices = m_document->prices();
    if (!prices)
        return;
    const PruningMask& mask = masks.preview() ? *masks.preview() : masks.mask();
    const Price price = prices->price(mask);
    const QString summary = cutSummary(price);
    m_cuts->setText(summary.isEmpty() ? tr("Nothing is cut. Select heads and press Space, or take the shears (S).")
                                      : summary);
    m_parameters->setText(saving(price.parameters, shortCount));
    m_bytes->setText(saving(price.bytes, shortBytes));
    m_cache->setText(saving(price.kvBytesPerToken, shortBytes));
    m_operations->setText(saving(price.operationsPerToken, operationCount));
    QStringList notes;
    for (const HalfCutGroup& group : price.halfCutGroups)
        notes << shown(sentence(group, prices->spec(), mask));
    m_notes->setVisible(!notes.isEmpty());
    m_notes->setText(notes.isEmpty() ? QString()
                                     : tr("%1 of keys and values stay")
                                           .arg(shown(counted(static_cast<std::uint64_t>(notes.size()), "KV head"))));
    m_notes->setToolTip(notes.join('\n'));
}

} // namespace secateur
