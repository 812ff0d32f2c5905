#include "widgets/document/calibration.h"

#include "analysis/base/text.h"
#include "analysis/running/runner.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"

#include <QFileInfo>

#include <utility>

namespace secateur {

Calibration::Calibration(Document* document, JobRunner* jobs)
    : QObject(document)
    , m_document(document)
    , m_jobs(jobs) {
    connect(document, &Document::opened, this, &Calibration::forget);
    connect(document, &Document::modelLocated, this, &Calibration::forget);
    connect(document->measurements(), &Measurements::measuringChosen, this, &Calibration::forget);
    const auto end = [this](quint64 job, const QString& problem) {
        if (job == 0 || job != m_job)
            return;
        m_job = 0;
        m_problem = problem;
        emit changed();
    };
    connect(jobs, &JobRunner::failed, this, end);
    connect(jobs, &JobRunner::cancelled, this, [end](quint64 job) { end(job, tr("The text was not read.")); });
}

void Calibration::forget() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_known.reset();
    m_problem.clear();
    emit changed();
}

JobRunner::Work Calibration::reading() {
    return [this, model = m_document->model(), read = m_document->services().readSequences,
            choice = m_document->measurements()->measureChoice()](const Progress& progress) {
        const auto plan = model->runner().plan(PruningMask(model->spec()));
        Known known{choice, {}, runSpeed(*model, *plan, progress), 0};
        known.loadingSeconds = loadingSeconds(known.speed, *plan, false);
        if (choice.tokens == 0)
            known.choice.tokens = interactiveTokens(known.speed, model->spec());
        known.text =
            std::make_shared<const SequenceText>(read(*model, choice.text, known.choice.tokens, progress.part(0, 0)));
        return [this, known = std::move(known)] {
            m_job = 0;
            m_known = known;
            emit changed();
        };
    };
}

void Calibration::prepare() {
    if (m_job != 0 || m_known || !m_problem.isEmpty() || !m_document->model() || !m_document->services().readSequences)
        return;
    m_job = m_jobs->start(tr("Reading the calibration text"), JobRunner::Priority::interactive, reading());
}

double Calibration::seconds(double passes) const {
    const PruningMask dense(m_document->spec());
    return m_known->loadingSeconds +
           passes * runSeconds(m_known->speed, m_document->spec(), dense, sizeOf(m_known->text->set));
}

QString Calibration::description() const {
    return m_known ? tokensText(m_known->text->data.allTokens, m_known->text->data.source) : QString();
}

QString tokensText(std::int64_t tokens, const std::string& source) {
    const QString name = QFileInfo(QString::fromStdString(source)).fileName();
    return Calibration::tr("%1 tokens of %2")
        .arg(QString::fromStdString(grouped(static_cast<std::uint64_t>(tokens))),
             source == "built-in" ? Calibration::tr("the built-in text") : name);
}

} // namespace secateur
