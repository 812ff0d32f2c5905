#include "widgets/training/recover_panel.h"

#include "analysis/base/error.h"
#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/evaluations/adapter_evaluation.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/jobs/job_status.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/still_label.h"
#include "widgets/training/recovery_forecast.h"
#include "widgets/training/training_fields.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <cmath>

namespace secateur {

namespace {

using RecoveryState = Recovery::State;

constexpr int trainingBarSteps = 1000;
constexpr int drawingMs = 200;
constexpr int stateLines = 6;

QString shownLoss(double nats) {
    return QString::fromStdString(shownNumber(nats, nats < 10 ? 3 : 4));
}

QString shownPerplexity(double nats) {
    return QString::fromStdString(shownNumber(std::exp(nats)));
}

} // namespace

RecoverPanel::RecoverPanel(Document* document, Recovery* recovery, RecoveryForecast* forecast,
                           AdapterEvaluation* evaluation, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_recovery(recovery)
    , m_forecast(forecast)
    , m_evaluation(evaluation)
    , m_fields(new TrainingFields)
    , m_state(new StillLabel(stateLines))
    , m_progress(new QProgressBar)
    , m_plot(new FigureWidget)
    , m_save(new QPushButton)
    , m_evaluate(new QPushButton)
    , m_drawing(new QTimer(this)) {
    build();
    m_drawing->setSingleShot(true);
    m_drawing->setInterval(drawingMs);
    connect(m_drawing, &QTimer::timeout, this, &RecoverPanel::draw);
    connect(document, &Document::opened, this, [this] { m_fields->restore(*m_document); });
    connect(document, &Document::modelLocated, this, &RecoverPanel::refresh);
    for (const auto change : {&MaskEditor::maskChanged, &MaskEditor::listChanged})
        connect(document->masks(), change, this, &RecoverPanel::refresh);
    connect(m_fields, &TrainingFields::changed, this, &RecoverPanel::refresh);
    connect(recovery, &Recovery::changed, this, &RecoverPanel::refresh);
    connect(recovery, &Recovery::trained, this,
            [this] { m_evaluation->evaluateRun(m_recovery->request(), m_recovery->key(), m_recovery->maskName()); });
    connect(forecast, &RecoveryForecast::changed, this, &RecoverPanel::refresh);
    connect(evaluation, &AdapterEvaluation::changed, this, &RecoverPanel::refresh);
    connect(m_save, &QPushButton::clicked, this, &RecoverPanel::chooseFolder);
    connect(m_evaluate, &QPushButton::clicked, this,
            [this] { m_evaluation->isBusy() ? m_evaluation->cancel() : openAdapter(); });
    refresh();
}

/// The duration is computed only for a panel in sight.
void RecoverPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void RecoverPanel::build() {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(6);
    column->addWidget(m_fields);
    column->addWidget(m_buttons = buttons());
    m_state->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_state->setAccessibleName(tr("State of the training"));
    column->addWidget(m_state);
    m_progress->setMaximum(trainingBarSteps);
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(fontMetrics().height() / 2);
    m_progress->setAccessibleName(tr("Progress of the training"));
    column->addWidget(m_progress);
    addAdapterButtons(*column);
    addPlot(*column);
}

void RecoverPanel::addAdapterButtons(QVBoxLayout& column) {
    for (QPushButton* button : {m_save, m_evaluate}) // below each other, because the panel is narrow
        column.addWidget(button);
}

/// One row: the button that starts, or those that end.
QStackedWidget* RecoverPanel::buttons() {
    auto* pages = new QStackedWidget;
    pages->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    m_start = new QPushButton(tr("&Train the pruned model"));
    m_start->setToolTip(tr("Trains the model under the current mask in the background"));
    m_pause = new QPushButton;
    m_cancel = new QPushButton(tr("Ca&ncel"));
    m_cancel->setToolTip(tr("Ends the training and keeps the best adapter so far"));
    const auto add = [pages](std::initializer_list<QPushButton*> buttons) {
        auto* page = new QWidget;
        auto* row = new QHBoxLayout(page);
        row->setContentsMargins(0, 0, 0, 0);
        for (QPushButton* button : buttons)
            row->addWidget(button);
        pages->addWidget(page);
    };
    add({m_start});
    add({m_pause, m_cancel});
    connect(m_start, &QPushButton::clicked, this, &RecoverPanel::start);
    connect(m_pause, &QPushButton::clicked, this,
            [this] { m_recovery->canResume() ? m_recovery->resume() : m_recovery->pause(); });
    connect(m_cancel, &QPushButton::clicked, m_recovery, &Recovery::cancel);
    return pages;
}

/// The losses. Hidden before the first run; the room is then below the other fields.
void RecoverPanel::addPlot(QVBoxLayout& column) {
    const int character = fontMetrics().averageCharWidth();
    m_plot->setMinimumSize(character * 24, fontMetrics().height() * 12);
    m_plot->setAccessibleName(tr("Losses of the training"));
    auto* actions = new FigureActions(m_plot, [this] { return m_figure; });
    for (QAction* action : actions->actions())
        if (action != actions->actions().at(2)) // no command draws this figure
            m_plot->addAction(action);
    m_plot->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(actions, &FigureActions::failed, m_document, &Document::failed);
    column.addWidget(m_plot, 1);
    column.addStretch();
}

void RecoverPanel::refresh() {
    const bool isOn = m_recovery->isBusy() || m_recovery->canResume();
    m_fields->setEnabled(!isOn);
    m_buttons->setCurrentIndex(isOn ? 1 : 0);
    m_start->setEnabled(canStart());
    m_pause->setText(m_recovery->canResume() ? tr("&Resume") : tr("&Pause"));
    m_pause->setToolTip(m_recovery->canResume() ? tr("Goes on from the last step")
                                                : tr("Stops after the current step; Resume continues the run"));
    m_pause->setEnabled(m_recovery->canResume() || m_recovery->state() == RecoveryState::running);
    m_cancel->setEnabled(m_recovery->state() != RecoveryState::cancelling);
    m_progress->setVisible(isOn);
    m_progress->setValue(static_cast<int>(m_recovery->fraction() * trainingBarSteps));
    m_save->setVisible(m_recovery->hasResult());
    const bool isMask = m_recovery->hasResult() && !m_recovery->hasAdapter();
    m_save->setText(isMask ? tr("Save &mask…") : tr("Save a&dapter…"));
    m_save->setToolTip(isMask ? tr("Writes the mask with the trained compensation into a folder")
                              : tr("Writes the adapter with the lowest held-out loss as a folder that PEFT loads"));
    const bool isEvaluating = m_evaluation->isBusy();
    m_evaluate->setText(isEvaluating ? tr("Stop the e&valuation") : tr("E&valuate an adapter…"));
    m_evaluate->setToolTip(isEvaluating
                               ? tr("Evaluates %1. Nothing of a stopped evaluation is kept").arg(m_evaluation->name())
                               : tr("Evaluates the adapter of a folder under the mask beside it, as the panel "
                                    "Evaluations states. An encoder needs a task of More measurements…"));
    m_evaluate->setEnabled(isEvaluating || m_evaluation->isPossible());
    m_state->setForegroundRole(m_recovery->state() == RecoveryState::none ? QPalette::PlaceholderText
                                                                          : QPalette::WindowText);
    m_state->setText(stateText());
    if (isVisible() && m_recovery->state() == RecoveryState::none && canStart())
        m_forecast->ask(m_fields->settings(), m_fields->data());
    const TrainingCurve& curve = m_recovery->curve();
    m_plot->setVisible(!curve.records.empty() || !curve.scores.empty());
    if (!m_drawing->isActive())
        m_drawing->start(m_recovery->isBusy() ? drawingMs : 0);
}

void RecoverPanel::draw() {
    m_figure = trainingFigure(m_recovery->curve());
    m_figure.title = m_document->isOpen() ? m_document->session().model.name : std::string();
    if (!m_recovery->maskName().isEmpty())
        m_figure.title += " · " + m_recovery->maskName().toStdString();
    if (!m_plot->isVisible())
        return;
    Figure shown = m_figure;
    shown.title.clear(); // the panel is narrow
    m_plot->setFigure(shown);
}

bool RecoverPanel::canStart() const {
    if (!m_document->model() || !m_document->services().recover)
        return false;
    try {
        m_fields->settings();
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// "Updates of rank 8, norms with the dense model as teacher"
QString RecoverPanel::trainedText(const TrainingSettings& settings) {
    QStringList parts;
    if (!settings.targets.empty())
        parts << tr("updates of rank %1").arg(settings.adapter.rank);
    if (settings.trainsNorms)
        parts << tr("norms");
    if (settings.trainsHead)
        parts << tr("classifier");
    if (settings.trainsCompensation)
        parts << tr("compensation");
    const QString all = parts.join(tr(", "));
    const QString text = all.left(1).toUpper() + all.mid(1);
    return settings.teacherWeight > 0 ? tr("%1 with the dense model as teacher").arg(text) : text;
}

/// What a run would do, or why there can be none.
QString RecoverPanel::startText() const {
    if (!m_document->isOpen())
        return tr("No model is open.");
    if (!m_document->model())
        return tr("The checkpoint was not found.");
    const NamedMask& mask = m_document->masks()->state().edited();
    const QString what = m_document->masks()->mask().keepsAll()
                             ? tr("Nothing is cut: trains the whole model.")
                             : tr("Mask: %1.").arg(QString::fromStdString(mask.name));
    try {
        const TrainingSettings settings = m_fields->settings();
        const QString step =
            settings.sequencesOfStep() == 1 ? tr("1 sequence") : tr("%1 sequences").arg(settings.sequencesOfStep());
        const QString updates =
            tr("%1\n%2, %3 in a step; a twentieth is held out.").arg(what, trainedText(settings), step);
        const QString duration = forecastText(settings);
        return duration.isEmpty() ? updates : updates + '\n' + duration;
    } catch (const Error& error) {
        return QString::fromStdString(error.what()) + '.';
    }
}

/// "Takes about 12 min: 340 steps, 697,000 tokens." Empty while it is not known.
QString RecoverPanel::forecastText(const TrainingSettings& settings) const {
    const std::optional<TrainingForecast> forecast = m_forecast->of(settings, m_fields->data());
    if (!forecast)
        return m_forecast->failure();
    const auto count = [](double number) { return QString::fromStdString(shortCount(number)); };
    return tr("Takes %1: about %2 steps, %3 tokens.")
        .arg(durationText(forecast->seconds), count(static_cast<double>(forecast->steps)), count(forecast->tokens));
}

QString RecoverPanel::stateText() const {
    const auto step = static_cast<qlonglong>(m_recovery->curve().records.size());
    switch (m_recovery->state()) {
    case RecoveryState::none:
        return startText();
    case RecoveryState::running:
        return step > 0 ? stepText() : tr("Reads the data and scores the held-out sequences…");
    case RecoveryState::pausing:
        return tr("Pauses…");
    case RecoveryState::cancelling:
        return tr("Ends…");
    case RecoveryState::paused:
        return tr("Paused at step %1. Resume continues from there.\n%2").arg(step).arg(outcomeText());
    case RecoveryState::cancelled:
        return tr("Cancelled at step %1. %2").arg(step).arg(outcomeText());
    case RecoveryState::done:
        return tr("%1\n%2 steps, %3 tokens/s.")
            .arg(outcomeText())
            .arg(step)
            .arg(std::lround(m_recovery->tokensPerSecond()));
    case RecoveryState::failed:
        return m_recovery->failure();
    }
    return {};
}

/// "Step 12 of 200, loss 3.21, 410 tokens/s, 2 min left"
QString RecoverPanel::stepText() const {
    const TrainingCurve& curve = m_recovery->curve();
    const auto step = static_cast<qlonglong>(curve.records.size());
    QStringList parts{curve.steps > 0 ? tr("Step %1 of %2").arg(step).arg(curve.steps) : tr("Step %1").arg(step)};
    parts << tr("loss %1").arg(shownLoss(recentNats(curve)))
          << tr("%1 tokens/s").arg(std::lround(m_recovery->tokensPerSecond()));
    if (m_recovery->secondsLeft() >= 0 && curve.steps > 0)
        parts << timeLeftText(m_recovery->secondsLeft());
    return parts.join(", ") + '\n' + heldOutText();
}

/// "Held-out loss: dense 3.21, pruned 5.04, recovered 3.88"
QString RecoverPanel::heldOutText() const {
    const TrainingCurve& curve = m_recovery->curve();
    if (curve.scores.empty())
        return {};
    QStringList losses;
    if (curve.denseNats)
        losses << tr("dense %1").arg(shownLoss(*curve.denseNats));
    losses << tr("pruned %1").arg(shownLoss(curve.scores.front().lossNats));
    if (const HeldOutScore* best = curve.best())
        losses << tr("recovered %1").arg(shownLoss(best->lossNats));
    return tr("Held-out loss: %1").arg(losses.join(", "));
}

/// heldOutText() with the perplexities "(perplexity 24.8, 154, 48.4)", or the accuracies of a classifier.
QString RecoverPanel::outcomeText() const {
    const TrainingCurve& curve = m_recovery->curve();
    if (curve.scores.empty())
        return {};
    const HeldOutScore* best = curve.best();
    const double before = curve.scores.front().accuracy;
    if (m_document->spec().family == Family::encoder)
        return tr("%1; accuracy %2 → %3.")
            .arg(heldOutText(), QString::fromStdString(shownShare(before)),
                 QString::fromStdString(shownShare(best ? best->accuracy : before)));
    QStringList perplexities;
    if (curve.denseNats)
        perplexities << shownPerplexity(*curve.denseNats);
    perplexities << shownPerplexity(curve.scores.front().lossNats);
    if (best)
        perplexities << shownPerplexity(best->lossNats);
    return tr("%1 (perplexity %2).").arg(heldOutText(), perplexities.join(", "));
}

void RecoverPanel::start() {
    try {
        m_fields->keep(*m_document);
        m_recovery->start(m_fields->settings(), m_fields->data());
    } catch (const Error& error) {
        m_state->setText(QString::fromStdString(error.what()));
    }
}

void RecoverPanel::openAdapter() {
    auto* dialog = new QFileDialog(this, tr("Evaluate an adapter"), QSettings().value("folder").toString());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, [this, dialog](const QString& path) {
        QSettings().setValue("folder", dialog->directory().absolutePath());
        m_evaluation->evaluateFolder(path);
    });
    dialog->open();
}

void RecoverPanel::chooseFolder() {
    auto* dialog =
        new QFileDialog(this, tr("Save the training"), QSettings().value("folder").toString(), tr("A new folder (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setFileMode(QFileDialog::AnyFile);
    dialog->selectFile(fileNameOf(m_document->session().model.name) + '-' +
                       fileNameOf(m_recovery->maskName().toStdString()) +
                       (m_recovery->hasAdapter() ? "-adapter" : "-trained"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, dialog](const QString& path) {
        QSettings().setValue("folder", dialog->directory().absolutePath());
        m_recovery->save(path);
    });
    dialog->open();
}

} // namespace secateur
