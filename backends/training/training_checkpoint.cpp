#include "backends/training/training_checkpoint.h"

#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "backends/base/atomic_file.h"
#include "backends/base/mapped_file.h"
#include "backends/base/sha256.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_weights.h"
#include "backends/formats/safetensors_bytes.h"
#include "backends/session/mask_json.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <filesystem>

namespace secateur {

namespace {

using Json = nlohmann::ordered_json;

Json jsonOf(const TrainingSettings& settings) {
    Json targets = Json::array();
    for (const WeightName target : settings.targets)
        targets.push_back(shortName(target));
    return {{"rank", settings.adapter.rank},
            {"alpha", settings.adapter.alpha},
            {"dropout", settings.adapter.dropout},
            {"targets", targets},
            {"norms", settings.trainsNorms},
            {"head", settings.trainsHead},
            {"compensation", settings.trainsCompensation},
            {"teacher_weight", settings.teacherWeight},
            {"teacher_top", settings.teacherTop},
            {"learning_rate", settings.learningRate},
            {"weight_decay", settings.weightDecay},
            {"clip_norm", settings.clipNorm},
            {"decay", name(settings.decay)},
            {"warmup_steps", settings.warmupSteps},
            {"batch", settings.batch},
            {"accumulation", settings.accumulation},
            {"length", settings.length},
            {"epochs", settings.epochs},
            {"steps", settings.steps},
            {"minutes", settings.minutes},
            {"seed", settings.seed}};
}

TrainingSettings settingsOf(const Json& json) {
    TrainingSettings settings;
    settings.adapter = {json.at("rank"), json.at("alpha"), json.at("dropout")};
    for (const auto& target : json.at("targets"))
        settings.targets.push_back(projectionOf(target.get<std::string>()));
    settings.trainsNorms = json.at("norms");
    settings.trainsHead = json.at("head");
    settings.trainsCompensation = json.at("compensation");
    settings.teacherWeight = json.at("teacher_weight");
    settings.teacherTop = json.at("teacher_top");
    settings.learningRate = json.at("learning_rate");
    settings.weightDecay = json.at("weight_decay");
    settings.clipNorm = json.at("clip_norm");
    settings.decay = rateDecayOf(json.at("decay").get<std::string>());
    settings.warmupSteps = json.at("warmup_steps");
    settings.batch = json.at("batch");
    settings.accumulation = json.at("accumulation");
    settings.length = json.at("length");
    settings.epochs = json.at("epochs");
    settings.steps = json.at("steps");
    settings.minutes = json.at("minutes");
    settings.seed = json.at("seed");
    return settings;
}

Json jsonOf(const std::vector<ExampleLoss>& losses) {
    Json rows = Json::array();
    for (const ExampleLoss& loss : losses)
        rows.push_back({loss.nats, loss.targets, loss.isRight});
    return rows;
}

std::vector<ExampleLoss> lossesOf(const Json& rows) {
    std::vector<ExampleLoss> losses;
    for (const auto& row : rows)
        losses.push_back({row.at(0), row.at(1), row.at(2)});
    return losses;
}

/// The tensors of a state in the metadata: their places, in order. Their numbers are tensors of the file.
Json placesOf(const TrainingState& state) {
    Json rows = Json::array();
    for (const TrainedTensor& tensor : state.tensors)
        rows.push_back({tensor.place.first, static_cast<int>(tensor.place.second), static_cast<int>(tensor.part)});
    return rows;
}

Json jsonOf(const TrainingRun& run) {
    Json steps = Json::array();
    for (const StepRecord& record : run.records)
        steps.push_back({record.lossNats, record.learningRate, record.tokens, record.seconds});
    Json scores = Json::array();
    for (const HeldOutScore& score : run.scores)
        scores.push_back({score.step, score.lossNats, score.accuracy});
    return {{"version", 1},
            {"key", run.key},
            {"settings", jsonOf(run.settings)},
            {"score_every", run.scoreEvery},
            {"save_seconds", run.saveSeconds},
            {"patience", run.patience},
            {"all_steps", run.steps},
            {"step", run.state.step},
            {"tensors", placesOf(run.state)},
            {"steps", steps},
            {"scores", scores},
            {"best_step", run.best.step},
            {"best_tensors", placesOf(run.best)},
            {"dense", jsonOf(run.dense)},
            {"pruned", jsonOf(run.pruned)},
            {"recovered", jsonOf(run.recovered)},
            {"done", run.isDone}};
}

std::string tensorName(std::string_view of, std::size_t index) {
    return fmt::format("{}.{}", of, index);
}

/// Reads the numbers of the file's tensors.
class NumberReader {
public:
    explicit NumberReader(const std::shared_ptr<const MappedFile>& file)
        : m_path(file->path())
        , m_entries(safetensorsEntries(file)) {}

    const std::string& path() const { return m_path; }

    std::vector<float> read(const std::string& name) const {
        for (const TensorEntry& entry : m_entries) {
            if (entry.name != name)
                continue;
            const at::Tensor values = readTensor(entry).to(at::kFloat).contiguous();
            return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
        }
        return {};
    }

private:
    std::string m_path;
    std::vector<TensorEntry> m_entries;
};

TrainingState stateOf(std::int64_t step, const Json& places, const NumberReader& numbers,
                      const std::array<std::string_view, 3>& names) {
    TrainingState state{step, {}};
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Json& place = places[i];
        if (place.at(1).get<std::size_t>() >= weightNameCount)
            throw Error("has a weight with an unknown number", numbers.path());
        TrainedTensor tensor{{place.at(0), static_cast<WeightName>(place.at(1).get<int>())},
                             static_cast<TrainedPart>(place.at(2).get<int>())};
        tensor.values = numbers.read(tensorName(names[0], i));
        tensor.firstMoment = numbers.read(tensorName(names[1], i));
        tensor.secondMoment = numbers.read(tensorName(names[2], i));
        state.tensors.push_back(std::move(tensor));
    }
    return state;
}

constexpr std::array<std::string_view, 3> stateNames{"value", "first", "second"};
constexpr std::array<std::string_view, 3> bestNames{"best", "best_first", "best_second"};

TrainingRun runOf(const Json& json, const NumberReader& numbers) {
    TrainingRun run;
    run.key = json.at("key");
    run.settings = settingsOf(json.at("settings"));
    run.scoreEvery = json.at("score_every");
    run.saveSeconds = json.at("save_seconds");
    run.patience = json.at("patience");
    run.steps = json.at("all_steps");
    for (const auto& row : json.at("steps"))
        run.records.push_back({row.at(0), row.at(1), row.at(2), row.at(3)});
    for (const auto& row : json.at("scores"))
        run.scores.push_back({row.at(0), row.at(1), row.at(2)});
    run.dense = lossesOf(json.at("dense"));
    run.pruned = lossesOf(json.at("pruned"));
    run.recovered = lossesOf(json.at("recovered"));
    run.isDone = json.at("done");
    run.state = stateOf(json.at("step"), json.at("tensors"), numbers, stateNames);
    run.best = stateOf(json.at("best_step"), json.at("best_tensors"), numbers, bestNames);
    if (!std::cmp_equal(run.records.size(), run.state.step))
        throw Error("does not have one record for each step", numbers.path());
    return run;
}

void addTensors(std::map<std::string, FloatTensor>& tensors, const TrainingState& state,
                const std::array<std::string_view, 3>& names) {
    const auto add = [&](const std::string& name, const std::vector<float>& numbers) {
        if (!numbers.empty())
            tensors[name] = {{std::ssize(numbers)}, numbers};
    };
    for (std::size_t i = 0; i < state.tensors.size(); ++i) {
        add(tensorName(names[0], i), state.tensors[i].values);
        add(tensorName(names[1], i), state.tensors[i].firstMoment);
        add(tensorName(names[2], i), state.tensors[i].secondMoment);
    }
}

} // namespace

void writeTrainingRun(const std::string& path, const TrainingRun& run) {
    std::map<std::string, FloatTensor> tensors;
    addTensors(tensors, run.state, stateNames);
    addTensors(tensors, run.best, bestNames);
    writeWhole(path, safetensorsBytes(tensors, {{std::string(trainingMark), jsonOf(run).dump()}}), FileKind::training);
}

std::optional<TrainingRun> readTrainingRun(const std::string& path) {
    if (!std::filesystem::exists(path))
        return {};
    const auto file = MappedFile::open(path);
    const std::map<std::string, std::string> metadata = safetensorsMetadata(file);
    const auto found = metadata.find(std::string(trainingMark));
    if (found == metadata.end())
        throw Error("is not a training run", path);
    try {
        return runOf(Json::parse(found->second), NumberReader(file));
    } catch (const nlohmann::json::exception&) {
        throw Error("is a damaged training run", path, "Delete it to train from the beginning");
    }
}

std::string trainingKey(const Model& model, const PruningMask& mask, const TrainingSet& set,
                        const TrainingSettings& settings, const std::string& others) {
    const std::string text = fmt::format("{} {} {} {} {}", model.fingerprint(), maskDigest(mask), set.digest,
                                         jsonOf(settings).dump(), others);
    Sha256 sum;
    sum.add(text.data(), text.size());
    return "sha256:" + sum.hexadecimal();
}

std::string scoringText(double share, std::int64_t scoreEvery, int patience) {
    return fmt::format("{} {} {}", share, scoreEvery, patience);
}

std::string trainingCsv(const TrainingRun& run) {
    std::map<std::int64_t, const HeldOutScore*> scores;
    for (const HeldOutScore& score : run.scores)
        scores[score.step] = &score;
    std::string text = "step,loss_nats,learning_rate,tokens,seconds,held_out_nats\n";
    const auto held = [&](std::int64_t step) {
        const auto found = scores.find(step);
        return found == scores.end() ? std::string() : fmt::format("{:.9g}", found->second->lossNats);
    };
    if (!scores.empty())
        text += fmt::format("0,,,,,{}\n", held(0));
    for (std::size_t i = 0; i < run.records.size(); ++i) {
        const StepRecord& record = run.records[i];
        const auto step = static_cast<std::int64_t>(i) + 1;
        text += fmt::format("{},{:.9g},{:.9g},{},{:.4g},{}\n", step, record.lossNats, record.learningRate,
                            record.tokens, record.seconds, held(step));
    }
    return text;
}

std::string trainingJson(const TrainingRun& run, const TrainingOutputs& outputs,
                         std::span<const std::string> warnings) {
    const auto pathOrNull = [](const std::string& path) { return path.empty() ? Json() : Json(path); };
    Json scores = Json::array();
    for (const HeldOutScore& score : run.scores)
        scores.push_back({{"step", score.step}, {"loss_nats", score.lossNats}, {"accuracy", score.accuracy}});
    Json losses = Json::array();
    for (const StepRecord& record : run.records)
        losses.push_back(record.lossNats);
    Json json{{"adapter", pathOrNull(outputs.adapter)},
              {"mask", pathOrNull(outputs.mask)},
              {"settings", jsonOf(run.settings)},
              {"steps", run.state.step},
              {"best_step", run.best.step},
              {"tokens", run.tokens()},
              {"seconds", run.seconds()},
              {"losses", losses},
              {"held_out", scores},
              {"warnings", Json(std::vector<std::string>(warnings.begin(), warnings.end()))}};
    const auto add = [&](const char* key, std::span<const ExampleLoss> own) {
        if (own.empty())
            return;
        const PairedNats difference = pairedNats(own, run.dense);
        json[key] = {
            {"loss_nats", meanNats(own)}, {"delta_nats", difference.nats}, {"delta_se", difference.standardError}};
    };
    add("dense", run.dense);
    add("pruned", run.pruned);
    add("recovered", run.recovered);
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace secateur
