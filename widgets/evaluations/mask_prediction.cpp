#include "widgets/evaluations/mask_prediction.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "analysis/prediction/prediction.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"
#include "widgets/results/still_label.h"

#include <QGridLayout>
#include <QLabel>
#include <QProgressBar>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

MaskPrediction::MaskPrediction(Document* document, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs) {
    connect(document, &Document::opened, this, &MaskPrediction::reset);
    connect(document->masks(), &MaskEditor::maskChanged, this, &MaskPrediction::changed);
    connect(document->masks(), &MaskEditor::previewChanged, this, &MaskPrediction::changed);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction) {
        if (job != m_job)
            return;
        m_fraction = fraction;
        emit changed();
    });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job, const QString& message) {
        if (job == m_job && m_job != 0)
            end(State::refused, message);
    });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) {
        if (job == m_job && m_job != 0)
            end(State::refused, tr("Cancelled. Starts again after the next measurement."));
    });
    reset();
}

void MaskPrediction::reset() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_predictor.reset();
    const std::string refusal = m_document->isOpen() ? predictionRefusal(m_document->spec()) : std::string();
    if (!refusal.empty())
        return end(State::refused, tr("No prediction: %1.").arg(QString::fromStdString(refusal)));
    end(State::waiting);
    adopt();
}

void MaskPrediction::end(State state, const QString& reason) {
    m_job = 0;
    m_fraction = 0;
    m_state = state;
    m_reason = reason;
    emit changed();
}

void MaskPrediction::adopt() {
    m_predictor = predictorOf(m_document->session());
    if (m_predictor)
        end(State::ready);
}

const PruningMask& MaskPrediction::mask() const {
    const MaskEditor& masks = *m_document->masks();
    return masks.preview() ? *masks.preview() : masks.mask();
}

std::optional<Prediction> MaskPrediction::shown() const {
    return m_predictor ? m_predictor->predict(mask()) : std::nullopt;
}

QString MaskPrediction::reason() const {
    switch (m_state) {
    case State::waiting:
        return tr("Predictions start after the first evaluation.");
    case State::computing:
        return tr("Gradients for predictions, %1 %").arg(static_cast<int>(100 * m_fraction));
    case State::refused:
        return m_reason;
    case State::ready:
        break;
    }
    const std::string refusal = m_predictor->refusal(mask());
    return refusal.empty() ? QString() : tr("No prediction: %1.").arg(QString::fromStdString(refusal));
}

void MaskPrediction::take(const PruningMask& mask, const MaskEvaluation& found, const TextRequest& text) {
    const bool isPerToken = found.run.rules.protocol == TextProtocol::tokenPpl;
    if (m_predictor && isPerToken && found.isComplete())
        m_predictor->learn(mask, found.difference.nats);
    const bool canBegin = !m_predictor && m_job == 0 && predictionRefusal(m_document->spec()).empty();
    if (canBegin && m_document->model() && m_document->services().readText)
        begin(text);
    emit changed();
}

void MaskPrediction::begin(TextRequest text) {
    const PredictionRules rules;
    text.rules.mostTokens = std::max<std::int64_t>(rules.tokens, text.rules.window);
    const auto work = [this, text, rules, model = m_document->model(),
                       read = m_document->services().readText](const Progress& progress) {
        auto basis = predictionBasis(*model, read(*model, text, progress.part(0, 0)), rules, progress);
        return [this, basis = std::move(basis)] {
            m_document->setPrediction(basis);
            adopt();
        };
    };
    m_fraction = 0;
    m_state = State::computing;
    m_job = m_jobs->start(tr("Gradients for predictions"), JobRunner::Priority::background, work);
}

namespace {

constexpr int predictionDigits = 2;

QString number(double value) {
    return QString::fromStdString(shownNumber(value, predictionDigits));
}

/// In a narrow panel the interval is a line of its own, which is not broken.
QString sentence(const Prediction& prediction) {
    QString interval = PredictionBox::tr("(90 %: %1 to %2)").arg(number(prediction.low), number(prediction.high));
    interval.replace(' ', QChar::Nbsp);
    return PredictionBox::tr("%1%2 nats/token %3")
        .arg(prediction.nats > 0 ? "+" : "", number(prediction.nats), interval);
}

} // namespace

PredictionBox::PredictionBox(MaskPrediction* prediction, QWidget* parent)
    : QWidget(parent)
    , m_prediction(prediction)
    , m_value(new StillLabel(2))
    , m_progress(new QProgressBar)
    , m_reason(new StillLabel(2)) {
    m_value->setObjectName("value");
    m_value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_value->setAccessibleName(tr("Predicted change of the loss"));
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(fontMetrics().height() / 2);
    m_progress->setAccessibleName(tr("Progress of the gradients for predictions"));
    keepRoomWhenHidden(m_progress);
    m_reason->setForegroundRole(QPalette::PlaceholderText);
    m_reason->setAccessibleName(tr("Why there is no prediction"));
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    grid->addWidget(new QLabel(tr("predicted change of loss")), 0, 0, 1, 2);
    grid->addWidget(m_value, 1, 0, 1, 2);
    grid->addWidget(m_progress, 2, 0, 1, 2);
    grid->addWidget(m_reason, 3, 0, 1, 2);
    connect(prediction, &MaskPrediction::changed, this, &PredictionBox::refresh);
    refresh();
}

void PredictionBox::refresh() {
    const auto found = m_prediction->shown();
    m_value->setText(found ? sentence(*found) : "–");
    m_value->setToolTip(
        found ? tr("Predicted from gradients of the dense model and calibrated by measured changes, with a 90 % "
                   "prediction interval.")
              : QString());
    const bool isComputing = m_prediction->state() == MaskPrediction::State::computing;
    m_progress->setVisible(isComputing);
    m_progress->setValue(static_cast<int>(100 * m_prediction->fraction()));
    const QString reason = m_prediction->reason();
    m_reason->setText(reason);
}

namespace {

QString shown(const std::string& text) {
    return QString::fromStdString(text);
}

template <typename Number>
QString percentSaved(const Share<Number>& share) {
    if (share.all == 0)
        return {};
    const double saved = static_cast<double>(share.saved()) / static_cast<double>(share.all);
    return QString(" (%1)").arg(shown(shownShare(saved)));
}

/// What a mask saves, as text: "−3.2 M (2.4 %)". If nothing is saved, the total; "–" if the total is 0.
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
            parts << countText(static_cast<std::uint64_t>(count), thing);
    };
    add(price.blocks.saved(), "block");
    add(price.attention.saved() - price.blocks.saved(), "attention layer");
    add(price.mlps.saved() - price.blocks.saved(), "MLP");
    add(price.bypassed, "bypassed layer");
    add(price.heads.saved(), "head");
    add(price.neurons.saved(), "neuron");
    return parts.join(" · ");
}

PriceBox::PriceBox(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_cuts(new StillLabel(2))
    , m_notes(new StillLabel(2)) {
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    setObjectName("savings");
    m_cuts->setAccessibleName(tr("Cut units"));
    grid->addWidget(m_cuts, 0, 0, 1, 2);
    m_parameters = addRow(grid, tr("parameters"));
    m_bytes = addRow(grid, tr("bytes"));
    m_cache = addRow(grid, tr("KV per token"));
    m_cache->setToolTip(tr("Bytes per token in a KV cache of 16-bit numbers"));
    m_operations = addRow(grid, tr("operations"));
    m_operations->setToolTip(tr("Multiplications and additions per token, in a sequence of 1,024 tokens"));
    m_notes->setForegroundRole(QPalette::PlaceholderText);
    m_notes->setAccessibleName(tr("KV heads without savings"));
    grid->addWidget(m_notes, grid->rowCount(), 0, 1, 2);
    connect(document, &Document::opened, this, &PriceBox::refresh);
    connect(document->masks(), &MaskEditor::maskChanged, this, &PriceBox::refresh);
    connect(document->masks(), &MaskEditor::previewChanged, this, &PriceBox::refresh);
    refresh();
}

QLabel* PriceBox::addRow(QGridLayout* grid, const QString& name) {
    auto* value = new StillLabel;
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
    const bool isCompensated = mask.isCompensated();
    if (summary.isEmpty())
        m_cuts->setText(isCompensated ? tr("Nothing is cut · compensated")
                                      : tr("Nothing is cut. Space cuts the selected heads."));
    else
        m_cuts->setText(isCompensated ? tr("%1 · compensated").arg(summary) : summary);
    m_cuts->setToolTip(isCompensated ? tr("The mask changes kept weights to make up for its cuts. Editing a sublayer's "
                                          "cuts removes its compensation.")
                                     : QString());
    m_parameters->setText(saving(price.parameters, shortCount));
    m_bytes->setText(saving(price.bytes, shortBytes));
    m_cache->setText(saving(price.kvBytesPerToken, shortBytes));
    m_operations->setText(saving(price.operationsPerToken, operationCount));
    QStringList notes;
    for (const HalfCutGroup& group : price.halfCutGroups)
        notes << shown(sentence(group, prices->spec(), mask));
    const QString stay =
        notes.size() == 1 ? tr("%1 stays (shared with uncut heads)") : tr("%1 stay (shared with uncut heads)");
    m_notes->setText(notes.isEmpty() ? QString()
                                     : stay.arg(countText(static_cast<std::uint64_t>(notes.size()), "KV head")));
    m_notes->setToolTip(notes.join('\n'));
}

} // namespace secateur
