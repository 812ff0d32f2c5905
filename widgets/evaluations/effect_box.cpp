#include "widgets/evaluations/effect_box.h"

#include "analysis/base/text.h"
#include "widgets/evaluations/extra_results_box.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"

#include <QGridLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include <cmath>

namespace secateur {

namespace {

using State = LiveEvaluation::State;
using ExtraState = ExtraEvaluation::State;

QString effectText(const std::string& text) {
    return QString::fromStdString(text);
}

const char* unitOf(const Perplexity& run) {
    return run.rules.protocol == TextProtocol::wordPpl ? "nats/word" : "nats/token";
}

/// "+0.0210 ± 0.0031"
QString signedWithError(double value, double error) {
    const QString text = effectText(std::isnan(error) ? significant(value) : withError(value, error));
    return value > 0 ? "+" + text : text;
}

QString interval(const LossDifference& difference) {
    const double half = difference.halfWidth95();
    if (std::isnan(half))
        return EffectBox::tr("One window alone has no interval.");
    return EffectBox::tr("On all such text the difference lies between %1 and %2 with 95 % probability "
                         "(%3 windows, paired).")
        .arg(effectText(significant(difference.nats - half, 4)), effectText(significant(difference.nats + half, 4)))
        .arg(difference.count);
}

QString about(double seconds) {
    return seconds < 1 ? EffectBox::tr("less than 1 s") : EffectBox::tr("about %1 s").arg(std::ceil(seconds));
}

QLabel* valueLabel(const QString& name) {
    auto* label = new QLabel;
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setAccessibleName(name);
    return label;
}

} // namespace

EffectBox::EffectBox(LiveEvaluation* live, QWidget* parent)
    : QWidget(parent)
    , m_live(live)
    , m_loss(valueLabel(tr("Change of the loss")))
    , m_perplexity(valueLabel(tr("Perplexity")))
    , m_progress(new QProgressBar)
    , m_state(new QLabel)
    , m_action(new QToolButton) {
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(fontMetrics().height() / 2);
    m_progress->setAccessibleName(tr("Share of the text that is scored"));
    m_state->setWordWrap(true);
    m_state->setForegroundRole(QPalette::PlaceholderText);
    m_state->setAccessibleName(tr("State of the evaluation"));
    m_action->setAutoRaise(true);
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
    if (!found || found->run.windows.empty()) {
        m_loss->setText("–");
        m_perplexity->setText("–");
        m_loss->setToolTip({});
        return;
    }
    const LossDifference& difference = found->difference;
    const bool isDense = difference.nats == 0 && difference.standardError == 0;
    if (isDense)
        m_loss->setText(effectText(withError(found->run.lossNats, found->run.standardError)) + " " + unitOf(found->run));
    else
        m_loss->setText(signedWithError(difference.nats, difference.standardError) + " " + unitOf(found->run));
    m_loss->setToolTip(isDense ? QString() : interval(difference));
    const QString dense = effectText(significant(found->dense.perplexity(), 4));
    const QString run = effectText(significant(found->run.perplexity(), 4));
    m_perplexity->setText(isDense ? run : dense + " → " + run);
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
    const QString windows = tr("%1 of %2 windows").arg(done).arg(all);
    QString text;
    switch (state) {
    case State::unavailable:
        text = tr("Measuring needs the checkpoint.");
        break;
    case State::idle:
        text = tr("Not measured yet.");
        break;
    case State::waiting:
        text = tr("Measured in a moment…");
        break;
    case State::running:
        text = all == 0 ? tr("Reading the text…") : windows;
        if (const auto left = m_live->secondsLeft())
            text += tr(", %1 left").arg(about(*left));
        break;
    case State::stopped:
        text = tr("Stopped after %1").arg(windows);
        break;
    case State::complete:
        text = tr("%1 windows, %2 tokens of %3")
                   .arg(all)
                   .arg(effectText(grouped(static_cast<std::uint64_t>(found->run.tokens))), effectText(m_live->text()->source));
        break;
    case State::failed:
        text = m_live->failure();
        break;
    }
    const QString extra = extraText();
    m_state->setText(extra.isEmpty() ? text : text + "\n" + extra);
    showAction();
}

QString EffectBox::extraText() const {
    switch (m_live->extra()->state()) {
    case ExtraState::running: {
        const auto left = m_live->extra()->secondsLeft();
        return left ? tr("Measuring more, %1 left").arg(about(*left)) : tr("Measuring more…");
    }
    case ExtraState::stopped:
        return tr("Stopped before all was measured.");
    default:
        return {};
    }
}

void EffectBox::showAction() {
    const State state = m_live->state();
    const ExtraState extra = m_live->extra()->state();
    const bool isRunning = state == State::running || extra == ExtraState::running;
    const bool isStopped = state == State::stopped || extra == ExtraState::stopped;
    const bool isDone = state == State::complete && (extra == ExtraState::complete || extra == ExtraState::off);
    m_action->setVisible(state != State::unavailable && !isDone);
    m_action->setText(isRunning ? tr("Stop here") : isStopped ? tr("Go on") : tr("Evaluate"));
    m_action->setToolTip(isRunning ? tr("Keeps what is measured so far")
                                   : tr("Scores the text, then what is chosen besides (Ctrl+E)"));
}

} // namespace secateur
