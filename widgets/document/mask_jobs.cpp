#include "widgets/document/mask_jobs.h"

#include "analysis/base/text.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/export/export_target.h"
#include "analysis/strategies/prune.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"

#include <QFileInfo>
#include <QRegularExpression>

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// Sentences about the quality of the masked model, for the model card of the export.
std::vector<std::string> sentencesOf(const Session& session, const std::string& digest) {
    std::vector<std::string> sentences;
    for (const Evaluation& stored : session.evaluations) {
        if (!stored.isOf(digest) || !stored.text)
            continue;
        const Evaluation evaluation = compared(session, stored);
        const TextEvaluation& text = *evaluation.text;
        std::string sentence = fmt::format(
            "perplexity {} on {} ({}, windows of {}, {})", significant(text.perplexity.perplexity(), 4), text.source,
            name(text.perplexity.rules.protocol), text.perplexity.rules.window, evaluation.dtype);
        if (text.reference)
            sentence += fmt::format("; the dense model {}", significant(text.reference->perplexity.perplexity(), 4));
        sentences.push_back(std::move(sentence));
    }
    return sentences;
}

QString modeName(CompensationMode mode) {
    const std::string_view text = name(mode);
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

QString fileNameOf(const std::string& name) {
    static const QRegularExpression awkward("[^\\w.+-]+");
    QString text = QString::fromStdString(name).replace(awkward, "-");
    while (text.endsWith('-'))
        text.chop(1);
    return text.isEmpty() ? QStringLiteral("mask") : text;
}

MaskJobs::MaskJobs(Document* document, JobRunner* jobs)
    : QObject(document)
    , m_document(document) {
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { m_exporting.erase(job); });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job) { m_exporting.erase(job); });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) {
        if (const auto exporting = m_exporting.extract(job); !exporting.empty())
            emit m_document->failed(tr("The export was cancelled. %1 was not written.").arg(exporting.mapped()));
    });
}

void MaskJobs::openMask(const QString& path) {
    const auto work = [this, file = path.toStdString(), read = m_document->services().readMask,
                       spec = m_document->spec(), model = m_document->model(), generation = m_document->generation(),
                       fingerprint = m_document->session().model.fingerprint](const Progress&) {
        std::vector<std::string> warnings;
        const std::string print = fingerprint.empty() && model ? model->fingerprint() : fingerprint;
        MaskRecord record = read(file, spec, print, warnings);
        return [this, file, generation, record = std::move(record), warnings = std::move(warnings)]() mutable {
            if (generation != m_document->generation())
                return;
            const QString opened = QString::fromStdString(file);
            m_document->masks()->addMask(QFileInfo(opened).fileName().section('.', 0, 0), std::move(record));
            emit maskOpened(opened);
            for (const std::string& warning : warnings)
                emit m_document->noticed(QString::fromStdString(file + ": " + warning));
        };
    };
    m_document->start(tr("Opening %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::files, work);
}

void MaskJobs::saveMask(const QString& path) {
    MaskRecord record = *m_document->masks()->state().edited().record;
    record.modelName = m_document->session().model.name;
    record.fingerprint = m_document->session().model.fingerprint;
    const auto work = [this, file = path.toStdString(), write = m_document->services().writeMask,
                       record = std::move(record), model = m_document->model()](const Progress&) mutable {
        if (record.fingerprint.empty() && model)
            record.fingerprint = model->fingerprint();
        write(record, file);
        return [this, file] { emit maskSaved(QString::fromStdString(file)); };
    };
    m_document->start(tr("Saving %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::files, work);
}

const ExportTarget* MaskJobs::exportTarget() const {
    if (m_chosenTarget && firstExportTarget({m_chosenTarget, 1}, m_document->masks()->mask(), m_document->spec(),
                                            m_document->session().model.format))
        return m_chosenTarget;
    return firstExportTarget(m_document->services().exportTargets, m_document->masks()->mask(), m_document->spec(),
                             m_document->session().model.format);
}

std::string MaskJobs::exportType(const ExportTarget* target) const {
    const auto type = m_exportTypes.find(target);
    return type == m_exportTypes.end() ? std::string() : type->second;
}

bool MaskJobs::isOneFile(const ExportTarget& target) const {
    static const QRegularExpression part("-\\d{5}-of-\\d{5}\\.gguf$");
    const ModelCard& source = m_document->session().model;
    const bool isSplit = QString::fromStdString(source.path).contains(part);
    const std::string_view format = target.format.empty() ? std::string_view(source.format) : target.format;
    return format == "gguf" && !(target.format.empty() && isSplit);
}

QString MaskJobs::exportName() const {
    return fileNameOf(m_document->session().model.name) + '-' + fileNameOf(m_document->masks()->state().edited().name);
}

JobRunner::Id MaskJobs::exportModel(const QString& path, bool mayReplace) {
    const ExportTarget* const target = exportTarget();
    if (!target) {
        emit m_document->failed(tr("No available export target can hold this mask."));
        return 0;
    }
    const std::string digest = m_document->services().maskDigest(m_document->masks()->mask());
    ExportRequest request{*m_document->masks()->state().edited().record, path.toStdString(), mayReplace,
                          sentencesOf(m_document->session(), digest), exportType(target)};
    const auto job = std::make_shared<JobRunner::Id>(0); // known once the job has started
    const auto work = [this, write = m_document->services().exportModel, model = m_document->model(), target, job,
                       request = std::move(request)](const Progress& progress) mutable {
        request.record.modelName = model->card().name;
        request.record.fingerprint = model->fingerprint();
        const ExportResult result = write(*model, *target, request, progress);
        return [this, job, result] {
            emit written(*job, result);
            emit exported(QString::fromStdString(fmt::format("{}. {}", result.path, sentence(result.verified))));
        };
    };
    const QString title = tr("Exporting %1").arg(QFileInfo(path).fileName());
    *job = m_document->start(title, JobRunner::Priority::background, work);
    m_exporting.emplace(*job, path);
    return *job;
}

MaskJobs::Start MaskJobs::startNow() const {
    const NamedMask& mask = m_document->masks()->state().edited();
    return {m_document->generation(), mask.name, mask.record};
}

JobRunner::Id MaskJobs::prune(const PruneRequest& request, const QString& action, const PruneWatch& watch,
                              std::int64_t tokens) {
    MeasureChoice choice = m_document->measurements()->measureChoice();
    if (tokens > 0)
        choice.tokens = tokens;
    const auto work = [this, prune = m_document->services().prune, model = m_document->model(), request, choice, watch,
                       action, start = startNow()](const Progress& progress) {
        PruneResult result = prune(*model, request, choice, watch, progress);
        return [this, start, request, action, result = std::move(result)] {
            if (start.generation == m_document->generation())
                takePruned(start, request, action, result);
        };
    };
    return m_document->start(action, JobRunner::Priority::background, work);
}

void MaskJobs::takePruned(const Start& start, const PruneRequest& request, const QString& action,
                          const PruneResult& result) {
    MaskProvenance made = provenanceOf(request, start.name, result);
    constexpr double fine = 1000;
    if (result.stoppedAt) // rounded off, so that the same request makes the same mask
        made.budget->amount = std::floor(*result.stoppedAt * fine) / fine;
    take(start, action, QString::fromStdString(made.strategy), result.mask, made);
    emit m_document->noticed(result.history
                                 ? tr("%1: %2.").arg(action, QString::fromStdString(sentence(*result.history)))
                                 : tr("%1.").arg(action));
    for (const std::string& warning : result.warnings)
        emit m_document->noticed(QString::fromStdString(warning));
}

void MaskJobs::take(const Start& start, const QString& action, const QString& name, PruningMask mask,
                    MaskProvenance made) {
    MaskEditor* masks = m_document->masks();
    if (masks->mask() == start.record->mask)
        masks->replaceMask(std::move(mask), action, false, std::move(made));
    else
        masks->addMask(name, MaskRecord{std::move(mask), {}, {}, {}, std::move(made)});
}

JobRunner::Id MaskJobs::compensate(CompensationMode mode, std::shared_ptr<const SequenceText> text) {
    const QString action = tr("Compensate by %1").arg(modeName(mode));
    const auto job = std::make_shared<JobRunner::Id>(0); // known once the job has started
    const auto work = [this, model = m_document->model(), mode, text, action, job,
                       start = startNow()](const Progress& progress) {
        FittedMask fit = fitCompensation(*model, start.record->mask, mode, {text->set.sequences}, progress);
        return [this, mode, text, action, job, start, fit = std::move(fit)] {
            if (start.generation != m_document->generation())
                return;
            MaskProvenance made = start.record->provenance.value_or(MaskProvenance());
            noteFit(made, {mode, text->data.source, text->data.allTokens, text->data.sequenceLength}, fit.parts);
            take(start, action, tr("%1 compensated").arg(QString::fromStdString(start.name)), fit.mask, made);
            for (const std::string& warning : text->warnings)
                emit m_document->noticed(QString::fromStdString(warning));
            emit fitted(*job, fit);
        };
    };
    const QString title = tr("%1: %2").arg(action, QString::fromStdString(startNow().name));
    return *job = m_document->start(title, JobRunner::Priority::background, work);
}

void MaskJobs::removeCompensation() {
    const MaskRecord& record = *m_document->masks()->state().edited().record;
    std::optional<MaskProvenance> made = record.provenance;
    if (made)
        noteFit(*made, {CompensationMode::none}, {});
    m_document->masks()->replaceMask(withoutCompensation(record.mask), tr("Remove the compensation"), false, made);
}

} // namespace secateur
