#include "backends/export/export_targets.h"

#include "analysis/base/error.h"
#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"
#include "analysis/export/bias_room.h"
#include "analysis/export/export_card.h"
#include "analysis/export/onnx_reasons.h"
#include "analysis/running/runner.h"
#include "backends/base/atomic_file.h"
#include "backends/base/file_output.h"
#include "backends/engine/open_model.h"
#include "backends/export/companion_files.h"
#include "backends/export/masked_files.h"
#include "backends/export/onnx_export.h"
#include "backends/export/relaid_files.h"
#include "backends/session/compensation_link.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/mask_json.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

namespace {

constexpr std::array targets{
    ExportTarget{.id = "masked",
                 .name = "masked",
                 .summary = "the source's files with cut weights set to 0",
                 .opensIn = "all programs that open the source",
                 .reasons = maskedReasons,
                 .writer = ExportWriter{writeMasked, maskedLayout}},
    ExportTarget{.id = "gguf",
                 .name = "compact GGUF",
                 .summary = "a smaller GGUF, whose layers may differ in heads and MLP width",
                 .opensIn = "llama.cpp",
                 .reasons = compactGgufReasons},
    ExportTarget{.id = "native",
                 .name = "the model's own architecture",
                 .summary = "a smaller checkpoint of the same architecture",
                 .opensIn = "transformers, vLLM, llama.cpp",
                 .reasons = nativeReasons},
    ExportTarget{.id = "decilm",
                 .name = "DeciLM",
                 .summary = "a DeciLM checkpoint",
                 .opensIn = "transformers with trust_remote_code, vLLM",
                 .reasons = deciLmReasons},
    ExportTarget{.id = "remote_code",
                 .name = "custom code",
                 .summary = "a smaller Hugging Face checkpoint with its own Python model code",
                 .opensIn = "transformers with trust_remote_code",
                 .reasons = remoteCodeReasons},
    ExportTarget{.id = "padded",
                 .name = "padded",
                 .summary = "a smaller checkpoint, whose layers are padded with zeros to the widest one",
                 .opensIn = "all programs that open the source",
                 .reasons = paddedReasons},
    ExportTarget{.id = "onnx",
                 .name = "ONNX",
                 .summary = "a smaller encoder as a folder with model.onnx; not read back by Secateur",
                 .opensIn = "ONNX Runtime and other programs that read ONNX of opset 17",
                 .reasons = onnxReasons,
                 .writer = ExportWriter{writeOnnx, onnxLayout, false}},
};

} // namespace

std::span<const ExportTarget> exportTargets() {
    return targets;
}

const ExportTarget& exportTarget(std::string_view id, std::span<const ExportTarget> table) {
    const auto found = std::ranges::find(table, id, &ExportTarget::id);
    if (found != table.end())
        return *found;
    refuseUnknown("export target", id, idsOf(table));
}

ExportResult exportModel(const Model& source, const ExportTarget& target, const ExportRequest& request,
                         const Progress& progress, std::span<const ExportTarget> table) {
    checkExport(target, table, request.record.mask, source.spec(), source.card().format);
    try {
        return target.writer->write(target, source, request, progress);
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? request.path : error.path1().string());
    }
}

namespace fs = std::filesystem;

namespace {

constexpr const char* cardName = "README.md";
constexpr const char* maskName = "model.mask.json";
/// The compensation of the mask in a folder. Some programs read all files of a folder that end with .safetensors as
/// weights of the model.
constexpr const char* compensationName = "model.mask.compensation";
constexpr const char* configName = "config.json";
constexpr std::int64_t leastMemory = 1; ///< a budget so small that no layer stays in memory after its use

double secondsSince(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void put(const fs::path& file, const std::string& content) {
    FileOutput(file.string(), file.filename().string()).write(std::as_bytes(std::span(content)));
}

bool isOwnCard(const fs::path& card) {
    const fs::path folder = card.parent_path();
    return isExportCard(companionContent(folder.empty() ? "." : folder.string(), card.filename().string()));
}

/// Whether an export wrote a folder.
bool isOwnFolder(const std::string& folder) {
    return fs::exists(fs::path(folder) / maskName) && isOwnCard(fs::path(folder) / cardName);
}

class MaskedExport {
public:
    MaskedExport(const ExportTarget& target, const Model& source, const ExportRequest& request,
                 const Progress& progress)
        : m_target(target)
        , m_request(request)
        , m_progress(progress)
        , m_card(source.card())
        , m_sourceSpec(source.spec())
        , m_layout(target.writer->layoutOf(source.spec(), request.record.mask, source.card().format))
        , m_files(source.card(), m_layout.spec, request.record.mask) {
        m_card.fingerprint = source.fingerprint();
        m_result.target = m_target.id;
        m_result.layout = m_layout.id;
        m_result.path = request.path;
        m_result.warnings = m_files.warnings();
        if (request.record.mask.keepsAll())
            m_result.warnings.emplace_back("the mask cuts nothing: the export is a copy of the source");
    }

    ExportResult run() {
        checkRoom();
        if (m_files.isOneGguf())
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
        const auto needed = static_cast<std::uintmax_t>(m_files.bytes());
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
        refuseSource(m_files.names().front());
        if (!m_request.path.ends_with(".gguf"))
            throw Error("does not end with .gguf, as the name of a GGUF must", m_request.path);
        const std::string stem = m_request.path.substr(0, m_request.path.size() - std::string(".gguf").size());
        const std::string maskPath = stem + ".mask.json";
        const std::string cardPath = stem + ".md";
        const bool isMaskThere = holdsMask(maskPath);
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
        const fs::path parent = fs::path(m_files.names().front()).parent_path();
        const fs::path folder = parent.empty() ? "." : parent;
        refuseSource(folder);
        AtomicFolder aside(m_request.path, m_request.mayReplace, isOwnFolder);
        const fs::path made(aside.path());
        write([&](const std::string& name) { return (made / fs::path(name).filename()).string(); });
        if (!m_files.isGguf())
            copyCompanions(folder, made);
        const fs::path opened(m_card.path);
        verify(fs::is_directory(opened) ? made.string() : (made / opened.filename()).string());
        put(made / maskName, maskJson(record(), compensationName));
        if (m_request.record.mask.isCompensated())
            put(made / compensationName, compensationBytes(m_request.record.mask));
        put(made / cardName, cardText(maskName, m_files.isGguf() ? "" : companionContent(folder.string(), cardName)));
        const std::vector<std::string> names = namesIn(made.string());
        aside.commit();
        for (const std::string& name : names)
            addFile((fs::path(m_request.path) / name).string());
    }

    void write(const std::function<std::string(const std::string&)>& place) {
        const auto begin = std::chrono::steady_clock::now();
        m_files.write(place, m_progress.part(0, 0.5));
        m_result.writeSeconds = secondsSince(begin);
        spdlog::info("{} written in {:.2f} s", shortBytes(static_cast<double>(m_files.bytes())), m_result.writeSeconds);
    }

    void copyCompanions(const fs::path& folder, const fs::path& made) {
        std::set<std::string> taken{cardName, maskName, compensationName};
        for (const std::string& name : m_files.names())
            taken.insert(fs::path(name).filename().string());
        const CompanionFiles companions = companionFiles(folder.string(), taken);
        for (const std::string& name : companions.copied)
            put(made / name, companion(folder, name));
        m_result.leftOut = companions.leftOut;
        m_result.warnings.insert(m_result.warnings.end(), companions.warnings.begin(), companions.warnings.end());
    }

    /// The content of a file beside the weights. The configuration states the biases that the compensation adds.
    std::string companion(const fs::path& folder, const std::string& name) const {
        const std::string content = companionContent(folder.string(), name);
        const auto adds = [&](bool LayerSpec::*bias) {
            return std::ranges::any_of(m_layout.spec.layers, bias) && !std::ranges::any_of(m_sourceSpec.layers, bias);
        };
        const bool attention = adds(&LayerSpec::outputBias);
        const bool mlp = adds(&LayerSpec::downBias);
        return name == configName && (attention || mlp) ? configWithBiases(content, attention, mlp) : content;
    }

    void verify(const std::string& written) {
        const auto begin = std::chrono::steady_clock::now();
        const Progress progress = m_progress.part(0.5, 1);
        const OpenOptions options{.memoryBudget = leastMemory};
        const auto model = openModel(m_card.path, {}, options);
        const auto exported = openModel(written, {}, options);
        if (exported->spec() != m_layout.spec)
            throw Error("reads back as another model; nothing was written", m_request.path);
        const auto plan = model->runner().plan(m_request.record.mask, ComputeType::float32);
        const auto dense = exported->runner().plan(PruningMask(exported->spec()), ComputeType::float32);
        m_result.verified = compareLogits(*model, *plan, *exported, *dense, probeTokens(model->spec()), progress);
        m_result.verifySeconds = secondsSince(begin);
        if (!(m_result.verified.relative() <= exportTolerance))
            throw Error(fmt::format("reads back with logits that differ from the masked model's by {} (largest logit "
                                    "{}); nothing was written",
                                    significant(m_result.verified.most), significant(m_result.verified.scale)),
                        m_request.path, "Infinite and NaN weights cannot be cut by zeros");
        progress.report(1, "exported");
    }

    MaskRecord record() const {
        MaskRecord record = m_request.record;
        record.fingerprint = m_card.fingerprint;
        if (record.modelName.empty())
            record.modelName = m_card.name;
        return record;
    }

    std::string cardText(const std::string& maskFile, const std::string& sourceCard) const {
        return exportCard({m_card, m_request.record, m_target.name, m_result.verified, m_request.measured, maskFile,
                           SECATEUR_VERSION},
                          sourceCard);
    }

    void addFile(const std::string& path) {
        m_result.files.push_back({path, static_cast<std::int64_t>(fs::file_size(path))});
    }

    const ExportTarget& m_target;
    const ExportRequest& m_request;
    const Progress& m_progress;
    ModelCard m_card;
    const ModelSpec& m_sourceSpec;
    ExportLayout m_layout;
    MaskedFiles m_files;
    ExportResult m_result;
};

} // namespace

ExportResult writeMasked(const ExportTarget& target, const Model& source, const ExportRequest& request,
                         const Progress& progress) {
    return MaskedExport(target, source, request, progress).run();
}

ExportLayout maskedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format) {
    return {"native", withCompensationBiases(source, mask, format)};
}

} // namespace secateur
