#include "backends/training/sweep_recovery.h"

#include "backends/base/folders.h"
#include "backends/engine/adapted_model.h"
#include "backends/training/recovery_folder.h"
#include "backends/training/training_checkpoint.h"
#include "backends/training/training_data.h"

#include <filesystem>
#include <utility>

namespace secateur {

namespace {

/// The first digits of a digest.
std::string digitsOf(const std::string& digest, std::size_t count) {
    const std::size_t colon = digest.find(':');
    return colon == std::string::npos ? digest : digest.substr(colon + 1, count);
}

/// "FOLDER/0123456789ab-quick-steps-50-01234567"
/// @param key of the training, which also depends on the model and the content of the data
std::string placeOf(const std::string& folder, const std::string& digest, std::string recipe, const std::string& key) {
    constexpr std::size_t maskDigits = 12;
    constexpr std::size_t keyDigits = 8;
    for (char& c : recipe)
        if (c == ':' || c == '=' || c == '/' || c == ' ')
            c = '-';
    const std::string name = digitsOf(digest, maskDigits) + '-' + recipe + '-' + digitsOf(key, keyDigits);
    return (std::filesystem::path(folder) / name).string();
}

/// Trains masks of a sweep, each in a folder of its own.
class FolderTrainer {
public:
    FolderTrainer(std::shared_ptr<const Model> model, TrainingSettings settings, TrainingSplit data, OpenOptions open)
        : m_model(std::move(model))
        , m_settings(std::move(settings))
        , m_data(std::move(data))
        , m_open(std::move(open)) {}

    /// @param place of the trainings @param digest of the mask @param name of the training
    RecoveredModel train(const PruningMask& mask, const std::string& place, const std::string& digest,
                         const std::string& name, const Progress& progress) const {
        TrainingRun wanted;
        wanted.settings = m_settings;
        // The key of `recover` without further options, so that it can continue the run.
        wanted.key = trainingKey(*m_model, mask, m_data.training, m_settings,
                                 scoringText(HeldOutRules().share, wanted.scoreEvery, wanted.patience));
        const std::string folder = placeOf(place, digest, name, wanted.key);
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

std::string adaptersFolder(const std::string& session) {
    return session + ".adapters";
}

SweepRecovery sweepRecovery(std::shared_ptr<const Model> model, const RecoveryChoice& choice, const std::string& folder,
                            const OpenOptions& open, const Progress& progress) {
    const TrainingSettings settings = settingsOf(choice);
    TrainingDataRequest request;
    request.path = choice.data;
    request.length = settings.length;
    TrainingSplit data = splitOff(readTrainingSet(*model, request, progress));
    const auto trainer = std::make_shared<const FolderTrainer>(std::move(model), settings, std::move(data), open);
    const std::string name = nameOf(choice);
    return {name, settings, trainer->size(),
            [trainer, folder, name](const PruningMask& mask, const std::string& digest, const Progress& training) {
                return trainer->train(mask, folder, digest, name, training);
            }};
}

} // namespace secateur
