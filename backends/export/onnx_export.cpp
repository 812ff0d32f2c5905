#include "backends/export/onnx_export.h"

#include "backends/export/compact_config.h"
#include "backends/export/companion_files.h"
#include "backends/export/export_files.h"
#include "backends/export/exported_weights.h"
#include "backends/export/onnx_graph.h"
#include "backends/export/onnx_model.h"
#include "backends/formats/hf_config.h"

namespace secateur {

namespace {

/// The files of an ONNX model.
class OnnxFiles : public ExportFiles {
public:
    OnnxFiles(const Model& source, OnnxGraph graph)
        : m_source(source)
        , m_graph(std::move(graph))
        , m_sizes(sizesOf(m_graph, dataName)) {}

    std::vector<std::string> names() const override {
        return m_sizes.data > 0 ? std::vector<std::string>{modelName, dataName} : std::vector<std::string>{modelName};
    }

    std::int64_t bytes() const override { return static_cast<std::int64_t>(m_sizes.model + m_sizes.data); }

    void write(const std::function<std::string(const std::string& name)>& place,
               const Progress& progress) const override {
        writeOnnxGraph(m_graph, place(modelName), dataName, progress);
        m_source.checkFiles();
    }

private:
    static constexpr const char* modelName = "model.onnx";
    static constexpr const char* dataName = "model.onnx_data";

    const Model& m_source;
    OnnxGraph m_graph;
    OnnxSizes m_sizes;
};

} // namespace

std::unique_ptr<const PreparedExport> prepareOnnx(const ExportTarget& target, const Model& source,
                                                  const ExportRequest& request) {
    OnnxGraph graph = onnxModel(source, request.record.mask);
    graph.metadata = {{"source", source.card().name}, {"fingerprint", source.fingerprint()}};
    const bool hasCompanions = source.card().format != "gguf";
    ExportPlan plan{.weights = std::make_shared<OnnxFiles>(source, std::move(graph)),
                    .copiesCompanions = hasCompanions,
                    .contents =
                        "Cut heads, neurons and sublayers are left out of model.onnx, whose weights are float32. "
                        "The configuration is the source's" +
                        std::string(bringsClassifier(source) ? ", with the classes of the adapter" : "")};
    if (hasCompanions && bringsClassifier(source))
        plan.written["config.json"] =
            configWithClasses(companionContent(modelFolder(source.card().path), "config.json"),
                              {.count = source.spec().classes, .names = classNames(source.card())});
    if (!hasCompanions)
        plan.warnings.emplace_back("the source is a GGUF, so the export has no config.json and no tokenizer");
    const ExportLayout layout = onnxLayout(source.spec(), request.record.mask, source.card().format);
    return preparedExport(target, source, layout, request, std::move(plan));
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
