#include "widgets/results/measuring_box.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/results/text_combo.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QSpinBox>

#include <algorithm>

namespace secateur {

namespace {

constexpr int mostMeasuredTokens = 1'000'000'000;

} // namespace

MeasuringBox::MeasuringBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_text(new TextCombo)
    , m_tokens(new QSpinBox)
    , m_mask(new QComboBox) {
    m_tokens->setRange(0, mostMeasuredTokens);
    m_tokens->setSpecialValueText(tr("a minute's worth"));
    m_tokens->setToolTip(tr("Tokens of the text; at first as many as one pass over takes a minute"));
    m_tokens->setGroupSeparatorShown(true);
    m_tokens->setSingleStep(1024);
    m_tokens->setAccessibleName(tr("Tokens to measure on"));
    m_tokens->findChild<QLineEdit*>()->setAccessibleName(m_tokens->accessibleName());
    m_mask->addItems({tr("whole model"), tr("current mask")});
    m_mask->setAccessibleName(tr("Whether the mask is applied while measuring"));
    for (QWidget* field :
         {static_cast<QWidget*>(m_text), static_cast<QWidget*>(m_tokens), static_cast<QWidget*>(m_mask)})
        field->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // the panel may be narrow
    auto* form = new QFormLayout(this);
    form->setContentsMargins(0, 0, 0, 0);
    form->setVerticalSpacing(3);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->addRow(tr("Text"), m_text);
    form->addRow(tr("Tokens"), m_tokens);
    form->addRow(tr("Under"), m_mask);
    connect(m_text, &TextCombo::chosen, this, &MeasuringBox::choose);
    connect(m_tokens, &QSpinBox::editingFinished, this, &MeasuringBox::choose);
    connect(m_mask, &QComboBox::activated, this, &MeasuringBox::choose);
    connect(document->measurements(), &Measurements::measuringChosen, this, &MeasuringBox::showChoice);
    showChoice();
}

void MeasuringBox::showChoice() {
    const MeasureChoice& choice = m_document->measurements()->measureChoice();
    m_text->setPath(QString::fromStdString(choice.text));
    m_tokens->setValue(static_cast<int>(std::min<std::int64_t>(choice.tokens, mostMeasuredTokens)));
    m_mask->setCurrentIndex(m_document->measurements()->measuresMasked() ? 1 : 0);
}

void MeasuringBox::choose() {
    MeasureChoice choice;
    choice.text = m_text->path().toStdString();
    choice.tokens = m_tokens->value();
    m_document->measurements()->chooseMeasuring(choice, m_mask->currentIndex() == 1);
}

} // namespace secateur
