#include "widgets/evaluations/effect_box.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/language/shown_texts.h"
#include "widgets/results/still_label.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

using State = LiveEvaluation::State;
using ExtraState = ExtraEvaluation::State;

QString effectText(const std::string& text) {
    return QString::fromStdString(text);
}

bool isShare(const std::string& metricId) {
    return metricId != "perplexity";
}

/// "+1.2 ± 0.4"
QString signedWithError(double value, double error) {
    return effectText(shownChange(value, error));
}

QString differenceText(const MetricDifference& difference) {
    if (difference.value == 0 && difference.standardError == 0)
        return ExtraResultsBox::tr("no change");
    if (!isShare(difference.id))
        return signedWithError(difference.value, difference.standardError);
    return ExtraResultsBox::tr("%1 points")
        .arg(signedWithError(100 * difference.value, 100 * difference.standardError));
}

StillLabel* valueLabel(const QString& name = {}) {
    auto* label = new StillLabel;
    label->setAccessibleName(name);
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

StillLabel* quietLabel(StillLabel* label) {
    label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

QString nameOf(const ExtraItem& item, const ExtraEvaluation& extra) {
    if (std::holds_alternative<TaskRequest>(item))
        return extra.taskTitle(item);
    if (std::holds_alternative<PooledRequest>(item))
        return ExtraResultsBox::tr("pooled distance");
    return std::holds_alternative<SpeedRequest>(item) ? ExtraResultsBox::tr("tokens/s") : ExtraResultsBox::tr("prompt");
}

/// The full unit for tooltips; the label itself has room for "nats" only.
QString unitOf(const Perplexity& run) {
    return run.rules.protocol == TextProtocol::wordPpl ? EffectBox::tr("In nats per word.")
                                                       : EffectBox::tr("In nats per token.");
}

QString interval(const LossDifference& difference) {
    const double half = difference.halfWidth95();
    if (std::isnan(half))
        return EffectBox::tr("A single window has no confidence interval.");
    return EffectBox::tr("95 % confidence interval of the paired difference: %1 to %2 nats (%3 windows).")
        .arg(effectText(shownNumber(difference.nats - half, 4)), effectText(shownNumber(difference.nats + half, 4)))
        .arg(difference.count);
}

/// Number of leading tokens that both continuations have in common.
std::size_t sharedTokens(const PromptContinuation& a, const PromptContinuation& b) {
    const auto [first, second] = std::ranges::mismatch(a.continuation.tokens, b.continuation.tokens);
    return static_cast<std::size_t>(first - a.continuation.tokens.begin());
}

} // namespace

QString metricText(const TaskMetric& metric) {
    return effectText(isShare(metric.id) ? shownShare(metric.value) : shownNumber(metric.value, 4));
}

ExtraResultsBox::ExtraResultsBox(ExtraEvaluation* extra, QWidget* parent)
    : QWidget(parent)
    , m_extra(extra)
    , m_grid(new QGridLayout(this)) {
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setVerticalSpacing(0);
    m_grid->setHorizontalSpacing(2);
    constexpr int names = 12; // "pooled distance" beside "20.0 % → 20.0 %" in a narrow panel
    constexpr int values = 13;
    m_grid->setColumnStretch(0, names);
    m_grid->setColumnStretch(1, values);
    connect(extra, &ExtraEvaluation::changed, this, &ExtraResultsBox::refresh);
    refresh();
}

void ExtraResultsBox::refresh() {
    const std::vector<ExtraItem> items = m_extra->choice().items();
    if (!std::ranges::equal(items, m_rows, {}, {}, &Row::item))
        build(items);
    for (const Row& row : m_rows)
        fill(row);
    setVisible(!m_rows.empty());
}

void ExtraResultsBox::build(const std::vector<ExtraItem>& items) {
    for (const Row& row : m_rows)
        for (StillLabel* label : {row.name, row.value, row.details, row.difference})
            delete label;
    m_rows.clear();
    int line = 0;
    for (const ExtraItem& item : items) {
        const Row row{item, new StillLabel, valueLabel(), quietLabel(new StillLabel), quietLabel(valueLabel())};
        const auto* task = std::get_if<TaskRequest>(&item);
        row.name->setToolTip(task ? effectText(task->path) : QString());
        m_grid->addWidget(row.name, line, 0);
        m_grid->addWidget(row.value, line++, 1);
        m_grid->addWidget(row.details, line, 0);
        m_grid->addWidget(row.difference, line++, 1);
        m_rows.push_back(row);
    }
}

void ExtraResultsBox::fill(const Row& row) const {
    const QString name = nameOf(row.item, *m_extra);
    row.name->setText(name);
    row.value->setAccessibleName(name);
    row.difference->setAccessibleName(tr("Change of %1").arg(name));
    row.details->clear();
    row.difference->clear();
    row.value->setToolTip({});
    row.difference->setToolTip({});
    const ExtraResult* result = m_extra->result(row.item);
    const QString problem = m_extra->problem(row.item);
    row.value->setText(m_extra->isRunning(row.item) ? "…" : "–");
    if (!result)
        row.details->setText(problem);
    else if (result->task)
        fillTask(row, *result->task);
    else if (result->latency)
        fillSpeed(row, *result->latency);
    else if (result->pooled)
        fillPooled(row, *result->pooled);
    else
        fillPrompt(row, *result);
}

void ExtraResultsBox::fillPooled(const Row& row, const PooledEvaluation& pooled) const {
    const PooledDistance& distance = pooled.distance;
    row.value->setText(effectText(shownWithError(distance.relative.value, distance.relative.standardError)));
    row.value->setToolTip(
        tr("Distance of %1 from the dense model's, relative to its length: mean of %2 sequences of %3")
            .arg(distance.hasPooler ? tr("the pooled output") : tr("the first token's final state"))
            .arg(distance.sequences)
            .arg(effectText(pooled.source)));
    row.details->setText(tr("cosine distance"));
    row.difference->setText(effectText(shownWithError(distance.cosine.value, distance.cosine.standardError)));
}

void ExtraResultsBox::fillTask(const Row& row, const TaskEvaluation& task) const {
    const std::string id(taskFormat(task.formatId).metric);
    const TaskMetric& metric = task.run.scores.metric(id);
    row.details->setText(tr("%1 (n = %2)").arg(effectText(id)).arg(task.run.scores.count));
    if (!task.reference) {
        row.value->setText(metricText(metric));
        row.difference->setText(isShare(id) ? "± " + effectText(shownShare(metric.standardError)) : QString());
        return;
    }
    const QString before = metricText(task.reference->run.scores.metric(id));
    row.value->setText(before + " → " + metricText(metric));
    const auto& differences = task.reference->differences;
    const auto own = std::ranges::find(differences, id, &MetricDifference::id);
    if (own == differences.end())
        return;
    row.difference->setText(differenceText(*own));
    if (own->answers)
        row.value->setToolTip(tr("%1 answers changed from right to wrong, %2 from wrong to right.")
                                  .arg(own->answers->onlyFirst)
                                  .arg(own->answers->onlySecond));
}

void ExtraResultsBox::fillSpeed(const Row& row, const Latency& latency) const {
    const QString run = effectText(shownNumber(latency.tokensPerSecond(latency.run)));
    const QString how = tr("%1 tokens after a %2-token prompt, median of %3 runs")
                            .arg(latency.rules.newTokens)
                            .arg(latency.rules.promptTokens)
                            .arg(latency.run.seconds.size());
    row.value->setToolTip(how);
    if (!latency.reference) {
        row.value->setText(run);
        return;
    }
    const QString dense = effectText(shownNumber(latency.tokensPerSecond(*latency.reference)));
    row.value->setText(dense + " → " + run);
    const Speedup& ratios = latency.speedup.value();
    row.difference->setText(
        tr("× %1 (%2–%3)").arg(ratios.ratio, 0, 'f', 2).arg(ratios.p10, 0, 'f', 2).arg(ratios.p90, 0, 'f', 2));
    row.value->setToolTip(tr("%1, dense and mask in turns").arg(how));
    row.difference->setToolTip(tr("Ratio of the medians (10th to 90th percentile of the ratios of neighbouring runs). "
                                  "Not reliable while the machine does other work."));
}

void ExtraResultsBox::fillPrompt(const Row& row, const ExtraResult& result) const {
    const PromptContinuation& written = result.written.value();
    const std::size_t tokens = written.continuation.tokens.size();
    const ExtraResult* dense = m_extra->denseResult(row.item);
    if (!dense || dense == &result) {
        row.value->setText(tr("%1 tokens").arg(tokens));
        return;
    }
    const std::size_t shared = sharedTokens(*dense->written, written);
    const bool isSame = shared == tokens && shared == dense->written->continuation.tokens.size();
    row.value->setText(isSame ? tr("%1 tokens, unchanged").arg(tokens)
                              : tr("first difference at token %1").arg(shared + 1));
}

EffectBox::EffectBox(LiveEvaluation* live, QWidget* parent)
    : QWidget(parent)
    , m_live(live)
    , m_loss(valueLabel(tr("Change of the loss")))
    , m_perplexity(valueLabel(tr("Perplexity")))
    , m_progress(new QProgressBar)
    , m_state(new StillLabel(3))
    , m_action(new QToolButton) {
    setObjectName("effect");
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(fontMetrics().height() / 2);
    m_progress->setAccessibleName(tr("Progress of the evaluation"));
    keepRoomWhenHidden(m_progress);
    m_state->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_state->setForegroundRole(QPalette::PlaceholderText);
    m_state->setAccessibleName(tr("State of the evaluation"));
    m_action->setAutoRaise(true);
    keepRoomWhenHidden(m_action);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    grid->addWidget(new QLabel(tr("loss")), 0, 0);
    grid->addWidget(m_loss, 0, 1, 1, 2);
    grid->addWidget(new QLabel(tr("perplexity")), 1, 0);
    grid->addWidget(m_perplexity, 1, 1, 1, 2);
    grid->addWidget(new ExtraResultsBox(live->extra(), this), 2, 0, 1, 3);
    grid->addWidget(m_progress, 3, 0, 1, 3);
    grid->addWidget(m_state, 4, 0, 1, 2);
    grid->addWidget(m_action, 4, 2, Qt::AlignRight | Qt::AlignTop);
    connect(live, &LiveEvaluation::changed, this, &EffectBox::refresh);
    connect(live->extra(), &ExtraEvaluation::changed, this, &EffectBox::refresh);
    connect(m_action, &QToolButton::clicked, this, [this] {
        const bool isRunning = m_live->state() == State::running || m_live->extra()->state() == ExtraState::running;
        isRunning ? m_live->stopHere() : m_live->evaluate();
    });
    refresh();
}

void EffectBox::refresh() {
    showFigures();
    showProgress();
}

void EffectBox::showFigures() {
    const MaskEvaluation* found = m_live->shown();
    const bool isCompared = found && !found->dense.windows.empty();
    if (!found || found->run.windows.empty() || m_live->isPreviewed()) {
        m_loss->setText("–");
        m_perplexity->setText("–");
        m_loss->setToolTip({});
        return;
    }
    const LossDifference& difference = found->difference;
    const bool isDense = !isCompared || (difference.nats == 0 && difference.standardError == 0);
    const QString loss = isDense ? effectText(shownWithError(found->run.lossNats, found->run.standardError))
                                 : signedWithError(difference.nats, difference.standardError);
    m_loss->setText(loss + " nats");
    m_loss->setToolTip(isDense ? unitOf(found->run) : unitOf(found->run) + '\n' + interval(difference));
    const QString run = effectText(shownNumber(found->run.perplexity(), 4));
    m_perplexity->setText(isDense ? run : effectText(shownNumber(found->dense.perplexity(), 4)) + " → " + run);
}

void EffectBox::showProgress() {
    const State state = m_live->state();
    const MaskEvaluation* found = m_live->shown();
    const std::size_t done = found ? found->run.windows.size() : 0;
    const std::size_t all = m_live->text() ? m_live->text()->windows : 0;
    const bool runsExtra = m_live->extra()->state() == ExtraState::running;
    constexpr int fine = 1000;
    m_progress->setMaximum(runsExtra ? fine : static_cast<int>(all));
    m_progress->setValue(runsExtra ? static_cast<int>(fine * m_live->extra()->fraction()) : static_cast<int>(done));
    m_progress->setVisible(runsExtra || (state == State::running && all > 0));
    QStringList lines{stateText(), extraText(), warningText()};
    lines.removeAll(QString());
    m_state->setText(lines.join('\n'));
    showAction();
}

QString EffectBox::stateText() const {
    const MaskEvaluation* found = m_live->shown();
    const std::size_t done = found ? found->run.windows.size() : 0;
    const std::size_t all = m_live->text() ? m_live->text()->windows : 0;
    const QString windows = tr("%1 of %2 windows").arg(done).arg(all);
    if (m_live->isPreviewed())
        return tr("A preview is not measured.");
    switch (m_live->state()) {
    case State::unavailable:
        return tr("The checkpoint is needed to measure.");
    case State::noLoss:
        return encoderText();
    case State::idle:
        return tr("Not measured yet.");
    case State::waiting:
        return tr("Starts in a moment…");
    case State::running: {
        const auto left = m_live->secondsLeft();
        return (all == 0 ? tr("Reading the text…") : windows) +
               (left ? tr(", %1 left").arg(durationText(*left)) : QString());
    }
    case State::stopped:
        return tr("Stopped after %1").arg(windows);
    case State::complete:
        return tr("%1, %2 tokens of %3")
            .arg(countText(static_cast<std::uint64_t>(all), "window"),
                 effectText(grouped(static_cast<std::uint64_t>(found->run.tokens))),
                 QFileInfo(effectText(m_live->text()->source)).fileName());
    case State::failed:
        return m_live->failure();
    }
    return {};
}

QString EffectBox::encoderText() const {
    const ExtraChoice& chosen = m_live->extra()->choice();
    if (!chosen.tasks.empty())
        return {};
    return chosen.pooled ? tr("Encoder: no loss. Pooled outputs are compared.")
                         : tr("A classifier's accuracy needs a task: choose one in “More measurements…”.");
}

QString EffectBox::extraText() const {
    switch (m_live->extra()->state()) {
    case ExtraState::running: {
        const auto left = m_live->extra()->secondsLeft();
        return left ? tr("Extra measurements, %1 left").arg(durationText(*left)) : tr("Extra measurements…");
    }
    case ExtraState::stopped:
        return tr("Extra measurements stopped.");
    default:
        return {};
    }
}

/// One line for all warnings. Their sentences name the files and are in the tooltip of the table's row.
QString EffectBox::warningText() const {
    const bool hasChanged = !m_live->warnings().empty() || !m_live->extra()->warnings().empty();
    return hasChanged ? tr("The model's file was overwritten: open it again.") : QString();
}

void EffectBox::showAction() {
    const State state = m_live->state();
    const ExtraState extra = m_live->extra()->state();
    const bool isRunning = state == State::running || extra == ExtraState::running;
    const bool isStopped = state == State::stopped || extra == ExtraState::stopped;
    const bool isScored = state == State::complete || state == State::noLoss;
    const bool isDone = isScored && (extra == ExtraState::complete || extra == ExtraState::off);
    m_action->setVisible(state != State::unavailable && !isDone);
    m_action->setText(isRunning ? tr("Stop here") : isStopped ? tr("Continue") : tr("Evaluate"));
    m_action->setMinimumWidth(std::max(m_action->minimumWidth(), m_action->sizeHint().width()));
    m_action->setToolTip(isRunning ? tr("Stop and keep the results so far")
                                   : tr("Score the text, then run the extra measurements (Ctrl+E)"));
}

} // namespace secateur
