#include "widgets/evaluations/prediction_box.h"

#include "analysis/base/text.h"
#include "widgets/evaluations/mask_prediction.h"

#include <QGridLayout>
#include <QLabel>
#include <QProgressBar>

namespace secateur {

namespace {

QString number(double value) {
    return QString::fromStdString(significant(value, 2));
}

/// "+0.12 (0.05 to 0.3)", in the unit of the loss below it
QString sentence(const Prediction& prediction) {
    return PredictionBox::tr("%1%2 (%3 to %4)")
        .arg(prediction.nats > 0 ? "+" : "", number(prediction.nats), number(prediction.low), number(prediction.high));
}

} // namespace

PredictionBox::PredictionBox(MaskPrediction* prediction, QWidget* parent)
    : QWidget(parent)
    , m_prediction(prediction)
    , m_value(new QLabel)
    , m_progress(new QProgressBar)
    , m_reason(new QLabel) {
    m_value->setObjectName("value");
    m_value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_value->setAccessibleName(tr("Predicted change of the loss"));
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(fontMetrics().height() / 2);
    m_progress->setAccessibleName(tr("Share of the gradients for predictions that is there"));
    m_reason->setWordWrap(true);
    m_reason->setForegroundRole(QPalette::PlaceholderText);
    m_reason->setAccessibleName(tr("Why there is no prediction"));
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    grid->addWidget(new QLabel(tr("predicted")), 0, 0);
    grid->addWidget(m_value, 0, 1);
    grid->addWidget(m_progress, 1, 0, 1, 2);
    grid->addWidget(m_reason, 2, 0, 1, 2);
    connect(prediction, &MaskPrediction::changed, this, &PredictionBox::refresh);
    refresh();
}

void PredictionBox::refresh() {
    const auto found = m_prediction->shown();
    m_value->setText(found ? sentence(*found) : "–");
    m_value->setToolTip(
        found ? tr("Nats per token, from gradients of the dense model, corrected by what was measured; the measured "
                   "change lies in the interval in 90 % of cases.")
              : QString());
    const bool isComputing = m_prediction->state() == MaskPrediction::State::computing;
    m_progress->setVisible(isComputing);
    m_progress->setValue(static_cast<int>(100 * m_prediction->fraction()));
    const QString reason = m_prediction->reason();
    m_reason->setText(reason);
    m_reason->setVisible(!reason.isEmpty());
}

} // namespace secateur
