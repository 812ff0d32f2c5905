#include "widgets/mask_panel.h"

#include "widgets/document.h"
#include "widgets/effect_box.h"
#include "widgets/mask_list_box.h"
#include "widgets/price_box.h"

#include <QFrame>
#include <QVBoxLayout>

namespace secateur {

namespace {

QFrame* separator() {
    auto* line = new QFrame;
    line->setFrameShape(QFrame::HLine);
    line->setForegroundRole(QPalette::Mid);
    return line;
}

} // namespace

MaskPanel::MaskPanel(Document* document, LiveEvaluation* live, QWidget* parent)
    : QWidget(parent)
    , m_list(new MaskListBox(document->masks())) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(6);
    column->addWidget(m_list);
    column->addWidget(new PriceBox(document));
    column->addWidget(separator());
    column->addWidget(new EffectBox(live));
    column->addStretch();
}

} // namespace secateur
