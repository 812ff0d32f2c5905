#include "widgets/masks/mask_panel.h"

#include "widgets/masks/cut_box.h"
#include "widgets/document/document.h"
#include "widgets/evaluations/effect_box.h"
#include "widgets/masks/export_box.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/masks/mask_list_box.h"
#include "widgets/evaluations/mask_prediction.h"

#include <QEvent>
#include <QFrame>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>

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
    viewport()->setAutoFillBackground(false); // one surface with the dock
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
