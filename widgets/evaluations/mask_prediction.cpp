#include "widgets/evaluations/mask_prediction.h"

#include "analysis/prediction/prediction.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <algorithm>
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
            end(State::refused, tr("Stopped; begins again with the next mask that is measured."));
    });
    reset();
}

void MaskPrediction::reset() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_predictor.reset();
    const std::string refusal = m_document->isOpen() ? predictionRefusal(m_document->spec()) : std::string();
    if (!refusal.empty())
        return end(State::refused, QString::fromStdString("No prediction: " + refusal + "."));
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
        return tr("Predictions begin once a text was scored.");
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

} // namespace secateur
