#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <QFileInfo>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

/// Where a session says which of its masks are in the list that is edited.
constexpr const char* editedMasks = "masks";

} // namespace

void Document::adoptMasks() {
    // A session holds every mask that was measured; those with a name of a person's choice are listed apart.
    const std::vector<std::string> listed = split(m_session.view[editedMasks], '\n');
    std::vector<NamedMask> masks;
    for (const SessionMask& mask : m_session.masks)
        if (m_session.view[editedMasks].empty() || std::ranges::find(listed, mask.name) != listed.end())
            masks.push_back({mask.name, std::make_shared<const MaskRecord>(mask.record)});
    m_masks->reset(spec(), std::move(masks));
}

Session Document::snapshot() const {
    Session session = m_session;
    std::vector<std::string> names;
    for (const NamedMask& mask : m_masks->state().masks) {
        if (mask.record->mask.keepsAll() && mask.record->note.empty())
            continue;
        MaskRecord record = *mask.record;
        record.modelName = session.model.name;
        record.fingerprint = session.model.fingerprint;
        std::string digest = m_services.maskDigest(record.mask);
        names.push_back(add(session, SessionMask{mask.name, std::move(digest), std::move(record)}));
    }
    session.view[editedMasks] = join(names, "\n");
    return session;
}

Session Document::unsaved() const {
    Session session = snapshot();
    session.results.clear();
    return session;
}

void Document::addEvaluation(Evaluation evaluation, const MaskRecord& record) {
    evaluation.mask.digest = m_services.maskDigest(record.mask);
    if (evaluation.created.empty())
        evaluation.created = utcNow();
    const bool isDense = evaluation.mask.digest == "dense";
    if (const SessionMask* known = m_session.mask(evaluation.mask.digest))
        evaluation.mask.name = known->name;
    else if (!isDense)
        evaluation.mask.name = add(m_session, SessionMask{evaluation.mask.name, evaluation.mask.digest, record});
    add(m_session, std::move(evaluation));
    emit evaluationsChanged();
    if (!isDense || !m_sessionPath.isEmpty())
        noteChange();
}

void Document::setPrediction(std::shared_ptr<const PredictionBasis> basis) {
    m_session.prediction = std::move(basis);
    if (!m_sessionPath.isEmpty())
        noteChange();
}

void Document::openMask(const QString& path) {
    const auto work = [this, file = path.toStdString(), read = m_services.readMask, spec = spec(), model = m_model,
                       generation = m_generation, fingerprint = m_session.model.fingerprint](const Progress&) {
        std::vector<std::string> warnings;
        const std::string print = fingerprint.empty() && model ? model->fingerprint() : fingerprint;
        MaskRecord record = read(file, spec, print, warnings);
        return [this, file, generation, record = std::move(record), warnings = std::move(warnings)]() mutable {
            if (generation != m_generation)
                return;
            m_masks->addMask(QFileInfo(QString::fromStdString(file)).fileName().section('.', 0, 0), std::move(record));
            emit maskOpened(QString::fromStdString(file));
            for (const std::string& warning : warnings)
                emit noticed(QString::fromStdString(file + ": " + warning));
        };
    };
    m_smallJobs.insert(
        m_jobs->start(tr("Opening %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::interactive, work));
}

void Document::saveMask(const QString& path) {
    MaskRecord record = *m_masks->state().edited().record;
    record.modelName = m_session.model.name;
    record.fingerprint = m_session.model.fingerprint;
    const auto work = [this, file = path.toStdString(), write = m_services.writeMask, record = std::move(record),
                       model = m_model](const Progress&) mutable {
        if (record.fingerprint.empty() && model)
            record.fingerprint = model->fingerprint();
        write(record, file);
        return [this, file] { emit maskSaved(QString::fromStdString(file)); };
    };
    m_smallJobs.insert(
        m_jobs->start(tr("Saving %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::interactive, work));
}

namespace {

/// Sentences for the card of an exported model: the quality of the masked model.
std::vector<std::string> sentencesOf(const Session& session, const std::string& digest) {
    std::vector<std::string> sentences;
    for (const Evaluation& stored : session.evaluations) {
        if (stored.mask.digest != digest || !stored.text)
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

} // namespace

const ExportTarget* Document::exportTarget() const {
    return firstExportTarget(m_services.exportTargets, m_masks->mask(), spec(), m_session.model.format);
}

void Document::exportModel(const QString& path) {
    const ExportTarget* const target = exportTarget();
    if (!target) {
        emit failed(tr("No available export target can hold this mask."));
        return;
    }
    const std::string digest = m_services.maskDigest(m_masks->mask());
    ExportRequest request{*m_masks->state().edited().record, path.toStdString(), false, sentencesOf(m_session, digest)};
    const auto work = [this, write = m_services.exportModel, model = m_model, target,
                       request = std::move(request)](const Progress& progress) mutable {
        request.record.modelName = model->card().name;
        request.record.fingerprint = model->fingerprint();
        const std::string sentence = write(*model, *target, request, progress);
        return [this, sentence] { emit exported(QString::fromStdString(sentence)); };
    };
    m_smallJobs.insert(
        m_jobs->start(tr("Exporting %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::background, work));
}

void Document::prune(const PruneRequest& request, const QString& action) {
    const auto work = [this, prune = m_services.prune, model = m_model, request, choice = m_choice, action,
                       generation = m_generation, base = m_masks->state().edited().name](const Progress& progress) {
        PruneResult result = prune(*model, request, choice, progress);
        return [this, generation, request, base, action, result = std::move(result)] {
            if (generation == m_generation)
                takePruned(request, base, action, result);
        };
    };
    m_smallJobs.insert(m_jobs->start(action, JobRunner::Priority::background, work));
}

void Document::takePruned(const PruneRequest& request, const std::string& base, const QString& action,
                          const PruneResult& result) {
    const MaskProvenance made = provenanceOf(request, base, result);
    if (m_masks->mask() == *request.base)
        m_masks->replaceMask(result.mask, action, false, made);
    else
        m_masks->addMask(QString::fromStdString(made.strategy), MaskRecord{result.mask, {}, {}, {}, made});
    emit noticed(result.history ? tr("%1: %2.").arg(action, QString::fromStdString(sentence(*result.history)))
                                : tr("%1.").arg(action));
    for (const std::string& warning : result.warnings)
        emit noticed(QString::fromStdString(warning));
}

void Document::restoreMask(const EvaluatedMask& mask) {
    const MaskState& state = m_masks->state();
    const SessionMask* stored = m_session.mask(mask.digest);
    const PruningMask wanted = stored ? stored->record.mask : PruningMask(spec());
    const auto isWanted = [&](const NamedMask& named) { return named.record->mask == wanted; };
    const auto listed = std::ranges::find_if(state.masks, isWanted);
    if (listed != state.masks.end())
        m_masks->setCurrent(static_cast<std::size_t>(listed - state.masks.begin()));
    else if (stored)
        m_masks->addMask(QString::fromStdString(stored->name), stored->record);
    else
        m_masks->addMask(tr("mask"), MaskRecord{wanted, {}, {}, {}, {}});
}

} // namespace secateur
