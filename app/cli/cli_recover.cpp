#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/training/training_run.h"
#include "app/cli/cli_common.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/training/new_classifier.h"
#include "backends/training/peft_files.h"
#include "backends/training/recovery_folder.h"
#include "backends/training/teacher_files.h"
#include "backends/training/training_checkpoint.h"
#include "backends/training/training_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace secateur::cli {

namespace {

namespace fs = std::filesystem;

/// The settings that replace those of the recipe.
struct SettingOptions {
    std::optional<int> rank;
    std::optional<double> alpha;
    std::optional<double> dropout;
    std::vector<std::string> targets;
    std::vector<std::string> trained;
    std::optional<double> learningRate;
    std::optional<double> weightDecay;
    std::optional<double> clipNorm;
    std::optional<std::string> decay;
    std::optional<std::int64_t> warmup;
    std::optional<int> batch;
    std::optional<int> accumulation;
    std::optional<int> length;
    std::optional<double> epochs;
    std::optional<std::int64_t> steps;
    std::optional<double> minutes;
    std::optional<std::string> teacher;
    std::optional<double> teacherWeight;
    std::optional<int> teacherTop;
    std::int64_t seed = 0;
};

struct RecoverArguments {
    std::string path;
    std::string recipe;
    std::string out;
    RunOptions run;
    TrainingDataRequest data;
    SettingOptions settings;
    double heldOut = 0.05;
    std::int64_t scoreEvery = 0;
    int patience = 0;
    double saveSeconds = 120;
    bool force = false;
};

template <typename Value>
void replace(Value& value, const std::optional<Value>& own) {
    if (own)
        value = *own;
}

/// Sets the weights to train by their names; without names those of the recipe. @throws UsageError
void setTrained(TrainingSettings& settings, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        if (name == "norms")
            settings.trainsNorms = true;
        else if (name == "head")
            settings.trainsHead = true;
        else if (name == "compensation")
            settings.trainsCompensation = true;
        else if (name != "lora")
            refuseUnknown("kind of weights", name, {"lora", "norms", "head", "compensation"});
    if (!names.empty() && std::ranges::find(names, "lora") == names.end())
        settings.targets.clear();
}

void setTeacher(TrainingSettings& settings, const SettingOptions& own) {
    if (!own.teacher && (own.teacherWeight || own.teacherTop))
        throw UsageError("is an option of a teacher: give --teacher dense too",
                         own.teacherWeight ? "--teacher-weight" : "--teacher-top");
    if (!own.teacher)
        return;
    if (*own.teacher != "dense")
        refuseUnknown("teacher", *own.teacher, {"dense"});
    settings.teacherWeight = own.teacherWeight.value_or(0.5);
    replace(settings.teacherTop, own.teacherTop);
}

/// Prints the expected duration of the rest of a run, by the time of its second step. The first also converts weights.
void announceDuration(const TrainingRun& run, const Console& console) {
    if (run.records.size() != 2 || run.steps == 0)
        return;
    const double seconds = static_cast<double>(run.steps - 2) * run.records.back().seconds;
    console.announce(seconds, fmt::format("about {:.0f} s for {} steps", seconds, run.steps));
}

TrainingSettings settingsOf(const RecoverArguments& arguments) {
    const SettingOptions& own = arguments.settings;
    TrainingSettings settings =
        arguments.recipe.empty() ? defaultTrainingSettings() : trainingRecipe(arguments.recipe).settings();
    replace(settings.adapter.rank, own.rank);
    replace(settings.adapter.alpha, own.alpha);
    replace(settings.adapter.dropout, own.dropout);
    replace(settings.learningRate, own.learningRate);
    replace(settings.weightDecay, own.weightDecay);
    replace(settings.clipNorm, own.clipNorm);
    replace(settings.warmupSteps, own.warmup);
    replace(settings.batch, own.batch);
    replace(settings.accumulation, own.accumulation);
    replace(settings.length, own.length);
    settings.seed = own.seed;
    if (own.decay)
        settings.decay = rateDecayOf(*own.decay);
    if (!own.targets.empty())
        settings.targets.clear();
    for (const std::string& target : own.targets)
        settings.targets.push_back(projectionOf(target));
    setTrained(settings, own.trained);
    setTeacher(settings, own);
    if (own.steps || own.epochs || own.minutes) {
        settings.steps = own.steps.value_or(0);
        settings.minutes = own.minutes.value_or(0);
        replace(settings.epochs, own.epochs);
    }
    checkSettings(settings);
    return settings;
}

std::string inFolder(const std::string& folder, const char* name) {
    return (fs::path(folder) / name).string();
}

/// The run in the folder, if it was made by the same command; otherwise a new one.
TrainingRun runIn(const RecoverArguments& arguments, const std::string& key, const TrainingSettings& settings) {
    TrainingRun wanted;
    wanted.key = key;
    wanted.settings = settings;
    wanted.scoreEvery = arguments.scoreEvery;
    wanted.patience = arguments.patience;
    wanted.saveSeconds = arguments.saveSeconds;
    TrainingRun run =
        runInFolder(arguments.out, std::move(wanted), arguments.force, "Give another --out, or --force to replace it");
    if (run.state.step > 0)
        printNote("continues at step {} of {}", run.state.step,
                  run.steps > 0 ? std::to_string(run.steps) : std::string("an unknown number"));
    return run;
}

/// The mask of a run: the given one, or one that cuts nothing.
struct RunMask {
    MaskRecord record;
    bool isGiven = false;
};

RunMask maskOfRun(const RecoverArguments& arguments, const Model& model, std::vector<std::string>& warnings) {
    if (!arguments.run.mask.empty())
        return {maskOf(arguments.run.mask, model, warnings), true};
    MaskRecord record;
    record.mask = PruningMask(model.spec());
    record.modelName = model.card().name;
    record.fingerprint = model.fingerprint();
    return {std::move(record), false};
}

/// The results of a run in its folder.
TrainingOutputs outputsOf(const RecoverArguments& arguments, const TrainingSettings& settings) {
    return {settings.hasAdapter() ? arguments.out : "",
            settings.trainsCompensation ? inFolder(arguments.out, adapterMaskName) : ""};
}

std::string pairedText(const PairedNats& difference) {
    return std::isnan(difference.standardError)
               ? fmt::format("{:+.4f}", difference.nats)
               : fmt::format("{:+.4f} ± {:.4f}", difference.nats, difference.standardError);
}

std::string scoreText(const char* title, std::span<const ExampleLoss> losses, bool isClassifier) {
    const double nats = meanNats(losses);
    return fmt::format("{:<10} loss {:.4f}, ", title, nats) +
           (isClassifier ? fmt::format("accuracy {:.2f} %", 100 * accuracyOf(losses))
                         : fmt::format("perplexity {:.2f}", std::exp(nats)));
}

void printRun(const TrainingRun& run, const TrainingSplit& data, bool isClassifier, const TrainingOutputs& outputs) {
    print("{} steps, {} tokens, {:.0f} s, {:.0f} tokens/s\n", run.state.step, run.tokens(), run.seconds(),
          static_cast<double>(run.tokens()) / std::max(1e-9, run.seconds()));
    if (!run.scores.empty()) {
        print("held-out sequences: {}\n", data.heldOut.examples.size());
        print("{}\n", scoreText("dense", run.dense, isClassifier));
        for (const auto& [title, losses] : {std::pair("pruned", &run.pruned), std::pair("recovered", &run.recovered)})
            print("{}, difference to dense {} nats\n", scoreText(title, *losses, isClassifier),
                  pairedText(pairedNats(*losses, run.dense)));
        print("best step: {}\n", run.best.step);
    }
    if (!outputs.adapter.empty())
        print("adapter: {}\n", outputs.adapter);
    if (!outputs.mask.empty())
        print("compensated mask: {}\n", outputs.mask);
}

/// Refuses options of runs that training does not have.
void checkRun(const RunOptions& run) {
    if (!run.adapter.empty())
        throw UsageError("An adapter cannot be trained on top of another one", "--adapter",
                         "Merge it into the weights first: export --adapter");
    const ComputeType type = computeTypeOf(run.dtype);
    if (type != ComputeType::automatic && type != ComputeType::float32)
        throw UsageError("Training is in float32 only", "--dtype");
}

void recoverVerb(RecoverArguments& arguments, const Console& console) {
    checkRun(arguments.run);
    const TrainingSettings settings = settingsOf(arguments);
    arguments.data.length = settings.length;
    const Progress progress = console.progress();
    std::vector<std::string> warnings;
    auto model = openAdapted(arguments.path, arguments.run, console, progress.part(0, 0), warnings);
    const RunMask mask = maskOfRun(arguments, *model, warnings);
    const TrainingSet set = readTrainingSet(*model, arguments.data, progress.part(0, 0));
    if (needsClassifier(*model, set, settings))
        warnings.emplace_back(newClassifierNote);
    model = withNewClassifier(std::move(model), set, settings, openOptions(console, arguments.run.memoryBudget));
    const TrainingSplit data = splitOff(set, {.share = arguments.heldOut});
    warnings.insert(warnings.end(), set.warnings.begin(), set.warnings.end());
    makeFolder(arguments.out);
    const std::string scoring = scoringText(arguments.heldOut, arguments.scoreEvery, arguments.patience);
    TrainingRun run = runIn(arguments, trainingKey(*model, mask.record.mask, set, settings, scoring), settings);
    TeacherFiles teacher(inFolder(arguments.out, "teacher"), run.key);
    const MaskRecord* const kept = mask.isGiven || settings.trainsCompensation ? &mask.record : nullptr;
    TrainingCallbacks callbacks;
    callbacks.stepped = [&](const TrainingRun& now) { announceDuration(now, console); };
    callbacks.save = [&](const TrainingRun& now) {
        teacher.save();
        writeRunFolder(arguments.out, now, *model, kept, set.source);
        writeClassNames(arguments.out, settings.trainsHead ? set.classes : std::vector<std::string>());
    };
    if (!run.isDone)
        runTraining(run, *model, mask.record.mask, data.training, data.heldOut.examples, callbacks,
                    withTimeLeft(progress, console), &teacher);
    teacher.remove();
    const TrainingOutputs outputs = outputsOf(arguments, settings);
    addOverwrittenFiles(*model, warnings);
    noteWritten(arguments.out);
    if (console.json)
        printJson(trainingJson(run, outputs, warnings));
    else {
        printRun(run, data, model->spec().family == Family::encoder, outputs);
        printNotes(warnings);
    }
}

void addSettingOptions(CLI::App& verb, SettingOptions& options) {
    verb.add_option("--rank", options.rank, "Rank of the updates [recipe]");
    verb.add_option("--alpha", options.alpha, "Alpha of the updates, which are scaled by alpha / rank [recipe]");
    verb.add_option("--dropout", options.dropout, "Probability of dropout at the inputs of the updates [recipe]");
    verb.add_option("--targets", options.targets, "Projections with updates: q, k, v, o, gate, up, down [recipe]")
        ->check(offers({"q", "k", "v", "o", "gate", "up", "down"}, Several::byComma))
        ->delimiter(',');
    verb.add_option("--train", options.trained,
                    "Weights to train: lora, norms, head (classifier), compensation (factors and biases of the mask) "
                    "[lora]")
        ->check(offers({"lora", "norms", "head", "compensation"}, Several::byComma))
        ->delimiter(',');
    verb.add_option("--lr", options.learningRate, "Learning rate [recipe]");
    verb.add_option("--weight-decay", options.weightDecay, "Decoupled weight decay of AdamW [recipe]");
    verb.add_option("--clip", options.clipNorm, "Largest norm of the gradients, 0 for no limit [recipe]");
    verb.add_option("--schedule", options.decay, "Decay of the learning rate: linear, cosine or none [recipe]")
        ->check(offers({"linear", "cosine", "none"}));
    verb.add_option("--warmup", options.warmup, "Steps in which the learning rate rises [recipe]");
    verb.add_option("--batch", options.batch, "Sequences of a batch [recipe]");
    verb.add_option("--accumulate", options.accumulation, "Batches of a step [recipe]");
    verb.add_option("--length", options.length, "Maximum tokens of a sequence [recipe]");
    verb.add_option("--epochs", options.epochs, "Passes over the data [recipe]");
    verb.add_option("--steps", options.steps, "Number of steps [from the epochs]");
    verb.add_option("--minutes", options.minutes, "Duration in minutes, from which the number of steps is computed");
    verb.add_option("--teacher", options.teacher, "Teacher whose probabilities are learned too: dense [none]")
        ->check(offers({"dense"}));
    verb.add_option("--teacher-weight", options.teacherWeight,
                    "Share of the divergence from the teacher in the loss [0.5]");
    verb.add_option("--teacher-top", options.teacherTop, "Number of the teacher's most probable tokens to learn [64]");
    verb.add_option("--seed", options.seed, "Seed of initial values, data order and dropout")->capture_default_str();
}

void addDataOptions(CLI::App& verb, RecoverArguments& arguments) {
    TrainingDataRequest& data = arguments.data;
    verb.add_option("--data", data.path, "Text, .jsonl or .json to train on [built-in text]")->option_text("FILE");
    verb.add_option("--format", data.format, "text, instructions, chat or classification [detected]")
        ->check(offers({"text", "instructions", "chat", "classification"}));
    verb.add_option("--template", data.templateName,
                    "Template of instructions or chats: alpaca, chatml, ... [automatic]");
    verb.add_option("--field", data.field, "Field of a row that contains its text [automatic]");
    verb.add_option("--limit", data.mostExamples, "Maximum number of sequences [all]");
    verb.add_flag("--skip-broken", data.skipsBrokenRows, "Leave out invalid rows instead of stopping");
    verb.add_option("--held-out", arguments.heldOut, "Share of the sequences held out for scoring, 0 for none")
        ->capture_default_str();
    verb.add_option("--score-every", arguments.scoreEvery,
                    "Steps between scores of the held-out sequences [a tenth of the steps]");
    verb.add_option("--patience", arguments.patience,
                    "Number of scores without improvement after which training ends [never]");
}

} // namespace

void addRecover(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<RecoverArguments>();
    CLI::App* verb = program.add_subcommand("recover", "Train a pruned model to recover its quality");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    addMaskOption(*verb, arguments->run);
    verb->add_option("--out", arguments->out, "Folder for the adapter or the mask; the same command continues in it")
        ->required()
        ->option_text("DIR");
    verb->add_option("--recipe", arguments->recipe,
                     "Id of a recipe (see: list recipes) [amp, with one sequence a step]")
        ->check(offersIds("recipes"));
    verb->add_option("--save-every", arguments->saveSeconds, "Seconds after which the run is stored")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    addDataOptions(*verb, *arguments);
    addSettingOptions(*verb, arguments->settings);
    verb->add_flag("--force", arguments->force, "Replace another training run in the folder");
    addRunOptions(*verb, arguments->run);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli recover Llama-3.1-8B --mask cut.mask.json --data alpaca.jsonl --recipe quick "
                 "--out adapter");
    verb->callback([arguments, &console] { recoverVerb(*arguments, console); });
}

} // namespace secateur::cli
