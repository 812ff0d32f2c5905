#include "backends/export/onnx_export.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "backends/base/atomic_file.h"
#include "backends/base/file_output.h"
#include "backends/export/companion_files.h"
#include "backends/export/onnx_graph.h"
#include "backends/export/onnx_model.h"
#include "backends/formats/formats.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/mask_json.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>

namespace secateur {

namespace fs = std::filesystem;

namespace {

/// Names of the files in the folder of an ONNX export.
namespace onnxFile {
constexpr const char* model = "model.onnx";
constexpr const char* data = "model.onnx_data";
constexpr const char* card = "README.md";
constexpr const char* mask = "model.mask.json";
constexpr const char* compensation = "model.mask.compensation";
} // namespace onnxFile

class OnnxExport {
public:
    OnnxExport(const ExportTarget& target, const Model& source, const ExportRequest& request, const Progress& progress)
        : m_target(target)
        , m_source(source)
        , m_request(request)
        , m_progress(progress)
        , m_card(source.card())
        , m_record(request.record)
        , m_graph(onnxModel(source, request.record.mask)) {
        m_card.fingerprint = m_record.fingerprint = source.fingerprint();
        if (m_record.modelName.empty())
            m_record.modelName = m_card.name;
        m_graph.metadata = {{"source", m_card.name}, {"fingerprint", m_card.fingerprint}, {"mask", onnxFile::mask}};
        m_result.target = m_target.id;
        m_result.layout = onnxLayout(source.spec(), m_record.mask, m_card.format).id;
        m_result.path = request.path;
        findSource();
    }

    ExportResult run() {
        checkPlace();
        AtomicFolder aside(m_request.path, m_request.mayReplace, isOnnxExport);
        const fs::path made(aside.path());
        writeModel(made);
        copyCompanions(made);
        put(made / onnxFile::mask, maskJson(m_record, onnxFile::compensation));
        if (m_record.mask.isCompensated())
            put(made / onnxFile::compensation, compensationBytes(m_record.mask));
        put(made / onnxFile::card, cardText());
        const std::vector<std::string> names = namesIn(made.string());
        m_progress.check();
        aside.commit();
        for (const std::string& name : names) {
            const fs::path file = fs::path(m_request.path) / name;
            m_result.files.push_back({file.string(), static_cast<std::int64_t>(fs::file_size(file))});
        }
        return std::move(m_result);
    }

private:
    static bool isOnnxExport(const std::string& folder) {
        return fs::exists(fs::path(folder) / onnxFile::mask) && isExportCard(companionContent(folder, onnxFile::card));
    }

    static void put(const fs::path& file, const std::string& content) {
        FileOutput(file.string(), file.filename().string()).write(std::as_bytes(std::span(content)));
    }

    /// Finds the files of the source, which may be elsewhere than the path by which it was opened.
    void findSource() {
        const auto checkpoint = formatOf(m_card.path).open(m_card.path, {});
        for (const TensorEntry& entry : checkpoint->tensors())
            m_weights.insert(entry.file->path());
        const fs::path parent = fs::path(*m_weights.begin()).parent_path();
        m_folder = parent.empty() ? "." : parent.string();
    }

    void checkPlace() const {
        std::error_code ignored;
        if (fs::equivalent(m_folder, m_request.path, ignored))
            throw Error("is the model itself, which an export never changes", m_request.path, "Choose another name");
        const OnnxSizes sizes = sizesOf(m_graph, onnxFile::data);
        const auto needed = static_cast<std::uintmax_t>(sizes.model + sizes.data);
        const fs::path folder = fs::absolute(m_request.path).lexically_normal().parent_path();
        std::error_code failure;
        const fs::space_info space = fs::space(folder, failure);
        if (!failure && space.available < needed)
            throw Error(fmt::format("needs {}, but the disk has {} left", shortBytes(static_cast<double>(needed)),
                                    shortBytes(static_cast<double>(space.available))),
                        m_request.path, "Make room or choose another disk; nothing was changed");
    }

    void writeModel(const fs::path& made) {
        const auto begin = std::chrono::steady_clock::now();
        writeOnnxGraph(m_graph, (made / onnxFile::model).string(), onnxFile::data, m_progress);
        m_source.checkFiles();
        m_result.writeSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        spdlog::info("{} written in {:.2f} s", onnxFile::model, m_result.writeSeconds);
    }

    void copyCompanions(const fs::path& made) {
        if (m_card.format == "gguf") {
            m_result.warnings.emplace_back("the source is a GGUF, so the export has no config.json and no tokenizer");
            return;
        }
        std::set<std::string> taken{onnxFile::model, onnxFile::data, onnxFile::card, onnxFile::mask,
                                    onnxFile::compensation};
        for (const std::string& weights : m_weights)
            taken.insert(fs::path(weights).filename().string());
        const CompanionFiles companions = companionFiles(m_folder, taken);
        for (const std::string& name : companions.copied)
            put(made / name, companionContent(m_folder, name));
        m_result.leftOut = companions.leftOut;
        m_result.warnings.insert(m_result.warnings.end(), companions.warnings.begin(), companions.warnings.end());
    }

    std::string cardText() const {
        const std::string sourceCard = m_card.format == "gguf" ? "" : companionContent(m_folder, onnxFile::card);
        return exportCard({.source = m_card,
                           .record = m_record,
                           .target = m_target.name,
                           .verified = m_result.verified,
                           .measured = m_request.measured,
                           .maskFile = onnxFile::mask,
                           .version = SECATEUR_VERSION,
                           .contents = "Cut heads, neurons and sublayers are left out of model.onnx, whose weights are "
                                       "float32. The configuration is the source's"},
                          sourceCard);
    }

    const ExportTarget& m_target;
    const Model& m_source;
    const ExportRequest& m_request;
    const Progress& m_progress;
    ModelCard m_card;
    MaskRecord m_record;
    OnnxGraph m_graph;
    std::set<std::string> m_weights; ///< paths of the source's weight files
    std::string m_folder;            ///< of the source
    ExportResult m_result;
};

} // namespace

ExportResult writeOnnx(const ExportTarget& target, const Model& source, const ExportRequest& request,
                       const Progress& progress) {
    return OnnxExport(target, source, request, progress).run();
}

ExportLayout onnxLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    ExportLayout layout{"onnx", source};
    for (int index = 0; index < mask.layerCount(); ++index) {
        LayerSpec& layer = layout.spec.layers[static_cast<std::size_t>(index)];
        layer.heads = layer.kvHeads = mask.layer(index).keptHeads();
        layer.ffn = mask.layer(index).keptNeurons();
        if (dropsAttention(mask.layer(index)))
            layer.attention = AttentionKind::none;
    }
    return layout;
}

} // namespace secateur
