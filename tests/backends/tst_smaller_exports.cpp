// Exports whose tensors become smaller: for random masks of every fixture, each layout that can hold the mask gives the
// masked model's output when it is read back, in the same structure. The exports check that themselves (runExport());
// these tests print the largest difference of each layout.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/masks/price.h"
#include "backends/base/mapped_file.h"
#include "backends/export/export_targets.h"
#include "backends/formats/gguf.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <ATen/Parallel.h>

#include <array>
#include <csignal>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include <sys/wait.h>
#include <unistd.h>

using namespace secateur;
using namespace secateur::test;

namespace {

bool isGguf(const ExportTarget& target, const Model& model) {
    return (target.format.empty() ? model.card().format : std::string(target.format)) == "gguf";
}

ExportRequest requestFor(const ExportTarget& target, const Model& model, const PruningMask& mask,
                         const Scratch& scratch) {
    ExportRequest request;
    request.record.mask = mask;
    request.path = scratch.path(isGguf(target, model) ? "out.gguf" : "out").toStdString();
    return request;
}

/// Masks of every kind: single units, whole sublayers, bypasses with a factor, the same counts in all layers.
PruningMask drawnMask(const ModelSpec& spec, unsigned seed) {
    std::mt19937 random(seed);
    DrawnMasks masks(spec, seed);
    PruningMask mask = masks.next(seed % 3 == 0 ? 0.9 : 0.6);
    if (seed % 3 == 1) { // equal counts
        PruningMask equal(spec);
        for (int index = 0; index < spec.layerCount(); ++index) {
            LayerMask layer = equal.layer(index);
            const int groups = std::max(spec.layers[static_cast<std::size_t>(index)].kvHeads, 1);
            const auto perGroup = layer.heads.size() / static_cast<std::size_t>(groups);
            for (std::size_t head = 0; head < layer.heads.size(); ++head)
                layer.heads[head] = perGroup < 2 ? head + 1 < layer.heads.size() : head % perGroup != 0;
            for (std::size_t i = 0; i < layer.neurons.size(); ++i)
                layer.neurons[i] = i % 4 != seed % 4;
            equal.setLayer(index, layer);
        }
        return equal;
    }
    if (seed % 3 == 2 && spec.layerCount() > 1) {
        const int index = static_cast<int>(random() % static_cast<unsigned>(spec.layerCount()));
        LayerMask layer = mask.layer(index);
        if (!layer.heads.empty() && layer.block) {
            layer.attention = AttentionCut::bypassQk;
            layer.alpha = 0.75;
            mask.setLayer(index, layer);
        }
    }
    return mask;
}

/// The mask with the factors of its compensation only, which more targets have room for.
PruningMask withoutBiases(PruningMask mask) {
    for (int index = 0; index < mask.layerCount(); ++index) {
        LayerMask layer = mask.layer(index);
        const LayerCompensation& own = compensationOf(layer);
        layer.compensation = joinedCompensation({own.headScale, {}, {}, {}}, {{}, own.neuronScale, {}, {}});
        mask.setLayer(index, layer);
    }
    return mask;
}

enum class Outcome { written, failed, crashed };

/// Writes an export whatever its reasons are, in a process of its own, because the layout of a refused mask need not be
/// valid.
Outcome forcedExport(const Model& model, const ExportTarget& target, const ExportRequest& request) {
    at::set_num_threads(1);
    const pid_t child = fork();
    if (child == 0) {
        for (const int number : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS})
            std::signal(number, SIG_DFL);
        std::freopen("/dev/null", "w", stderr);
        alarm(60);
        try {
            target.writer->prepare(target, model, request)->write({});
        } catch (const std::exception&) {
            _exit(static_cast<int>(Outcome::failed));
        }
        _exit(static_cast<int>(Outcome::written));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : Outcome::crashed;
}

/// Whether a reason is about programs other than Secateur, which reads such an export, or says that it is of no use.
bool isOfOtherPrograms(const ExportReason& reason) {
    return std::ranges::any_of(std::array{"llama.cpp", "transformers", "own architecture requires both",
                                          "written as ONNX", "Python classes", "nothing gets smaller",
                                          "no attention and no MLP would remain"},
                               [&](const char* part) { return reason.sentence.find(part) != std::string::npos; });
}

/// What the size of an export differs in from the written files.
QString differences(const ExportSize& size, const ExportResult& result, const ExportTarget& target) {
    QStringList wrong;
    const auto compare = [&](const char* what, double told, double found) {
        if (told != found)
            wrong << QString("%1: %2, written %3").arg(what).arg(told, 0, 'f', 0).arg(found, 0, 'f', 0);
    };
    std::int64_t bytes = 0;
    for (const ExportedFile& file : result.files) {
        const QString name = QString::fromStdString(file.path);
        if (name.contains(".compensation")) // belongs to the mask
            continue;
        if (name.endsWith(".gguf") || name.endsWith(".safetensors") || name.endsWith(".safetensors.index.json") ||
            name.endsWith(".bin") || name.endsWith(".onnx"))
            bytes += file.bytes;
    }
    compare("bytes", static_cast<double>(size.fileBytes), static_cast<double>(bytes));
    compare("one file", size.isOneFile, result.path.ends_with(".gguf"));
    if (!target.writer->isReadBack)
        return wrong.join("; ");
    const auto exported = openModel(result.path);
    const double kvBytes = PriceList(exported->card()).price(PruningMask(exported->spec())).kvBytesPerToken.all;
    compare("parameters", static_cast<double>(size.parameters), static_cast<double>(exported->card().parameters));
    compare("KV bytes", size.kvBytesPerToken, kvBytes);
    return wrong.join("; ");
}

/// A decoder whose GGUF has quantised tensors with whole blocks in each head.
constexpr const char* quantised = "gqa-q8_0-gguf";

} // namespace

class TestSmallerExports : public QObject {
    Q_OBJECT

private slots:
    void everyLayoutReadsBack_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder : fixtures())
            QTest::newRow(qPrintable(folder)) << folder;
    }

    void everyLayoutReadsBack() {
        QFETCH(QString, folder);
        const auto model = fixture(folder);
        const int before = m_written;
        for (unsigned seed = 0; seed < 12; ++seed) {
            const PruningMask mask = drawnMask(model->spec(), seed);
            const PruningMask compensated = withDrawnCompensation(mask, model->spec(), seed);
            for (const PruningMask& each : {mask, compensated, withoutBiases(compensated)}) {
                const QString wrong = readingBack(*model, each);
                QVERIFY2(wrong.isEmpty(), qPrintable(QString("seed %1, %2").arg(seed).arg(wrong)));
            }
        }
        qInfo("%d exports", m_written - before);
    }

    /// Exports that a target refuses fail when they are written all the same, unless only other programs refuse them.
    void refusedExportsFail_data() { everyLayoutReadsBack_data(); }

    void refusedExportsFail() {
        QFETCH(QString, folder);
        const auto model = fixture(folder);
        for (unsigned seed = 0; seed < 12; ++seed) {
            const PruningMask mask = drawnMask(model->spec(), seed);
            for (const ExportTarget& target : exportTargets()) {
                const auto reasons = target.reasons(mask, model->spec(), model->card().format);
                if (reasons.empty())
                    continue;
                const Scratch scratch;
                const Outcome outcome = forcedExport(*model, target, requestFor(target, *model, mask, scratch));
                ++m_forced[static_cast<std::size_t>(outcome)];
                QVERIFY2(outcome != Outcome::written || std::ranges::any_of(reasons, isOfOtherPrograms),
                         qPrintable(QString("seed %1, %2 is written: %3")
                                        .arg(seed)
                                        .arg(target.id.data(), QString::fromStdString(reasons.front().sentence))));
            }
        }
    }

    void cutUnitsTakeNoRoom() {
        const auto model = fixture("gqa-f32");
        PruningMask mask(model->spec());
        for (int index = 0; index < mask.layerCount(); ++index) {
            LayerMask layer = mask.layer(index);
            for (std::size_t i = 0; i < layer.neurons.size(); i += 2)
                layer.neurons[i] = false;
            mask.setLayer(index, layer);
        }
        const Scratch scratch;
        const ExportTarget& target = exportTarget("native");
        exportModel(*model, target, requestFor(target, *model, mask, scratch));
        const auto exported = openModel(scratch.path("out").toStdString());
        std::int64_t less = 0;
        for (const LayerSpec& layer : model->spec().layers)
            less += std::int64_t{3} * (layer.ffn - layer.ffn / 2) * model->spec().hidden;
        QCOMPARE(exported->card().parameters, model->card().parameters - less);
        QCOMPARE(exported->card().dtype, model->card().dtype);
    }

    void quantisedBlocksStay() {
        const auto model = fixture(quantised);
        PruningMask mask(model->spec());
        LayerMask layer = mask.layer(1); // the first layer would get a head of zeros, which is no whole block
        layer.attention = AttentionCut::drop;
        mask.setLayer(1, layer);
        const Scratch scratch;
        const ExportTarget& target = exportTarget("gguf_deci");
        const ExportResult result = exportModel(*model, target, requestFor(target, *model, mask, scratch));
        QVERIFY(result.warnings.empty());
        QCOMPARE(result.verified.relative() < 1e-6, true);
        const auto part = readGguf(MappedFile::open(result.path));
        for (const TensorEntry& entry : part.tensors)
            QVERIFY2(entry.shape.size() < 2 || entry.type->name == "Q8_0", entry.name.c_str());
    }

    void missingTypesAreNamedAsTheReason() {
        const auto model = fixture(quantised);
        PruningMask mask(model->spec());
        LayerMask layer = mask.layer(1);
        layer.attention = AttentionCut::drop; // no block is cut
        mask.setLayer(1, layer);
        const Scratch scratch;
        const ExportTarget& target = exportTarget("per_layer");
        const ExportResult result = exportModel(*model, target, requestFor(target, *model, mask, scratch));
        const auto says = [&](const char* text) {
            return std::ranges::count_if(
                result.warnings, [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
        };
        QCOMPARE(says("because the format does not have its type"), std::ptrdiff_t{1});
        QCOMPARE(says("do not follow the blocks"), std::ptrdiff_t{0});
    }

    /// Real models state -1 for special tokens that they do not have.
    void aGgufBecomesHuggingFaceAndBack() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const auto gguf = openModel((realData() + "/models/stories260K/stories260K.gguf").toStdString());
        const auto withoutBlock = [](const Model& model) {
            PruningMask mask(model.spec());
            LayerMask layer = mask.layer(1);
            layer.block = false;
            mask.setLayer(1, layer);
            return mask;
        };
        const Scratch scratch;
        const ExportTarget& there = exportTarget("native");
        exportModel(*gguf, there, requestFor(there, *gguf, withoutBlock(*gguf), scratch));
        const auto folder = openModel(scratch.path("out").toStdString());
        QVERIFY(folder->card().warnings.empty());
        const ExportTarget& back = exportTarget("gguf_native");
        const ExportResult result =
            exportModel(*folder, back, requestFor(back, *folder, withoutBlock(*folder), scratch));
        QVERIFY(result.verified.relative() < 1e-5);
        for (const std::string& warning : result.warnings)
            QVERIFY2(!warning.starts_with("the export has no tokenizer"), warning.c_str());
        const auto again = openModel(result.path);
        QCOMPARE(again->spec().layerCount(), gguf->spec().layerCount() - 2);
        QVERIFY(again->spec().layers.front() == gguf->spec().layers.front());
    }

    void theCardSaysWhatWasMeasuredAndHowToOpenIt() {
        const auto model = fixture("gqa-f32-gguf");
        PruningMask mask(model->spec());
        LayerMask layer = mask.layer(1);
        layer.heads[0] = false;
        mask.setLayer(1, layer);
        const ExportTarget& target = exportTarget("gguf_deci");
        const Scratch scratch;
        ExportRequest request = requestFor(target, *model, mask, scratch);
        request.evaluate = [&](const Model& exported, const Progress&) {
            return std::vector<std::string>{"has " + std::to_string(exported.spec().layerCount()) + " layers"};
        };
        const ExportResult result = exportModel(*model, target, request);
        QCOMPARE(result.measured.size(), 1U);
        QFile file(scratch.path("out.md"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray card = file.readAll();
        for (const char* part : {"print(Llama(\"out.gguf\")", "licence of the source: not stated",
                                 "types of the weights: as in the source"})
            QVERIFY2(card.contains(part), part);
        QVERIFY(card.contains(QByteArray::fromStdString("- " + result.measured.front())));
        const Scratch other;
        request.path = other.path("out.gguf").toStdString();
        request.evaluate = [](const Model&, const Progress&) -> std::vector<std::string> { throw Error("is empty"); };
        QVERIFY_THROWS_EXCEPTION(Error, exportModel(*model, target, request));
        QVERIFY(!QFileInfo::exists(other.path("out.gguf")) && !QFileInfo::exists(other.path("out.md")));
    }

    void anotherTypeIsSaid() {
        const auto model = fixture("gqa-f32-gguf");
        PruningMask mask(model->spec());
        LayerMask layer = mask.layer(1);
        layer.heads[0] = false;
        mask.setLayer(1, layer);
        const ExportTarget& target = exportTarget("gguf_deci");
        for (const char* type : {"F16", "BF16"}) {
            const Scratch scratch;
            ExportRequest request = requestFor(target, *model, mask, scratch);
            request.type = type;
            const ExportResult result = exportModel(*model, target, request);
            QVERIFY(result.verified.relative() > 1e-6 && result.verified.relative() < 0.05);
            QCOMPARE(openModel(result.path)->card().dtype, type);
        }
        const Scratch scratch;
        ExportRequest request = requestFor(target, *model, mask, scratch);
        request.type = "Q9_9";
        QVERIFY_THROWS_EXCEPTION(UsageError, exportModel(*model, target, request));
        request.type = "F16"; // a masked export keeps its types
        QVERIFY_THROWS_EXCEPTION(UsageError, exportSize(*model, exportTarget("masked"), request));
    }

    void theTypeChangesTheSize() {
        const auto model = fixture(quantised);
        const ExportTarget& target = exportTarget("gguf_deci");
        std::int64_t before = std::numeric_limits<std::int64_t>::max();
        for (const std::string_view type : target.writer->types("gguf")) {
            const Scratch scratch;
            ExportRequest request = requestFor(target, *model, PruningMask(model->spec()), scratch);
            request.type = type;
            const ExportSize size = exportSize(*model, target, request);
            QVERIFY(size.fileBytes <= before); // largest type first
            before = size.fileBytes;
            if (type != "F16" && type != "Q8_0")
                continue;
            QCOMPARE(differences(size, exportModel(*model, target, request), target), QString());
            QCOMPARE(size.sourceBytes, QFileInfo(QString::fromStdString(model->card().path)).size());
        }
        QCOMPARE(exportTarget("native").writer->types("gguf"), (std::vector<std::string_view>{"F32", "F16", "BF16"}));
    }

    void budgetsInBytesCountTheExport() {
        const auto model = fixture("mha-f32");
        PruningMask mask(model->spec());
        cutUnits(mask, model->spec(), CutUnit::neuron, 0, std::array{0, 1, 2});
        for (const auto& [layout, id] : {std::pair("per_layer", "per_layer"), std::pair("none", "per_layer"),
                                         std::pair("decilm", "decilm"), std::pair("deci", "gguf_deci")}) {
            const Scratch scratch;
            const double counted = fileBytesOf(*model, parseStrategyRequest(std::string("search:for=") + layout))(mask);
            const ExportTarget& target = exportTarget(id);
            const ExportResult result = exportModel(*model, target, requestFor(target, *model, mask, scratch));
            std::int64_t written = 0;
            for (const ExportedFile& file : result.files)
                if (file.path.ends_with(".safetensors") || file.path.ends_with(".gguf"))
                    written += file.bytes;
            QCOMPARE(static_cast<std::int64_t>(counted), written);
        }
    }

    void cleanupTestCase() {
        qInfo("refused exports that were forced: %d written, %d failed with an error, %d without a valid layout",
              m_forced[0], m_forced[1], m_forced[2]);
        for (const auto& [id, most] : m_most)
            qInfo("%s: %d exports, largest difference of logits %.1e", id.c_str(), m_count[id], most);
    }

private:
    /// Exports a mask to all targets that take it, each verified. Returns what is wrong.
    QString readingBack(const Model& model, const PruningMask& mask) {
        for (const ExportTarget& target : exportTargets()) {
            if (!target.writer || !target.reasons(mask, model.spec(), model.card().format).empty())
                continue;
            const Scratch scratch;
            try {
                const ExportRequest request = requestFor(target, model, mask, scratch);
                const ExportSize size = exportSize(model, target, request);
                const ExportResult result = exportModel(model, target, request);
                if (const QString wrong = differences(size, result, target); !wrong.isEmpty())
                    return QString("%1: %2").arg(target.id.data(), wrong);
                const std::string row = std::string(target.id) + (mask.isCompensated() ? ", compensated" : "");
                m_most[row] = std::max(m_most[row], result.verified.relative());
                ++m_count[row];
                ++m_written;
            } catch (const Error& error) {
                return QString("%1: %2").arg(target.id.data(), error.what());
            }
        }
        return {};
    }

    int m_written = 0;
    std::map<std::string, double> m_most; ///< by target, and whether the mask has a compensation
    std::map<std::string, int> m_count;
    std::array<int, 3> m_forced{}; ///< by Outcome
};

SECATEUR_SUITE(TestSmallerExports)
#include "tst_smaller_exports.moc"
