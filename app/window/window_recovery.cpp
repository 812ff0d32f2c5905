#include "app/window/window_recovery.h"

#include "analysis/base/error.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/engine/adapted_model.h"
#include "backends/formats/hf_config.h"
#include "backends/session/mask_json.h"
#include "backends/text/text_source.h"
#include "backends/training/new_classifier.h"
#include "backends/training/peft_files.h"
#include "backends/training/recovery_folder.h"
#include "backends/training/teacher_files.h"
#include "backends/training/training_checkpoint.h"
#include "backends/training/training_data.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace secateur {

namespace {

namespace fs = std::filesystem;

constexpr auto checkpointEnding = ".safetensors";
constexpr auto teacherEnding = ".teacher"; ///< of a folder with the values of a teacher
constexpr auto classesEnding = ".classes"; ///< of a folder with the names of the classes of a trained classifier
constexpr std::chrono::hours longestKept(24 * 30);

/// The checkpoint of a run: a file that is named after the first digits of the key.
std::string checkpointPath(const std::string& folder, const std::string& key) {
    constexpr std::size_t digits = 16;
    return (fs::path(folder) / (key.substr(key.find(':') + 1, digits) + checkpointEnding)).string();
}

/// The folder beside a checkpoint with this ending.
std::string folderBeside(const std::string& checkpoint, const char* ending) {
    return fs::path(checkpoint).replace_extension(ending).string();
}

/// Removes checkpoints of other runs that have not been continued for a month.
void removeOld(const std::string& folder, const fs::path& own) {
    std::error_code ignored;
    const auto now = fs::file_time_type::clock::now();
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        const fs::path ending = entry.path().extension();
        const bool isOfRun = ending == checkpointEnding || ending == teacherEnding || ending == classesEnding;
        if (isOfRun && entry.path().stem() != own.stem() && now - entry.last_write_time(ignored) > longestKept)
            fs::remove_all(entry.path(), ignored);
    }
}

/// The run of an equal request, or a new one.
TrainingRun runOf(const RecoveryRequest& request, const std::string& key) {
    if (!request.startsAnew)
        if (auto stored = readTrainingRun(checkpointPath(request.folder, key)); stored && stored->key == key)
            return std::move(*stored);
    TrainingRun run;
    run.key = key;
    run.settings = request.settings;
    return run;
}

/// The run that a job has stored. @throws Error if its checkpoint was removed
TrainingRun storedRun(const RecoveryRequest& request, const std::string& key) {
    const std::string path = checkpointPath(request.folder, key);
    if (auto run = readTrainingRun(path))
        return std::move(*run);
    throw Error("was removed, so that there is no adapter", path, "Train again");
}

TrainingSet trainingSetOf(const Model& model, const RecoveryRequest& request, const Progress& progress) {
    TrainingDataRequest wanted;
    wanted.path = request.data;
    wanted.length = request.settings.length;
    return readTrainingSet(model, wanted, progress);
}

} // namespace

std::vector<std::string> recoverModel(const Model& opened, const RecoveryRequest& request, const TrainingWatch& watch,
                                      const Progress& progress) {
    TrainingSet set = trainingSetOf(opened, request, progress.part(0, 0));
    if (needsClassifier(opened, set, request.settings))
        set.warnings.emplace_back(newClassifierNote);
    const std::shared_ptr<const Model> own(std::shared_ptr<void>(), &opened); // the caller keeps it
    const std::shared_ptr<const Model> trained = withNewClassifier(own, set, request.settings, {});
    const Model& model = *trained;
    const TrainingSplit data = splitOff(set);
    makeFolder(request.folder);
    TrainingRun run = runOf(request, trainingKey(model, request.mask.mask, set, request.settings));
    const std::string path = checkpointPath(request.folder, run.key);
    removeOld(request.folder, path);
    watch(run);
    if (run.isDone)
        return set.warnings;
    if (request.settings.trainsHead) {
        makeFolder(folderBeside(path, classesEnding));
        writeClassNames(folderBeside(path, classesEnding), set.classes);
    }
    TeacherFiles teacher(folderBeside(path, teacherEnding), run.key);
    TrainingCallbacks callbacks;
    callbacks.stepped = watch;
    callbacks.scored = watch;
    callbacks.save = [&](const TrainingRun& now) {
        teacher.save();
        writeTrainingRun(path, now);
    };
    runTraining(run, model, request.mask.mask, data.training, data.heldOut.examples, callbacks, progress, &teacher);
    teacher.remove();
    return set.warnings;
}

void writeRecovered(const Model& model, const RecoveryRequest& request, const std::string& key,
                    const std::string& folder) {
    const TrainingRun run = storedRun(request, key);
    const bool hasMask = !request.mask.mask.keepsAll() || request.settings.trainsCompensation;
    writeResult(folder, run, model, hasMask ? &request.mask : nullptr, sourceName(request.data));
    const std::shared_ptr<const Model> own(std::shared_ptr<void>(), &model); // the caller keeps it
    const bool hasClassifier = request.settings.trainsHead;
    writeClassNames(folder, hasClassifier ? classNames(recoveredModel(own, request, key).model->card())
                                          : std::vector<std::string>());
}

OpenedAdapter recoveredModel(const std::shared_ptr<const Model>& model, const RecoveryRequest& request,
                             const std::string& key) {
    const TrainingRun run = storedRun(request, key);
    const auto adapter = std::make_shared<const Adapter>(bestAdapter(run, *model));
    const MaskRecord mask = recoveredMask(run, request.mask, sourceName(request.data), model->spec());
    if (adapter->empty()) // only a compensation is trained
        return {model, {}, mask, {}};
    const std::string names =
        request.settings.trainsHead ? folderBeside(checkpointPath(request.folder, key), classesEnding) : std::string();
    return {withAdapter(model, adapter, {}, names), {"adapter", adapterDigest(*adapter)}, mask, {}};
}

OpenedAdapter openAdapter(const std::shared_ptr<const Model>& model, const std::string& folder) {
    const auto adapter = std::make_shared<const Adapter>(readAdapter(folder, *model));
    const AdapterOrigin origin = adapterOrigin(folder);
    const fs::path whole = (fs::path(folder) / "").lexically_normal();
    OpenedAdapter opened{withAdapter(model, adapter, {}, folder),
                         {whole.parent_path().filename().string(), adapterDigest(*adapter)},
                         {},
                         {}};
    if (!origin.fingerprint.empty() && origin.fingerprint != model->fingerprint())
        opened.warnings.push_back(
            fmt::format("{}: The adapter was trained on a checkpoint with another fingerprint", folder));
    if (!origin.maskPath.empty()) {
        MaskReading reading = readMask(origin.maskPath, model->spec(), model->fingerprint());
        for (const std::string& warning : reading.warnings)
            opened.warnings.push_back(origin.maskPath + ": " + warning);
        opened.mask = std::move(reading.record);
    }
    return opened;
}

TrainingSize trainingSize(const Model& model, const std::string& data, int length, const Progress& progress) {
    TrainingDataRequest wanted;
    wanted.path = data;
    wanted.length = length;
    return sizeOf(splitOff(readTrainingSet(model, wanted, progress)));
}

} // namespace secateur
