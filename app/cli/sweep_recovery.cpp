#include "app/cli/sweep_recovery.h"
#include "app/reference/offered_values.h"

#include "backends/base/folders.h"
#include "backends/engine/adapted_model.h"
#include "backends/training/peft_files.h"
#include "backends/training/recovery_folder.h"
#include "backends/training/training_checkpoint.h"
#include "backends/training/training_data.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

namespace secateur::cli {

namespace {

/// The recipe with the options that replace its own: "quick:steps=50:data=alpaca".
std::string nameOf(const RecoveryOptions& options) {
    std::string name = options.recipe;
    if (options.steps)
        name += fmt::format(":steps={}", *options.steps);
    if (options.epochs)
        name += fmt::format(":epochs={}", *options.epochs);
    if (options.minutes)
        name += fmt::format(":minutes={}", *options.minutes);
    if (!options.data.empty())
        name += ":data=" + std::filesystem::path(options.data).stem().string();
    return name;
}

/// "SESSION.adapters/0123456789ab-quick-steps-50"
std::string adapterFolder(const std::string& session, const std::string& digest, std::string recipe) {
    constexpr std::size_t digits = 12;
    for (char& c : recipe)
        if (c == ':' || c == '=' || c == '/' || c == ' ')
            c = '-';
    const std::size_t colon = digest.find(':');
    const std::string shortDigest = colon == std::string::npos ? digest : digest.substr(colon + 1, digits);
    return (std::filesystem::path(session + ".adapters") / (shortDigest + '-' + recipe)).string();
}

/// Trains masks of a sweep, each in a folder of its own.
class FolderTrainer {
public:
    FolderTrainer(std::shared_ptr<const Model> model, TrainingSettings settings, TrainingSplit data, OpenOptions open)
        : m_model(std::move(model))
        , m_settings(std::move(settings))
        , m_data(std::move(data))
        , m_open(std::move(open)) {}

    RecoveredModel train(const PruningMask& mask, const std::string& folder, const Progress& progress) const {
        TrainingRun wanted;
        wanted.settings = m_settings;
        // The key of `recover` without further options, so that it can continue the run.
        wanted.key = trainingKey(*m_model, mask, m_data.training, m_settings,
                                 scoringText(HeldOutRules().share, wanted.scoreEvery, wanted.patience));
        TrainingRun run = runInFolder(folder, std::move(wanted), false, "Move the folder away, and give --retry");
        const MaskRecord record{mask, m_model->card().name, m_model->fingerprint(), {}, {}};
        TrainingCallbacks callbacks;
        callbacks.save = [&](const TrainingRun& now) {
            writeRunFolder(folder, now, *m_model, mask.keepsAll() ? nullptr : &record, m_data.training.source);
        };
        makeFolder(folder);
        if (!run.isDone)
            runTraining(run, *m_model, mask, m_data.training, m_data.heldOut.examples, callbacks, progress);
        auto adapter = std::make_shared<const Adapter>(bestAdapter(run, *m_model));
        return {withAdapter(m_model, std::move(adapter), m_open, folder), run.seconds(), m_data.training.warnings};
    }

    TrainingSize size() const { return sizeOf(m_data); }
    const TrainingSettings& settings() const { return m_settings; }

private:
    std::shared_ptr<const Model> m_model;
    TrainingSettings m_settings;
    TrainingSplit m_data;
    OpenOptions m_open;
};

} // namespace

void addRecoveryOptions(CLI::App& verb, RecoveryOptions& options) {
    CLI::Option* recover =
        verb.add_option("--recover", options.recipe,
                        "Also train a LoRA adapter under each mask by this recipe (see: list recipes), and score the "
                        "recovered model as a further point")
            ->option_text("RECIPE")
            ->check(offersIds("recipes"));
    verb.add_option("--recover-data", options.data,
                    "Text, .jsonl or .json to train on, as --data of recover [built-in text]")
        ->option_text("FILE")
        ->needs(recover);
    CLI::Option* steps = verb.add_option("--recover-steps", options.steps, "Number of steps of each training [recipe]")
                             ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
                             ->needs(recover);
    CLI::Option* epochs =
        verb.add_option("--recover-epochs", options.epochs, "Passes of each training over its data [recipe]")
            ->check(CLI::PositiveNumber)
            ->needs(recover)
            ->excludes(steps);
    verb.add_option("--recover-minutes", options.minutes, "Duration of each training in minutes [recipe]")
        ->check(CLI::PositiveNumber)
        ->needs(recover)
        ->excludes(steps)
        ->excludes(epochs);
}

TrainingSettings settingsOf(const RecoveryOptions& options) {
    TrainingSettings settings = trainingRecipe(options.recipe).settings();
    if (options.steps || options.epochs || options.minutes) {
        settings.steps = options.steps.value_or(0);
        settings.epochs = options.epochs.value_or(settings.epochs);
        settings.minutes = options.minutes.value_or(0);
    }
    checkSettings(settings);
    return settings;
}

SweepRecovery sweepRecovery(std::shared_ptr<const Model> model, const RecoveryOptions& options,
                            const std::string& session, const OpenOptions& open, const Progress& progress) {
    const TrainingSettings settings = settingsOf(options);
    TrainingDataRequest request;
    request.path = options.data;
    request.length = settings.length;
    TrainingSplit data = splitOff(readTrainingSet(*model, request, progress));
    const auto trainer = std::make_shared<const FolderTrainer>(std::move(model), settings, std::move(data), open);
    const std::string name = nameOf(options);
    return {name, settings, trainer->size(),
            [trainer, session, name](const PruningMask& mask, const std::string& digest, const Progress& training) {
                return trainer->train(mask, adapterFolder(session, digest, name), training);
            }};
}

} // namespace secateur::cli
