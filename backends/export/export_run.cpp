#include "backends/export/export_files.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/export/export_card.h"
#include "analysis/export/model_comparison.h"
#include "analysis/masks/price.h"
#include "analysis/running/runner.h"
#include "backends/base/atomic_file.h"
#include "backends/base/file_output.h"
#include "backends/base/runtime.h"
#include "backends/engine/adapted_model.h"
#include "backends/engine/open_model.h"
#include "backends/export/companion_files.h"
#include "backends/export/exported_weights.h"
#include "backends/export/source_licence.h"
#include "backends/session/compensation_link.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/mask_json.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr const char* cardName = "README.md";
constexpr const char* maskName = "model.mask.json";
/// The compensation of the mask in a folder. Some programs read all files of a folder that end with .safetensors as
/// weights of the model.
constexpr const char* compensationName = "model.mask.compensation";

/// No layer stays in memory after its use.
OpenOptions leastMemory() {
    return {.memoryBudget = 1};
}

/// Packed weights would need as much memory again while they are packed.
OpenOptions verifying() {
    OpenOptions options = leastMemory();
    options.plain = true;
    return options;
}

double secondsSince(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void put(const fs::path& file, const std::string& content) {
    FileOutput(file.string(), file.filename().string()).write(std::as_bytes(std::span(content)));
}

bool isSameStructure(const ModelSpec& a, const ModelSpec& b) {
    return a.structure() == b.structure() &&
           std::ranges::equal(a.layers, b.layers, {}, &LayerSpec::attention, &LayerSpec::attention);
}

bool isOwnCard(const fs::path& card) {
    const fs::path folder = card.parent_path();
    return isExportCard(companionContent(folder.empty() ? "." : folder.string(), card.filename().string()));
}

/// Whether an export wrote a folder.
bool isOwnFolder(const std::string& folder) {
    return fs::exists(fs::path(folder) / maskName) && isOwnCard(fs::path(folder) / cardName);
}

class ExportRun {
public:
    ExportRun(const ExportTarget& target, const Model& source, const ExportLayout& layout, const ExportRequest& request,
              const ExportPlan& plan, const Progress& progress)
        : m_target(target)
        , m_request(request)
        , m_progress(progress)
        , m_card(source.card())
        , m_adapter(request.adapter ? request.adapter : adapterOf(source))
        , m_layout(layout)
        , m_plan(plan) {
        m_card.fingerprint = source.fingerprint();
        m_result.target = m_target.as;
        m_result.layout = m_target.layout;
        m_result.path = request.path;
        m_result.openedPath = plan.verified.empty() ? request.path : (fs::path(request.path) / plan.verified).string();
        m_result.warnings = plan.warnings;
        m_result.tolerance = plan.tolerance;
        m_result.maskDigest = maskDigest(request.record.mask);
        if (request.record.mask.keepsAll() && !adapterOf(source))
            m_result.warnings.emplace_back("the mask cuts nothing: the export is a copy of the source");
    }

    ExportResult run() {
        checkRoom();
        if (m_plan.isOneGguf)
            exportFile();
        else
            exportFolder();
        return std::move(m_result);
    }

private:
    void checkRoom() const {
        const fs::path folder = fs::absolute(m_request.path).lexically_normal().parent_path();
        std::error_code failure;
        const fs::space_info space = fs::space(folder, failure);
        const auto needed = static_cast<std::uintmax_t>(m_plan.weights->bytes());
        if (!failure && space.available < needed)
            throw Error(fmt::format("needs {}, but the disk has {} left", shortBytes(static_cast<double>(needed)),
                                    shortBytes(static_cast<double>(space.available))),
                        m_request.path, "Make room or choose another disk; nothing was changed");
    }

    void refuseSource(const fs::path& own) const {
        std::error_code ignored;
        if (fs::equivalent(own, m_request.path, ignored))
            throw Error("is the model itself, which an export never changes", m_request.path, "Choose another name");
    }

    void refuseExisting(const fs::path& file) const {
        if (fs::exists(fs::symlink_status(file)) && !m_request.mayReplace)
            throw Error("exists", file.string(), "Choose another name, or allow replacing it (--force)");
    }

    /// Whether a file contains the mask of the export. If so, an existing NAME.mask.json need not be replaced.
    bool holdsMask(const std::string& path) const {
        if (!fs::is_regular_file(path))
            return false;
        try {
            return readMask(path, m_card.spec, {}).record.mask == m_request.record.mask;
        } catch (const Error&) {
            return false;
        }
    }

    void exportFile() {
        refuseSource(m_card.path);
        if (fs::is_directory(m_card.path))
            for (const std::string& name : namesIn(m_card.path))
                refuseSource(fs::path(m_card.path) / name);
        if (!m_request.path.ends_with(".gguf"))
            throw Error("does not end with .gguf, as the name of a GGUF must", m_request.path);
        const std::string stem = m_request.path.substr(0, m_request.path.size() - std::string(".gguf").size());
        const std::string maskPath = stem + ".mask.json";
        const std::string cardPath = stem + ".md";
        const bool isMaskThere = holdsMask(maskPath);
        m_result.maskPath = maskPath;
        for (const std::string& path : {m_request.path, cardPath})
            refuseExisting(path);
        if (!isMaskThere)
            refuseExisting(maskPath);
        if (fs::exists(m_request.path) && !isOwnCard(cardPath))
            throw Error(fmt::format("is not replaced: {} does not say that an export wrote it", cardPath),
                        m_request.path, "Choose another name, or remove the file before");
        AtomicFile model(m_request.path, FileKind::gguf);
        AtomicFile card(cardPath, FileKind::exportCard);
        std::optional<AtomicFile> mask;
        if (!isMaskThere)
            mask.emplace(maskPath, FileKind::mask);
        write([&](const std::string&) { return model.path(); });
        verify(model.path());
        card.write(cardText(fs::path(maskPath).filename().string(), {}));
        const auto earlier = compensationLinkIn(maskPath);
        std::optional<CompensationFile> compensation;
        if (mask) {
            compensation.emplace(maskPath, m_request.record.mask);
            mask->write(maskJson(record(), compensation->name()));
        }
        commitTogether(model, mask ? &*mask : nullptr, card, cardPath);
        if (compensation) {
            compensation->keep();
            removeUnusedCompensations(maskPath, compensation->name(), earlier);
        }
        for (const std::string& path : {m_request.path, maskPath, cardPath})
            addFile(path);
        if (compensation && !compensation->name().empty())
            addFile(compensation->path());
    }

    /// Commits model, mask and card, which cannot be renamed at once. A note takes the place of the card meanwhile, so
    /// that a model never has the mask or the card of another one, and an interrupted export can be repeated.
    /// @param mask null if the right mask is there already
    static void commitTogether(AtomicFile& model, AtomicFile* mask, AtomicFile& card, const std::string& cardPath) {
        model.sync();
        if (mask)
            mask->sync();
        card.sync();
        bool isChanged = fs::exists(cardPath); // whether something of an earlier export is lost
        writeWhole(cardPath, interruptedExportCard(SECATEUR_VERSION), FileKind::exportCard);
        try {
            if (mask)
                isChanged = mask->removeTarget() || isChanged;
            model.commit();
            isChanged = true;
            if (mask)
                mask->commit();
            card.commit();
        } catch (const Error& error) {
            if (!isChanged) {
                std::error_code ignored;
                fs::remove(cardPath, ignored);
                throw;
            }
            throw Error(error.message(), error.subject(), "The export is incomplete: repeat it with --force");
        }
    }

    void exportFolder() {
        const fs::path folder = modelFolder(m_card.path);
        refuseSource(folder);
        AtomicFolder aside(m_request.path, m_request.mayReplace, isOwnFolder);
        const fs::path made(aside.path());
        write([&](const std::string& name) { return (made / name).string(); });
        addSmallFiles(folder, made);
        verify((m_plan.verified.empty() ? made : made / m_plan.verified).string());
        put(made / maskName, maskJson(record(), compensationName));
        m_result.maskPath = (fs::path(m_request.path) / maskName).string();
        if (m_request.record.mask.isCompensated())
            put(made / compensationName, compensationBytes(m_request.record.mask));
        put(made / cardName,
            cardText(maskName, m_plan.copiesCompanions ? companionContent(folder.string(), cardName) : ""));
        const std::vector<std::string> names = namesIn(made.string());
        aside.commit();
        for (const std::string& name : names)
            addFile((fs::path(m_request.path) / name).string());
    }

    void write(const std::function<std::string(const std::string&)>& place) {
        const auto begin = std::chrono::steady_clock::now();
        m_plan.weights->write(place, m_progress.part(0, 0.5));
        m_result.writeSeconds = secondsSince(begin);
        spdlog::info("{} written in {:.2f} s", shortBytes(static_cast<double>(m_plan.weights->bytes())),
                     m_result.writeSeconds);
    }

    void addSmallFiles(const fs::path& folder, const fs::path& made) {
        for (const auto& [name, content] : m_plan.written)
            put(made / name, content);
        if (!m_plan.copiesCompanions)
            return;
        std::set<std::string> taken{cardName, maskName, compensationName};
        for (const std::string& name : m_plan.weights->names())
            taken.insert(name);
        for (const auto& [name, content] : m_plan.written)
            taken.insert(name);
        const CompanionFiles companions = companionFiles(folder.string(), taken);
        for (const std::string& name : companions.copied)
            put(made / name, companionContent(folder.string(), name));
        m_result.leftOut = companions.leftOut;
        m_result.warnings.insert(m_result.warnings.end(), companions.warnings.begin(), companions.warnings.end());
    }

    void verify(const std::string& written) {
        m_progress.check();
        if (!m_target.writer->isReadBack)
            return;
        const auto begin = std::chrono::steady_clock::now();
        const Progress progress = m_progress.part(0.5, 1);
        const Batch batch = probeTokens(m_card.spec);
        const double compared = m_request.evaluate ? 0.5 : 1; // fraction at which the comparison ends
        const RecordedRun masked = runMasked(batch, progress.part(0, compared / 2));
        returnFreedMemory();
        compare(masked, written, batch, progress.part(compared / 2, compared));
        m_result.verifySeconds = secondsSince(begin);
        if (m_request.evaluate)
            m_result.measured = m_request.evaluate(*opened(written, leastMemory()), progress.part(0.5, 1));
        progress.report(1, "exported");
    }

    /// Runs the source under the mask. Opens it again, so that none of its weights stay in memory afterwards.
    RecordedRun runMasked(const Batch& batch, const Progress& progress) const {
        auto model = openModel(m_card.path, {}, verifying());
        if (m_adapter)
            model = withAdapter(std::move(model), m_adapter, verifying());
        const auto plan = model->runner().plan(m_request.record.mask, ComputeType::float32);
        return recordRun(*model, *plan, batch, progress);
    }

    /// What was written, with its adapter if there is one.
    std::shared_ptr<const Model> opened(const std::string& written, const OpenOptions& options) {
        auto model = openModel(written, {}, options);
        if (!m_request.adapter)
            return model;
        if (!m_result.adapter) {
            Adapter adapter = exportedAdapter(*m_request.adapter, m_card.spec, m_request.record.mask, m_layout);
            adapter.fingerprint = model->fingerprint();
            m_result.adapter = std::make_shared<const Adapter>(std::move(adapter));
        }
        return withAdapter(std::move(model), m_result.adapter, options);
    }

    /// Compares what was written with the masked model.
    void compare(const RecordedRun& masked, const std::string& written, const Batch& batch, const Progress& progress) {
        const auto model = opened(written, verifying());
        if (!isSameStructure(model->spec(), m_layout.spec))
            throw Error(fmt::format("reads back as another model ({}, expected {}); nothing was written",
                                    model->spec().structure(), m_layout.spec.structure()),
                        m_request.path);
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        const std::vector<int> layers = sourceLayers();
        m_result.verified = compareLogits(masked, *model, *plan, layers, batch, progress);
        m_result.verified.hasRoundedWeights = m_plan.tolerance > exportTolerance;
        const bool isEqual = m_result.verified.relative() <= exportTolerance;
        if (!m_result.verified.hasRoundedWeights && isEqual)
            return;
        const StepDifference steps = stepDifference(masked, *model, *plan, layers, batch);
        m_result.verified.step = steps.position;
        if (m_result.verified.hasRoundedWeights)
            checkRounded(steps.layer);
        else
            checkMagnified();
    }

    /// Checks an export whose logits differ: whether each layer computes the same from the same input.
    void checkMagnified() {
        const LogitDifference& verified = m_result.verified;
        if (!(verified.step <= stepTolerance))
            throw Error(
                fmt::format("reads back with logits that differ from the masked model's by {} (largest logit {}{}); "
                            "nothing was written",
                            significant(verified.most), significant(verified.scale),
                            verified.layer < 0 ? "" : fmt::format("; first in layer {}", verified.layer)),
                m_request.path, std::isfinite(verified.most) ? "" : "Infinite and NaN weights cannot be cut by zeros");
        m_result.warnings.push_back(fmt::format(
            "the masked model magnifies rounding: the logits of the export differ from its logits by up to {} of {}, "
            "although each layer, for the same input, differs by at most {} of its largest number",
            significant(verified.most), significant(verified.scale), significant(verified.step)));
    }

    /// Checks an export whose weights were rounded, and says what that does. @param difference StepDifference::layer
    void checkRounded(double difference) {
        if (!(difference <= m_plan.tolerance))
            throw Error(fmt::format("reads back with a layer whose output differs from the masked model's by {} of its "
                                    "largest number; nothing was written",
                                    significant(difference)),
                        m_request.path, "Choose a type with more bits");
        m_result.warnings.push_back(
            fmt::format("the weights were rounded to another type: logits differ from the masked "
                        "model's by up to {} of {}, the updates of single layers by up to {} %{}",
                        significant(m_result.verified.most), significant(m_result.verified.scale),
                        significant(100 * difference), m_request.evaluate ? "" : ". Evaluate the export for its loss"));
    }

    /// The source's layer for each layer of the export.
    std::vector<int> sourceLayers() const {
        std::vector<int> layers;
        for (const ExportedLayer& layer : m_layout.layers)
            layers.push_back(layer.source);
        for (int layer = 0; m_layout.layers.empty() && layer < m_layout.spec.layerCount(); ++layer)
            layers.push_back(layer);
        return layers;
    }

    MaskRecord record() const {
        MaskRecord record = m_request.record;
        record.fingerprint = m_card.fingerprint;
        if (record.modelName.empty())
            record.modelName = m_card.name;
        return record;
    }

    std::string cardText(const std::string& maskFile, const std::string& sourceCard) const {
        std::vector<std::string> measured = m_request.measured;
        measured.insert(measured.end(), m_result.measured.begin(), m_result.measured.end());
        if (m_result.adapter)
            measured.emplace_back(m_request.evaluate
                                      ? "Verified and evaluated with an adapter that is not part of the weights"
                                      : "Verified with an adapter that is not part of the weights");
        const std::string licence = licenceOf(m_card);
        const std::string format = m_target.format.empty() ? m_card.format : std::string(m_target.format);
        const std::string name = fs::path(m_request.path).filename().string();
        std::string loading;
        for (const Loader loader : m_target.loaders)
            loading += loadingText(loader, m_card.spec, format, name);
        return exportCard({.source = m_card,
                           .record = m_request.record,
                           .target = m_target.name,
                           .verified = m_result.verified,
                           .measured = measured,
                           .maskFile = maskFile,
                           .version = SECATEUR_VERSION,
                           .contents = m_plan.contents,
                           .types = m_plan.types,
                           .licence = licence,
                           .loading = loading},
                          sourceCard);
    }

    void addFile(const std::string& path) {
        m_result.files.push_back({path, static_cast<std::int64_t>(fs::file_size(path))});
    }

    const ExportTarget& m_target;
    const ExportRequest& m_request;
    const Progress& m_progress;
    ModelCard m_card;
    std::shared_ptr<const Adapter> m_adapter; ///< null = none
    const ExportLayout& m_layout;
    const ExportPlan& m_plan;
    ExportResult m_result;
};

class PreparedFiles : public PreparedExport {
public:
    PreparedFiles(const ExportTarget& target, const Model& source, ExportLayout layout, const ExportRequest& request,
                  ExportPlan plan)
        : m_target(target)
        , m_source(source)
        , m_layout(std::move(layout))
        , m_request(request)
        , m_plan(std::move(plan)) {}

    ExportSize size() const override {
        ModelCard card = m_source.card();
        const std::int64_t others = card.parameters - PriceList(card).layerWeights();
        card.spec = m_layout.spec;
        const PriceList exported(card);
        return {.fileBytes = m_plan.weights->bytes(),
                .parameters = others + exported.layerWeights(),
                .kvBytesPerToken = exported.price(PruningMask(m_layout.spec)).kvBytesPerToken.all,
                .isOneFile = m_plan.isOneGguf,
                .warnings = m_plan.warnings};
    }

    ExportResult write(const Progress& progress) const override {
        return ExportRun(m_target, m_source, m_layout, m_request, m_plan, progress).run();
    }

private:
    const ExportTarget& m_target;
    const Model& m_source;
    ExportLayout m_layout;
    ExportRequest m_request;
    ExportPlan m_plan;
};

} // namespace

std::unique_ptr<const PreparedExport> preparedExport(const ExportTarget& target, const Model& source,
                                                     ExportLayout layout, const ExportRequest& request,
                                                     ExportPlan plan) {
    return std::make_unique<PreparedFiles>(target, source, std::move(layout), request, std::move(plan));
}

} // namespace secateur
