// Each export target is defined by one row of a table. These tests add a target with a single row, check that each
// available target writes the files that it lists, and that no other source file mentions a target's id.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "backends/export/export_targets.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/suite.h"
#endif

#include <QDirIterator>
#include <QRegularExpression>
#include <QtTest>

#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <type_traits>

using namespace secateur;
using namespace secateur::test;

// These members are references, so rows without them do not compile: `reasons` of every target, and `prepare` and
// `layoutOf` of a target that writes files. layoutOf describes the exported model, so that it can be read back.
static_assert(std::is_reference_v<decltype(ExportTarget::reasons)>);
static_assert(std::is_reference_v<decltype(ExportWriter::prepare)> &&
              std::is_reference_v<decltype(ExportWriter::layoutOf)>);

namespace {

constexpr const char* tableFile = "backends/export/export_targets.cpp";

// --- An example of a new target: it writes a list of the layers that have cuts.

Reasons listReasons(const PruningMask& mask, const ModelSpec&, std::string_view) {
    return mask.keepsAll() ? Reasons{std::string("nothing is cut")} : Reasons();
}

class List : public PreparedExport {
public:
    List(const ExportTarget& target, const ExportRequest& request)
        : m_target(target)
        , m_path(request.path) {
        for (int layer = 0; layer < request.record.mask.layerCount(); ++layer)
            if (!request.record.mask.layer(layer).keepsAll())
                m_text += std::to_string(layer) + "\n";
    }

    ExportSize size() const override { return {.fileBytes = std::ssize(m_text), .isOneFile = true, .warnings = {}}; }

    ExportResult write(const Progress&) const override {
        std::ofstream(m_path) << m_text;
        ExportResult result;
        result.target = m_target.id;
        result.path = m_path;
        return result;
    }

private:
    const ExportTarget& m_target;
    std::string m_path;
    std::string m_text;
};

std::unique_ptr<const PreparedExport> prepareList(const ExportTarget& target, const Model&,
                                                  const ExportRequest& request) {
    return std::make_unique<List>(target, request);
}

ExportLayout listLayout(const ModelSpec& source, const PruningMask&, std::string_view) {
    return {"list", source};
}

constexpr std::array extended{ExportTarget{.id = "list",
                                           .as = "list",
                                           .layout = "list",
                                           .name = "list",
                                           .summary = "the layers that are cut",
                                           .opensIn = "any editor",
                                           .format = "",
                                           .reasons = listReasons,
                                           .writer = ExportWriter{prepareList, listLayout}},
                              ExportTarget{.id = "later",
                                           .as = "later",
                                           .layout = "later",
                                           .name = "later",
                                           .summary = "nothing yet",
                                           .opensIn = "nothing",
                                           .format = "",
                                           .reasons = listReasons}};

// --- End of the example.

MaskRecord oneHeadCut(const Model& model) {
    MaskRecord record;
    record.mask = PruningMask(model.spec());
    LayerMask layer = record.mask.layer(1);
    layer.heads[0] = false;
    record.mask.setLayer(1, layer);
    return record;
}

MaskRecord oneBlockCut(const Model& model) {
    MaskRecord record;
    record.mask = PruningMask(model.spec());
    LayerMask layer = record.mask.layer(1);
    layer.block = false;
    record.mask.setLayer(1, layer);
    return record;
}

QString refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return "accepted";
}

} // namespace

class TestExportTargets : public QObject {
    Q_OBJECT

private slots:
    void aTargetIsAddedByARow() {
        const Scratch scratch;
        const auto model = fixture("gqa-f32");
        const ExportRequest request{oneHeadCut(*model), scratch.path("cut.txt").toStdString()};
        const ExportResult result = exportModel(*model, exportTarget("list", extended), request, {}, extended);
        QCOMPARE(result.target, std::string("list"));
        QFile file(scratch.path("cut.txt"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("1\n"));
        QCOMPARE(exportSize(*model, exportTarget("list", extended), request, extended).fileBytes, 2);
        QCOMPARE(firstExportTarget(extended, request.record.mask, model->spec(), "safetensors"), &extended[0]);
        QVERIFY(!firstExportTarget(extended, PruningMask(model->spec()), model->spec(), "safetensors"));
        const QString told =
            refusal([&] { exportModel(*model, exportTarget("later", extended), request, {}, extended); });
        QCOMPARE(told, QString("cannot be exported as later: the target is not available yet. Export it as list"));
    }

    void everyAvailableTargetReadsBackAsItSays() {
        std::set<std::string_view> written;
        for (const char* source : {"gqa-f32", "gqa-f32-gguf", "mha-f32", "qwen3", "bert"}) {
            const auto model = fixture(source);
            const std::string format = model->card().format;
            for (const ExportTarget& target : exportTargets()) {
                const Scratch scratch;
                const bool isFile = (target.format.empty() ? format : target.format) == "gguf";
                const bool isEncoder = model->spec().family == Family::encoder;
                const ExportRequest request{isEncoder ? oneHeadCut(*model) : oneBlockCut(*model),
                                            scratch.path(isFile ? "out.gguf" : "out").toStdString()};
                if (!target.writer || !target.reasons(request.record.mask, model->spec(), format).empty()) {
                    QVERIFY(refusal([&] { exportModel(*model, target, request); }).startsWith("cannot be exported as"));
                    continue;
                }
                if (!target.writer->isReadBack)
                    continue; // a suite of its own compares such files
                written.insert(target.id);
                const ExportLayout layout = target.writer->layoutOf(model->spec(), request.record.mask, format);
                const ExportResult result = exportModel(*model, target, request);
                QCOMPARE(result.target, std::string(target.as));
                QCOMPARE(result.layout, std::string(target.layout));
                const bool isConverted = !target.format.empty() && target.format != format;
                QVERIFY2(isConverted || openModel(result.path)->spec() == layout.spec, std::string(target.id).c_str());
                QVERIFY(result.verified.relative() <= 1e-4);
            }
        }
        for (const ExportTarget& target : exportTargets())
            if (target.writer && target.writer->isReadBack)
                QVERIFY2(written.contains(target.id), std::string(target.id).c_str());
    }

    void everyTargetDescribesItself() {
        std::set<std::string_view> ids;
        for (const ExportTarget& target : exportTargets()) {
            QVERIFY(ids.insert(target.id).second);
            for (const std::string_view text : {target.name, target.summary, target.opensIn})
                QVERIFY2(!text.empty(), std::string(target.id).c_str());
        }
    }

    void noOtherFileKnowsTheirIds() {
        static const QRegularExpression known("exportTarget\\(\"|[tT]arget[\\w.>()-]*\\s*[!=]=\\s*\"");
        const QDir root(SECATEUR_SOURCE_DIR);
        for (const char* room : {"analysis", "backends", "widgets", "app"}) {
            QDirIterator sources(root.filePath(room), {"*.h", "*.cpp"}, QDir::Files, QDirIterator::Subdirectories);
            while (sources.hasNext()) {
                QFile file(sources.next());
                const QString path = root.relativeFilePath(file.fileName());
                if (path == tableFile || !file.open(QIODevice::ReadOnly))
                    continue;
                for (const QString& line : QString::fromUtf8(file.readAll()).split('\n'))
                    QVERIFY2(!line.contains(known), qPrintable(path + ": " + line.trimmed()));
            }
        }
    }
};

SECATEUR_SUITE(TestExportTargets)
#include "tst_export_targets.moc"
