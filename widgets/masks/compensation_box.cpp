#include "widgets/masks/compensation_box.h"

#include "analysis/base/error.h"
#include "analysis/base/shown_number.h"
#include "analysis/compensation/fit_compensation.h"
#include "widgets/document/calibration.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/jobs/job_status.h"
#include "widgets/results/still_label.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

#include <algorithm>

namespace secateur {

namespace {

constexpr int fitBarSteps = 1000;

QString boxText(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

bool cutsAny(const PruningMask& mask) {
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (mask.layer(layer).hasCuts())
            return true;
    return false;
}

/// The compensation of a mask, as far as its provenance says how it was made.
QString presentText(const MaskRecord& record) {
    if (!record.mask.isCompensated())
        return CompensationBox::tr("Now: none");
    if (record.provenance && isNotedTrained(*record.provenance))
        return CompensationBox::tr("Now: trained");
    const auto fit = record.provenance ? notedFit(*record.provenance) : std::nullopt;
    if (fit && fit->tokens > 0)
        return CompensationBox::tr("Now: %1, fitted to %2")
            .arg(boxText(name(fit->mode)), tokensText(fit->tokens, fit->text));
    if (fit)
        return CompensationBox::tr("Now: %1").arg(boxText(name(fit->mode)));
    if (record.provenance && !record.provenance->strategy.empty())
        return CompensationBox::tr("Now: that of the strategy %1").arg(boxText(record.provenance->strategy));
    return CompensationBox::tr("Now: of an unknown mode");
}

/// The loss of the current mask, if its evaluation is complete.
std::optional<double> completeLoss(const LiveEvaluation& live) {
    const MaskEvaluation* found = live.shown();
    return live.state() == LiveEvaluation::State::complete && found ? std::optional(found->run.lossNats) : std::nullopt;
}

QString lossText(double loss) {
    return QString::fromStdString(shownNumber(loss, 4));
}

} // namespace

CompensationBox::CompensationBox(Document* document, JobRunner* jobs, LiveEvaluation* live, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_live(live)
    , m_mode(new QComboBox)
    , m_present(new StillLabel(2))
    , m_effect(new StillLabel(4))
    , m_progress(new QProgressBar)
    , m_start(new QPushButton) {
    listModes();
    build();
    connectJobs(jobs);
    connect(m_mode, &QComboBox::activated, this, [this] {
        m_isWanted = true;
        m_gain.reset(); // the cost of the chosen mode takes its place
        changed();
    });
    connect(m_start, &QPushButton::clicked, this, &CompensationBox::startOrCancel);
    connect(document, &Document::opened, this, [this] {
        m_isWanted = false;
        changed();
    });
    connect(document, &Document::modelLocated, this, &CompensationBox::changed);
    connect(document->masks(), &MaskEditor::maskChanged, this, &CompensationBox::changed);
    connect(document->calibration(), &Calibration::changed, this, &CompensationBox::changed);
    connect(document->maskJobs(), &MaskJobs::fitted, this, &CompensationBox::take);
    connect(live, &LiveEvaluation::changed, this, [this] {
        keepLossBefore();
        if (m_gain)
            refresh();
    });
    changed();
}

void CompensationBox::listModes() {
    for (const CompensationModeInfo& info : compensationModes()) {
        if (info.mode == CompensationMode::own)
            continue;
        m_mode->addItem(boxText(info.name), static_cast<int>(info.mode));
        m_mode->setItemData(m_mode->count() - 1, boxText(info.summary), Qt::ToolTipRole);
    }
    m_mode->setCurrentIndex(m_mode->findData(static_cast<int>(CompensationMode::weights)));
    m_mode->setAccessibleName(tr("Mode of compensation"));
    m_mode->setWhatsThis(tr("The kind of change of the kept weights that makes up for the cuts."));
    m_mode->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // so that the panel can be narrow
}

void CompensationBox::build() {
    m_present->setAccessibleName(tr("Compensation of the mask"));
    for (StillLabel* label : {m_present, m_effect})
        label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_effect->setAccessibleName(tr("Cost or gain of the compensation"));
    m_progress->setMaximum(fitBarSteps);
    m_progress->setTextVisible(false);
    m_progress->setMaximumHeight(fontMetrics().height() / 2);
    m_progress->setAccessibleName(tr("Progress of the compensation"));
    keepRoomWhenHidden(m_progress);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    grid->addWidget(new QLabel(tr("Compensation")), 0, 0);
    grid->addWidget(m_mode, 0, 1, 1, 2);
    grid->addWidget(m_present, 1, 0, 1, 3);
    grid->addWidget(m_effect, 2, 0, 1, 3);
    grid->addWidget(m_progress, 3, 0, 1, 2);
    grid->addWidget(m_start, 3, 2);
    m_start->setText(tr("Compe&nsate"));
    m_start->setToolTip(tr("Fits the kept weights in the background, so that they make up for the cuts"));
    m_start->setMinimumWidth(m_start->sizeHint().width()); // its other texts are shorter
}

void CompensationBox::connectJobs(JobRunner* jobs) {
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction, const QString& text, double left) {
        if (!isRunning() || job != m_job)
            return;
        m_progress->setValue(static_cast<int>(fraction * fitBarSteps));
        m_effect->setText(left < 0 ? text : tr("%1, %2").arg(text, timeLeftText(left)));
    });
    for (const auto ended : {&JobRunner::finished, &JobRunner::cancelled})
        connect(jobs, ended, this, &CompensationBox::end);
    connect(jobs, &JobRunner::failed, this, &CompensationBox::end);
}

void CompensationBox::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    changed();
}

CompensationMode CompensationBox::mode() const {
    return static_cast<CompensationMode>(m_mode->currentData().toInt());
}

/// Follows the mask, the mode or the text. Opening a session reads nothing: the text is read once the user edits a mask
/// or turns to this box.
void CompensationBox::changed() {
    m_isWanted = m_isWanted || m_document->masks()->undoStack()->index() > 0;
    if (m_isWanted && isVisible() && m_document->isOpen() && cutsAny(m_document->masks()->mask()))
        m_document->calibration()->prepare();
    if (m_gain && m_gain->mask != m_document->masks()->mask())
        m_gain.reset();
    refresh();
}

void CompensationBox::refresh() {
    m_mode->setToolTip(m_mode->currentData(Qt::ToolTipRole).toString());
    m_mode->setEnabled(m_document->model() && !isRunning());
    m_present->setText(m_document->isOpen() ? presentText(*m_document->masks()->state().edited().record) : QString());
    m_effect->setForegroundRole(m_gain ? QPalette::WindowText : QPalette::PlaceholderText);
    m_progress->setVisible(isRunning());
    m_start->setText(isRunning()                        ? tr("Ca&ncel")
                     : mode() == CompensationMode::none ? tr("Remo&ve")
                                                        : tr("Compe&nsate"));
    m_start->setEnabled(isRunning() || canStart());
    if (isRunning())
        return;
    m_effect->setText(m_gain ? gainText() : costText());
    m_effect->setToolTip(m_gain ? tr("Squared errors of the projections' outputs, relative to those of the whole "
                                     "sublayers: means over the projections, on tokens that were held out")
                                : tr("The calibration text and its number of tokens are chosen in the panel Metrics"));
}

bool CompensationBox::canStart() const {
    const PruningMask& mask = m_document->masks()->mask();
    if (!m_document->model())
        return false;
    if (mode() == CompensationMode::none)
        return mask.isCompensated();
    return canCompensate(m_document->spec(), mask) && (m_document->calibration()->known() || !m_isWanted);
}

QString CompensationBox::costText() const {
    const Calibration& calibration = *m_document->calibration();
    const PruningMask& mask = m_document->masks()->mask();
    if (!m_document->isOpen())
        return {};
    if (!m_document->model())
        return tr("The checkpoint is needed to fit a compensation.");
    if (mode() == CompensationMode::none)
        return mask.isCompensated() ? tr("Restores the model's own weights in what is kept.") : QString();
    if (!cutsAny(mask))
        return tr("Nothing is cut, so there is nothing to compensate for.");
    if (!canCompensate(m_document->spec(), mask))
        return tr("Only sublayers that keep some of their units are compensated. This mask has none.");
    if (!m_isWanted && !calibration.known())
        return tr("The first click shows the cost.");
    if (!calibration.known())
        return calibration.problem().isEmpty() ? tr("Reading the calibration text…") : calibration.problem();
    const double passes =
        compensationPasses(m_document->spec(), mask, mode(), calibration.known()->text->data.allTokens);
    return tr("Fits to %1, %2").arg(calibration.description(), durationText(calibration.seconds(passes)));
}

/// Whether the loss is measured on the text to which the compensation was fitted, so that it is optimistic.
bool CompensationBox::scoresFittedText() const {
    const auto& made = m_document->masks()->state().edited().record->provenance;
    const auto fit = made ? notedFit(*made) : std::nullopt;
    return fit && m_live->text() && m_live->text()->source == fit->text;
}

/// "Squared error of 60 projections 12.3 % → 8.1 %; loss 3.012 → 2.934 nats."
QString CompensationBox::gainText() const {
    const QString error = tr("Squared error of %1 projections %2 → %3")
                              .arg(m_gain->parts)
                              .arg(QString::fromStdString(shownShare(m_gain->errorBefore)),
                                   QString::fromStdString(shownShare(m_gain->errorAfter)));
    const auto after = completeLoss(*m_live);
    if (m_lossBefore && after)
        return (scoresFittedText() ? tr("%1; loss %2 → %3 nats, on the fitted text.") : tr("%1; loss %2 → %3 nats."))
            .arg(error, lossText(*m_lossBefore), lossText(*after));
    const bool isComing =
        m_live->state() == LiveEvaluation::State::waiting || m_live->state() == LiveEvaluation::State::running;
    return m_lossBefore && isComing ? tr("%1; loss %2 → … nats.").arg(error, lossText(*m_lossBefore)) : error + '.';
}

void CompensationBox::startOrCancel() {
    if (isRunning())
        return m_jobs->cancel(m_job);
    if (mode() == CompensationMode::none)
        return m_document->maskJobs()->removeCompensation();
    if (!m_document->calibration()->known()) {
        m_isWanted = true;
        return changed();
    }
    m_before = m_document->masks()->mask();
    m_lossBefore.reset();
    keepLossBefore();
    m_gain.reset();
    m_progress->setValue(0);
    m_effect->setText(tr("Starts…"));
    m_job = m_document->maskJobs()->compensate(mode(), m_document->calibration()->known()->text);
    refresh();
}

/// Keeps the loss of the mask that is fitted, which may be known only while the fit runs.
void CompensationBox::keepLossBefore() {
    if (m_document->masks()->mask() == m_before && completeLoss(*m_live))
        m_lossBefore = completeLoss(*m_live);
}

void CompensationBox::take(quint64 job, const FittedMask& fit) {
    if (!isRunning() || job != m_job)
        return;
    Gain gain{fit.mask, fit.parts.size(), 0, 0};
    for (const FittedPart& part : fit.parts) {
        gain.errorBefore += part.errorBefore / static_cast<double>(fit.parts.size());
        gain.errorAfter += part.errorAfter / static_cast<double>(fit.parts.size());
    }
    m_gain = std::move(gain);
}

void CompensationBox::end(quint64 job) {
    if (!isRunning() || job != m_job)
        return;
    m_job = 0;
    refresh();
}

} // namespace secateur
