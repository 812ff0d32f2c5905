#include "backends/remote/remote_services.h"

#include "analysis/base/error.h"
#include "analysis/model/far_model.h"
#include "analysis/strategies/gradient_change.h"
#include "backends/remote/remote_model.h"
#include "backends/remote/remote_runner.h"
#include "backends/remote/search_parts.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace secateur {

namespace {

/// Puts the name of a text of this machine in the place of that of its copy.
class Renamed {
public:
    Renamed(const FarModel& model, const MeasureChoice& choice, const Progress& progress)
        : m_model(model)
        , m_choice(choice)
        , m_progress(progress) {}

    /// The choice with a copy of its text on the server.
    MeasureChoice there() {
        MeasureChoice choice = m_choice;
        choice.text = copyOf(m_choice.text);
        return choice;
    }
    std::string copyOf(const std::string& path) {
        if (path.empty())
            return path;
        const std::string copy = copiedToServer(m_model, path, m_progress.part(0, 0));
        m_names[copy] = path;
        return copy;
    }
    void rename(std::string& text) const {
        for (const auto& [copy, own] : m_names)
            for (std::size_t place = text.find(copy); place != std::string::npos;
                 place = text.find(copy, place + own.size()))
                text.replace(place, copy.size(), own);
    }
    void rename(std::optional<MeasuredData>& data) const {
        if (data)
            rename(data->source);
    }
    void rename(MetricResult& result) const {
        rename(result.data);
        for (std::string& warning : result.warnings)
            rename(warning);
        for (auto& [name, value] : result.request.options)
            rename(value);
    }
    void rename(PruneResult& result) const {
        rename(result.data);
        for (std::vector<std::string>* texts : {&result.warnings, &result.notes})
            for (std::string& text : *texts)
                rename(text);
        if (result.metric)
            rename(*result.metric);
    }
    /// Runs work whose errors may name copies.
    template <typename Work>
    auto named(const Work& work) const {
        try {
            return work();
        } catch (const Error& error) {
            std::string message = error.message();
            std::string subject = error.subject();
            rename(message);
            rename(subject);
            throw Error(message, subject, error.hint());
        }
    }

private:
    const FarModel& m_model;
    const MeasureChoice& m_choice;
    const Progress& m_progress;
    std::map<std::string, std::string> m_names; ///< of texts here, by that of their copies
};

std::vector<MetricResult> measureFar(const FarModel& model, std::span<const MetricRequest> requests,
                                     const MeasureChoice& choice, const Progress& progress,
                                     const LayerSink& layerDone) {
    Renamed names(model, choice, progress);
    const std::vector<MetricRequest> wanted(requests.begin(), requests.end());
    const auto part = [&](std::string_view bytes) {
        const auto cells = fromWire<CellsPart>(bytes);
        const bool isIn = cells.request < wanted.size() && cells.layer >= 0 &&
                          cells.layer < model.spec().layerCount() &&
                          cells.values.size() <= columnsFor(wanted[cells.request].info->scope, model.spec()) &&
                          (cells.standardErrors.empty() || cells.standardErrors.size() == cells.values.size());
        if (!isIn)
            throw Error("A message has values of another model");
        if (layerDone)
            layerDone({cells.request, cells.layer, cells.values, cells.standardErrors});
    };
    return names.named([&] {
        const FarCall call{
            .job = "measure", .arguments = [&] { return wireBytes(wanted, names.there()); }, .part = part};
        auto results =
            checked(fromWire<std::vector<MetricResult>>(model.call(call, progress), &model.spec()), model.spec());
        for (MetricResult& result : results)
            names.rename(result);
        return results;
    });
}

PruneResult pruneFar(const FarModel& model, const PruneRequest& request, const MeasureChoice& choice,
                     const PruneWatch& watch, const Progress& progress) {
    Renamed names(model, choice, progress);
    std::vector<StepPrice> known = watch.known;
    const auto arguments = [&] {
        PruneRequest there = request;
        if (const auto corpus = there.strategy.options.find("corpus"); corpus != there.strategy.options.end())
            corpus->second = names.copyOf(corpus->second);
        return wireBytes(there, names.there(), known);
    };
    const auto part = [&](std::string_view bytes) {
        const auto news = fromWire<PrunePart>(bytes, &model.spec());
        known.insert(known.end(), news.prices.begin(), news.prices.end());
        if (!news.prices.empty() && watch.priced)
            watch.priced(news.prices);
        if (news.step && watch.made)
            watch.made(*news.step);
    };
    return names.named([&] {
        const FarCall call{.job = "prune", .arguments = arguments, .part = part, .isEnough = watch.isEnough};
        auto result = fromWire<PruneResult>(model.call(call, progress), &model.spec());
        result.mask.checkFits(model.spec());
        if (result.metric)
            checkShape(*result.metric, model.spec());
        names.rename(result);
        return result;
    });
}

GradientChange changeFar(const FarModel& model, const GradientChangeRequest& request, const MeasureChoice& choice,
                         const Progress& progress) {
    Renamed names(model, choice, progress);
    return names.named([&] {
        const FarCall call{.job = "gradient_change", .arguments = [&] { return wireBytes(request, names.there()); }};
        auto change = fromWire<GradientChange>(model.call(call, progress), &model.spec());
        if (std::ssize(change.layers) != model.spec().layerCount())
            throw Error("A message has gradients of another model");
        return change;
    });
}

/// A model by its own path, of which functions that read files beside the weights see the stand-in.
const Model& faceOf(const Model& model) {
    const FarModel* far = farModel(model);
    return far ? localFace(*far) : model;
}

[[noreturn]] void refuseTraining(const std::string& path) {
    throw Error("lies on a server, where no training runs yet", path,
                "Train it with secateur-cli recover on the server");
}

/// The models of servers that are open.
class ServedModels {
public:
    explicit ServedModels(std::string command)
        : m_command(std::move(command)) {}

    static bool has(const std::string& path) { return isFarPath(path); }
    RemoteAddress address(const std::string& path) const {
        if (isRemotePath(path))
            return addressOf(path);
        if (m_command.empty())
            throw Error("was opened on a server that another command had started", path,
                        "Start secateur with --serve-with COMMAND and this model");
        RemoteAddress address = addressOfCommand(m_command, pathOnServer(path));
        address.shown = path;
        return address;
    }
    std::shared_ptr<const FarModel> open(const std::string& path, const Progress& progress) {
        auto model = openRemoteModel(address(path), progress);
        const std::lock_guard lock(m_mutex);
        m_open[path] = model;
        return model;
    }
    /// The open model of a path, or a new one.
    std::shared_ptr<const FarModel> model(const std::string& path, const Progress& progress) {
        {
            const std::lock_guard lock(m_mutex);
            if (auto known = m_open[path].lock())
                return known;
        }
        return open(path, progress);
    }

private:
    std::string m_command;
    std::mutex m_mutex;
    std::map<std::string, std::weak_ptr<const FarModel>> m_open;
};

/// Opening models and files of servers.
void addOpening(Services& services, const Services& local, const std::shared_ptr<ServedModels>& served) {
    services.openModel = [local, served](const std::string& path,
                                         const Progress& progress) -> std::shared_ptr<const Model> {
        return ServedModels::has(path) ? served->open(path, progress) : local.openModel(path, progress);
    };
    services.isSession = [local, served](const std::string& path) {
        return !ServedModels::has(path) && local.isSession(path);
    };
    services.storedTensors = [local, served](const std::string& path, const Progress& progress) {
        return ServedModels::has(path)
                   ? remoteTensors(served->model(path, progress), served->address(path).path, progress)
                   : local.storedTensors(path, progress);
    };
    services.openTokenizer = [local](const Model& model) { return local.openTokenizer(faceOf(model)); };
    services.readPrompt = [local](const Model& model, const std::string& text) {
        return local.readPrompt(faceOf(model), text);
    };
    services.readText = [local](const Model& model, const TextRequest& request, const Progress& progress) {
        return local.readText(faceOf(model), request, progress);
    };
    services.readSequences = [local](const Model& model, const std::string& path, std::int64_t mostTokens,
                                     const Progress& progress) {
        return local.readSequences(faceOf(model), path, mostTokens, progress);
    };
    services.readTask = [local](const Model& model, const TaskRequest& request, const Progress& progress) {
        return local.readTask(faceOf(model), request, progress);
    };
    services.readSweep = [local](const Model& model, const SweepSetup& setup, const Progress& progress) {
        return local.readSweep(faceOf(model), setup, progress);
    };
}

/// Work that runs where the model is.
void addWork(Services& services, const Services& local) {
    services.measure = [local](const Model& model, std::span<const MetricRequest> requests, const MeasureChoice& choice,
                               const Progress& progress, const LayerSink& layerDone) {
        const FarModel* far = farModel(model);
        return far ? measureFar(*far, requests, choice, progress, layerDone)
                   : local.measure(model, requests, choice, progress, layerDone);
    };
    services.prune = [local](const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                             const PruneWatch& watch, const Progress& progress) {
        const FarModel* far = farModel(model);
        return far ? pruneFar(*far, request, choice, watch, progress)
                   : local.prune(model, request, choice, watch, progress);
    };
    services.gradientChange = [local](const Model& model, const GradientChangeRequest& request,
                                      const MeasureChoice& choice, const Progress& progress) {
        const FarModel* far = farModel(model);
        return far ? changeFar(*far, request, choice, progress)
                   : local.gradientChange(model, request, choice, progress);
    };
    services.overwrittenFiles = [local](const Model& model) {
        const FarModel* far = farModel(model);
        return far ? far->result<std::vector<std::string>>("overwritten_files", {}) : local.overwrittenFiles(model);
    };
    services.exportSize = [local](const Model& model, const ExportTarget& target, const ExportRequest& request) {
        const FarModel* far = farModel(model);
        return far ? far->result<ExportSize>("export_size", {}, FarExport{std::string(target.id), request})
                   : local.exportSize(model, target, request);
    };
    services.exportModel = [local](const Model& model, const ExportTarget& target, const ExportRequest& request,
                                   const Progress& progress) {
        const FarModel* far = farModel(model);
        return far ? far->result<ExportResult>("export", progress, FarExport{std::string(target.id), request})
                   : local.exportModel(model, target, request, progress);
    };
}

/// Training, which needs the weights in this process.
void addTraining(Services& services, const Services& local) {
    services.recover = [local](const Model& model, const RecoveryRequest& request, const TrainingWatch& watch,
                               const Progress& progress) {
        if (farModel(model))
            refuseTraining(model.card().path);
        return local.recover(model, request, watch, progress);
    };
    services.trainingSize = [local](const Model& model, const std::string& data, int length, const Progress& progress) {
        return local.trainingSize(faceOf(model), data, length, progress);
    };
    services.sweepRecovery = [local](const std::shared_ptr<const Model>& model, const RecoveryChoice& choice,
                                     const std::string& folder, const Progress& progress) {
        if (farModel(*model))
            refuseTraining(model->card().path);
        return local.sweepRecovery(model, choice, folder, progress);
    };
    services.openAdapter = [local](const std::shared_ptr<const Model>& model, const std::string& folder) {
        if (farModel(*model))
            throw Error("lies on a server, where adapters cannot be opened yet", model->card().path,
                        "Evaluate it with secateur-cli on the server");
        return local.openAdapter(model, folder);
    };
}

} // namespace

Services withServers(Services local, const std::string& command) {
    Services services = local;
    const auto served = std::make_shared<ServedModels>(command);
    addOpening(services, local, served);
    addWork(services, local);
    addTraining(services, local);
    services.stayTogether = [local](const Plan& one, const Plan& other) {
        return isOfServer(one) ? stayTogetherThere(one, other) : local.stayTogether(one, other);
    };
    return services;
}

std::string servedPath(const std::string& path) {
    return std::string(servedScheme) + path;
}

} // namespace secateur
