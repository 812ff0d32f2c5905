#include "widgets/document/commands.h"

#include "analysis/base/error.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/model/far_model.h"
#include "analysis/session/result_key.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/jobs/job_runner.h"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QRegularExpression>

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace secateur {

namespace {

std::string fullPath(const QString& path) {
    return QFileInfo(path).absoluteFilePath().toStdString();
}

/// Whether the file at `path` holds the mask of `record`. False if it cannot be read as a mask of the model.
bool holds(const Services& services, const std::string& path, const MaskRecord& record, const ModelSpec& spec) {
    try {
        std::vector<std::string> ignored;
        return services.readMask(path, spec, record.fingerprint, ignored).mask == record.mask;
    } catch (const Error&) {
        return false;
    }
}

/// The measurements that the keys name, each once. A difference names two measurements. Those of the reference are left
/// out.
std::vector<const MetricResult*> measurementsOf(const Document& document, const std::vector<std::string>& keys) {
    std::vector<const MetricResult*> found;
    for (const std::string& text : keys) {
        const ResultKey key = parseResultKey(text);
        for (const std::string& part : {key.key, key.subtracted.value_or(key.key)}) {
            const MetricResult* result =
                part == referenceKey ? nullptr
                                     : document.measurements()->result(ResultKey{key.resultId, part, {}}.text());
            if (result && std::ranges::find(found, result) == found.end())
                found.push_back(result);
        }
    }
    return found;
}

} // namespace

std::string modelPath(const Document& document) {
    const std::string& path = document.session().model.path;
    // If the checkpoint was not found, return the path that the session stores.
    if (isFarPath(path))
        return pathOnServer(path); // the command is for a shell there
    return document.model() ? fullPath(QString::fromStdString(path)) : path;
}

CommandLine plotLine(const Document& document, const std::string& figure) {
    const bool fromSession = !document.model() && !document.sessionPath().isEmpty();
    return plotCommand(fromSession ? fullPath(document.sessionPath()) : modelPath(document), figure);
}

std::string plotText(const Document& document, const std::string& figure) {
    return shellText(plotLine(document, figure));
}

QString linesOf(const std::vector<CommandLine>& commands) {
    QStringList lines;
    for (const CommandLine& command : commands)
        lines << QString::fromStdString(shellText(command));
    return lines.join('\n');
}

void copyCommands(const std::vector<CommandLine>& commands) {
    QGuiApplication::clipboard()->setText(linesOf(commands));
}

CommandCopier::CommandCopier(Document* document, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs) {
    const auto know = [this](const QString& path) {
        const QString full = QFileInfo(path).absoluteFilePath();
        m_maskFiles.removeAll(full);
        m_maskFiles.prepend(full);
    };
    connect(document->maskJobs(), &MaskJobs::maskOpened, this, know);
    connect(document->maskJobs(), &MaskJobs::maskSaved, this, know);
    connect(document, &Document::opened, this, [this] {
        m_maskFiles.clear();
        m_wanted.reset();
        ++m_turn;
    });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job, const QString& message) {
        if (m_own.erase(job) > 0)
            emit failed(message);
    });
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { m_own.erase(job); });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) { m_own.erase(job); });
}

void CommandCopier::copyMeasuring(const std::vector<std::string>& keys) {
    std::vector<MetricResult> results;
    std::set<std::string> masks;
    bool hasParts = false;
    for (const MetricResult* result : measurementsOf(*m_document, keys)) {
        if (result->data && result->data->isPart()) {
            hasParts = true;
            continue;
        }
        MetricResult& how = results.emplace_back(); // a copy without values, which the command does not need
        how.request = result->request;
        how.measurement = result->measurement;
        how.data = result->data;
        if (how.data && how.measurement.maskDigest != Measurement().maskDigest)
            masks.insert(how.measurement.maskDigest);
    }
    if (results.empty() && hasParts)
        emit failed(tr("These results were measured on a part of a text. No command measures a part."));
    if (results.empty())
        return;
    const QString note = hasParts ? tr("Results on a part of a text are left out: no command measures a part.") : "";
    const auto commands = [results, model = modelPath(*m_document)](const std::string& maskFile) {
        std::vector<const MetricResult*> pointers;
        for (const MetricResult& result : results)
            pointers.push_back(&result);
        return measureCommands(model, pointers, maskFile);
    };
    const SessionMask* mask = masks.empty() ? nullptr : m_document->session().mask(*masks.begin());
    if (masks.empty())
        copy(commands({}), note);
    else if (masks.size() > 1)
        emit failed(tr("These results were measured under several masks. Copy one at a time."));
    else if (mask)
        findMaskFile({mask->name, mask->record, commands, note});
    else
        emit failed(tr("The session does not hold the mask of this measurement."));
}

void CommandCopier::copyEvaluation(const Evaluation& evaluation) {
    QString note;
    if (evaluation.text && !evaluation.text->isComplete())
        note = tr("The command scores all %1 windows; this row has %2.")
                   .arg(evaluation.text->windows)
                   .arg(evaluation.text->perplexity.windows.size());
    if (evaluation.adapter.isPresent())
        note = tr("The command reads the adapter from a folder named %1.")
                   .arg(QString::fromStdString(evaluation.adapter.name));
    const auto commands = [evaluation, model = modelPath(*m_document)](const std::string& maskFile) {
        return evaluateCommands(model, evaluation, maskFile);
    };
    const SessionMask* mask = m_document->session().mask(evaluation.mask.digest);
    if (evaluation.mask.digest == "dense")
        copy(commands({}), note);
    else if (mask)
        findMaskFile({mask->name, mask->record, commands, note});
    else
        emit failed(tr("The session does not hold the mask of this row."));
}

void CommandCopier::copyMask() {
    const NamedMask& mask = m_document->masks()->state().edited();
    const std::string model = modelPath(*m_document);
    const std::string stem = fileNameOf(mask.name).toStdString();
    const MaskProvenance made = mask.record->provenance.value_or(MaskProvenance());
    const bool isFitted = notedFit(made).has_value();
    const std::string plain = stem + (isFitted ? "-uncompensated.mask.json" : ".mask.json");
    const auto prune = pruneCommand(model, made, plain);
    const auto compensate = compensateCommand(model, made, plain, stem + ".mask.json");
    if (prune && !isFitted && !isNotedTrained(made))
        return copy({*prune});
    if (prune && compensate)
        return copy({*prune, *compensate});
    if (compensate)
        return copyCompensation(mask);
    findMaskFile({mask.name,
                  *mask.record,
                  [model](const std::string& file) { return std::vector<CommandLine>{showMaskCommand(model, file)}; },
                  {}});
}

/// Copies the command that compensates a mask which no command makes. The mask without its compensation gets a file.
void CommandCopier::copyCompensation(const NamedMask& mask) {
    MaskRecord plain = *mask.record;
    plain.mask = withoutCompensation(plain.mask);
    plain.provenance.reset();
    const auto commands = [made = *mask.record->provenance, model = modelPath(*m_document),
                           out = fileNameOf(mask.name).toStdString() + ".mask.json"](const std::string& file) {
        return std::vector<CommandLine>{*compensateCommand(model, made, file, out)};
    };
    findMaskFile({mask.name + " uncompensated", std::move(plain), commands, {}});
}

void CommandCopier::copyUnderMask(std::function<std::vector<CommandLine>(const std::string& maskFile)> commands) {
    const NamedMask& mask = m_document->masks()->state().edited();
    if (mask.record->mask.keepsAll())
        copy(commands({}));
    else
        findMaskFile({mask.name, *mask.record, std::move(commands), {}});
}

void CommandCopier::copyExport() {
    const ExportTarget* const target = m_document->maskJobs()->exportTarget();
    if (!target) {
        emit failed(tr("No available export target can hold this mask."));
        return;
    }
    const NamedMask& mask = m_document->masks()->state().edited();
    const MaskJobs& jobs = *m_document->maskJobs();
    const QString out = jobs.exportName() + (jobs.isOneFile(*target) ? ".gguf" : "");
    findMaskFile({mask.name,
                  *mask.record,
                  [model = modelPath(*m_document), target, type = jobs.exportType(target),
                   out = out.toStdString()](const std::string& file) {
                      return std::vector<CommandLine>{exportCommand(model, file, *target, out, type)};
                  },
                  {}});
}

void CommandCopier::copy(const std::vector<CommandLine>& commands, const QString& note) {
    copyCommands(commands);
    emit copied(linesOf(commands), note);
}

void CommandCopier::findMaskFile(Wanted wanted) {
    const QFileInfo session(m_document->sessionPath());
    const std::string stem =
        m_document->sessionPath().isEmpty()
            ? std::string()
            : (session.absolutePath() + '/' + session.completeBaseName() + '-' + fileNameOf(wanted.name)).toStdString();
    m_wanted = std::move(wanted);
    start([known = m_maskFiles, stem, services = m_document->services(),
           spec = m_document->spec()](const MaskRecord& record) {
        for (const QString& file : known)
            if (holds(services, file.toStdString(), record, spec))
                return Found{file.toStdString(), false};
        if (stem.empty())
            return Found{};
        for (int number = 1;; ++number) {
            const std::string path = stem + (number == 1 ? "" : fmt::format("-{}", number)) + ".mask.json";
            if (!std::filesystem::exists(path)) {
                services.writeMask(record, path);
                return Found{path, true};
            }
            if (holds(services, path, record, spec))
                return Found{path, false};
        }
    });
}

void CommandCopier::place(const QString& path) {
    if (!m_wanted)
        return;
    start([path = QFileInfo(path).absoluteFilePath().toStdString(),
           services = m_document->services()](const MaskRecord& record) {
        services.writeMask(record, path);
        return Found{path, true};
    });
}

void CommandCopier::start(std::function<Found(const MaskRecord&)> find) {
    MaskRecord record = m_wanted->record;
    record.modelName = m_document->session().model.name;
    record.fingerprint = m_document->session().model.fingerprint;
    const auto work = [this, turn = ++m_turn, record = std::move(record), find = std::move(find),
                       model = m_document->model()](const Progress&) mutable {
        if (record.fingerprint.empty() && model)
            record.fingerprint = model->fingerprint();
        const Found found = find(record);
        return [this, turn, found] {
            if (turn == m_turn)
                finish(found);
        };
    };
    m_own.insert(m_jobs->start(tr("Looking for a mask file"), JobRunner::Priority::files, work));
}

void CommandCopier::finish(const Found& found) {
    if (found.path.empty()) {
        emit placeWanted(fileNameOf(m_wanted->name) + ".mask.json");
        return;
    }
    const Wanted wanted = *std::exchange(m_wanted, {});
    const QString path = QString::fromStdString(found.path);
    if (!m_maskFiles.contains(path))
        m_maskFiles.prepend(path);
    QString note = found.isNew ? tr("The mask was written to %1.").arg(path) : tr("The mask is in %1.").arg(path);
    if (!wanted.note.isEmpty())
        note += ' ' + wanted.note;
    copy(wanted.commands(found.path), note);
}

} // namespace secateur
