// Folders with `pruned_heads`, as transformers 4 writes them: the configuration lists heads, and the weights are
// without them. They give the output of the whole model under the mask of these heads, also if a layer has no heads
// left. The reasons against writing such a folder are those that tests/python/pruned_heads_facts.py found.
#ifndef Q_MOC_RUN
#include "analysis/export/model_comparison.h"
#include "analysis/export/pruned_heads_reasons.h"
#include "analysis/running/runner.h"
#include "backends/formats/formats.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <numeric>

#include <cstring>
#include <map>
#include <vector>

using namespace secateur;
using namespace secateur::test;

namespace {

using Pruned = std::map<int, std::vector<int>>; ///< heads by stored layer

/// A tensor of float32 numbers in two dimensions; a vector is a column.
struct Numbers {
    std::vector<std::int64_t> shape;
    std::vector<float> values;

    void keepRows(const std::vector<bool>& kept) {
        const std::size_t width = values.size() / kept.size();
        std::vector<float> rest;
        for (std::size_t i = 0; i < kept.size(); ++i)
            if (kept[i])
                rest.insert(rest.end(), values.begin() + static_cast<std::ptrdiff_t>(i * width),
                            values.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
        values = rest;
        shape.front() = std::count(kept.begin(), kept.end(), true);
    }
    void keepColumns(const std::vector<bool>& kept) {
        std::vector<float> rest;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (kept[i % kept.size()])
                rest.push_back(values[i]);
        values = rest;
        shape.back() = std::count(kept.begin(), kept.end(), true);
    }
};

/// The beginning of the names of a stored layer's attention tensors.
std::string attentionOf(const std::string& architecture, int layer) {
    return architecture == "albert" ? "albert_layer_groups." + std::to_string(layer) + ".albert_layers.0.attention."
                                    : "encoder.layer." + std::to_string(layer) + ".attention.";
}

/// Removes the heads from a tensor, if they have a part in it.
void prune(const std::string& name, Numbers& tensor, const Model& source, const Pruned& pruned) {
    for (const auto& [layer, heads] : pruned) {
        const std::size_t found = name.find(attentionOf(source.spec().architecture, layer));
        if (found == std::string::npos)
            continue;
        const LayerSpec& spec = source.spec().layers.front();
        std::vector<bool> kept(static_cast<std::size_t>(spec.heads * spec.headDim), true);
        for (const int head : heads)
            for (int i = 0; i < spec.headDim; ++i)
                kept[static_cast<std::size_t>(head * spec.headDim + i)] = false;
        for (const char* rows : {".query.", ".key.", ".value."})
            if (name.find(rows, found) != std::string::npos)
                tensor.keepRows(kept);
        if (name.ends_with("dense.weight"))
            tensor.keepColumns(kept);
    }
}

void writeSafetensors(const QString& path, const std::map<std::string, Numbers>& tensors) {
    nlohmann::json header;
    std::size_t end = 0;
    QByteArray data;
    for (const auto& [name, tensor] : tensors) {
        const std::size_t begin = end;
        end += 4 * tensor.values.size();
        header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
        data.append(reinterpret_cast<const char*>(tensor.values.data()),
                    static_cast<qsizetype>(4 * tensor.values.size()));
    }
    const QByteArray text = QByteArray::fromStdString(header.dump());
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(little<quint64>(static_cast<quint64>(text.size())) + text + data);
}

/// Writes the folder of a fixture without some heads.
void writePruned(const Scratch& scratch, const QString& name, const Model& source, const Pruned& pruned) {
    nlohmann::json config = readJson(data().filePath(name + "/config.json"));
    for (const auto& [layer, heads] : pruned)
        config["pruned_heads"][std::to_string(layer)] = heads;
    scratch.write("config.json", QByteArray::fromStdString(config.dump()));
    const std::string path = data().filePath(name + "/model.safetensors").toStdString();
    const auto checkpoint = formatOf(path).open(path, {});
    std::map<std::string, Numbers> tensors;
    for (const TensorEntry& entry : checkpoint->tensors()) {
        Numbers tensor{entry.shape, std::vector<float>(static_cast<std::size_t>(entry.elements()))};
        std::memcpy(tensor.values.data(), entry.data.data(), entry.data.size());
        prune(entry.name, tensor, source, pruned);
        tensors[entry.name] = tensor;
    }
    writeSafetensors(scratch.path("model.safetensors"), tensors);
}

PruningMask maskOf(const ModelSpec& spec, const Pruned& pruned) {
    PruningMask mask(spec);
    for (const auto& [layer, heads] : pruned) {
        LayerMask own = mask.layer(layer);
        for (const int head : heads)
            own.heads[static_cast<std::size_t>(head)] = false;
        mask.setLayer(layer, own);
    }
    return mask;
}

QString reasonsOf(const PruningMask& mask, const ModelSpec& spec, std::string_view format = "safetensors") {
    QStringList all;
    for (const ExportReason& reason : prunedHeadsReasons(mask, spec, format))
        all << QString::fromStdString(reason.sentence);
    return all.join(" | ");
}

} // namespace

class TestPrunedHeads : public QObject {
    Q_OBJECT

private slots:
    void foldersGiveTheOutputOfTheMaskedModel_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"bert", "bert-bare", "roberta", "xlm-roberta", "albert"})
            QTest::newRow(name) << name;
    }

    void foldersGiveTheOutputOfTheMaskedModel() {
        QFETCH(QString, name);
        const auto source = openModel(data().filePath(name).toStdString());
        std::vector<Pruned> cases{{{0, {1}}}, {{0, {0, 2}}}, {{0, {0, 1, 2}}}};
        if (name != "albert") // which has one stored layer
            cases.insert(cases.end(), {{{0, {1}}, {1, {0, 2}}}, {{0, {0, 1, 2}}, {1, {2}}}});
        double worst = 0;
        for (const Pruned& pruned : cases) {
            const Scratch scratch;
            writePruned(scratch, name, *source, pruned);
            const auto folder = openModel(scratch.path().toStdString());
            QCOMPARE(folder->spec().layers[0].heads, 3 - static_cast<int>(pruned.at(0).size()));
            const auto plan = source->runner().plan(maskOf(source->spec(), pruned), ComputeType::float32);
            const auto dense = folder->runner().plan(PruningMask(folder->spec()), ComputeType::float32);
            std::vector<int> layers(static_cast<std::size_t>(source->spec().layerCount()));
            std::iota(layers.begin(), layers.end(), 0);
            const Batch batch = probeTokens(source->spec());
            const RecordedRun masked = recordRun(*source, *plan, batch, {});
            const LogitDifference difference = compareLogits(masked, *folder, *dense, layers, batch, {});
            worst = std::max(worst, difference.relative());
            QVERIFY2(difference.relative() <= 1e-5, qPrintable(QString::number(difference.relative())));
        }
        qInfo("%s: largest relative difference %.1e in %zu folders", qPrintable(name), worst, cases.size());
    }

    void reasonsAreThoseThatTransformers4Has() {
        const ModelSpec spec = fixture("bert")->spec();
        PruningMask mask = maskOf(spec, {{0, {1}}, {1, {0, 2}}});
        QCOMPARE(reasonsOf(mask, spec), "");
        QVERIFY(reasonsOf(mask, spec, "gguf").startsWith("the source is a GGUF"));
        QCOMPARE(reasonsOf(maskOf(spec, {{1, {0, 1, 2}}}), spec),
                 "layer 1: no head would remain, and transformers 4 opens such a layer but cannot run it");
        const auto withLayer = [&](auto change) {
            PruningMask changed(spec);
            LayerMask layer = changed.layer(0);
            change(layer);
            changed.setLayer(0, layer);
            return reasonsOf(changed, spec);
        };
        QVERIFY(
            withLayer([](LayerMask& layer) { layer.attention = AttentionCut::drop; }).contains("no head would remain"));
        QVERIFY(withLayer([](LayerMask& layer) { layer.attention = AttentionCut::bypassQk; }).contains("bypassed"));
        QVERIFY(withLayer([](LayerMask& layer) { layer.block = false; }).contains("the block is dropped"));
        QVERIFY(withLayer([](LayerMask& layer) { layer.mlp = false; }).contains("no neuron would remain"));
        QVERIFY(withLayer([](LayerMask& layer) { layer.neurons[0] = false; }).contains("MLP widths vary"));
        const ModelSpec albert = fixture("albert")->spec();
        QCOMPARE(reasonsOf(maskOf(albert, {{0, {1}}}), albert), "");
        const ModelSpec llama = fixture("gqa-f32")->spec();
        QVERIFY(reasonsOf(PruningMask(llama), llama).endsWith("llama is another architecture"));
    }
};

SECATEUR_SUITE(TestPrunedHeads)
#include "tst_pruned_heads.moc"
