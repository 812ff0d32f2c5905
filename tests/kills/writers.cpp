#ifndef Q_MOC_RUN                       // moc cannot read ATen's headers
#include "tests/support/zeroed_model.h" // before Qt

#include "analysis/base/error.h"
#include "analysis/figures/figure.h"
#include "app/window/window_services.h"
#include "backends/base/atomic_file.h"
#include "backends/base/sha256.h"
#include "backends/export/export_targets.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/fixture.h"
#include "tests/support/onnx_file.h"
#endif

#include "tests/kills/interposed_calls.h"
#include "tests/kills/writers.h"
#include "widgets/document/autosave.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/plot/figure_painter.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <QRegularExpression>
#include <QTimer>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace secateur::test {

namespace {

constexpr int edits = 60;
constexpr int editMs = 40;

MaskRecord maskOf(const ModelSpec& spec, int generation) {
    return {editedMask(spec, 5 * generation + 3), "a model", {}, "generation " + std::to_string(generation), {}};
}

/// Drawn once, so that later only the allocations of the writer are counted.
const Session& sessionOf(int generation) {
    static std::map<int, Session> drawn;
    if (const auto known = drawn.find(generation); known != drawn.end())
        return known->second;
    Session session = evaluatedSession();
    session.view["generation"] = std::to_string(generation);
    session.view["padding"] = std::string(200'000, static_cast<char>('a' + generation));
    for (MetricResult& result : session.results)
        result.values(0, 0) = generation;
    return drawn.emplace(generation, std::move(session)).first->second;
}

void writeSessionOf(const std::string& folder, int generation) {
    const Session& session = sessionOf(generation);
    // Even generations write a new session file. Odd ones add to the existing file.
    if (generation % 2 == 0)
        writeSession(session, folder + "/work.h5");
    else
        addToSession(session, folder + "/work.h5");
}

/// A mask that every target can hold: of the generation's number of neurons in each layer, or of one head.
MaskRecord smallerMaskOf(const ModelSpec& spec, int generation, bool ofHeads) {
    MaskRecord record = maskOf(spec, generation);
    record.mask = PruningMask(spec);
    for (int index = 0; index < spec.layerCount(); ++index) {
        LayerMask layer = record.mask.layer(index);
        if (!ofHeads)
            std::fill_n(layer.neurons.begin(), generation + 1, false);
        else if (index == 0)
            layer.heads[static_cast<std::size_t>(generation)] = false;
        record.mask.setLayer(index, layer);
    }
    return record;
}

/// A writer of one row of the table of export targets.
Writer exportWriter(const std::string& id, const QString& source, const std::string& name) {
    const ExportTarget& target = exportTarget(id);
    const auto write = [&target, source, name](const std::string& folder, int generation) {
        const auto model = fixture(source);
        const ModelSpec& spec = model->spec();
        const MaskRecord record = target.id == "masked" ? maskOf(spec, generation)
                                                        : smallerMaskOf(spec, generation, target.id == "pruned_heads");
        exportModel(*model, target, {record, folder + "/" + name, true});
    };
    const auto open = [&target, name](const std::string& folder) {
        if (target.writer->isReadBack)
            openModel(folder + "/" + name);
        else
            onnx::read(folder + "/" + name + "/model.onnx");
    };
    return {"export-" + id + (target.id == "masked" && name.ends_with(".gguf") ? "-gguf" : ""), 2, write, open};
}

Figure figureOf(int generation) {
    Figure figure;
    figure.title = "generation " + std::to_string(generation);
    figure.cells = Matrix(20, 30, generation);
    return figure;
}

ModelSpec maskedSpec() {
    return raggedModel().spec;
}

void tellOf(const char* what, int number) {
    tell(fmt::format("{} {} {}", what, number, nanoseconds()));
}

void runAutosave(const std::string& folder, long call) {
    JobRunner jobs;
    Services services = windowServices();
    services.writeSession = [write = services.writeSession](const Session& session, const std::string& path) {
        const int number = numberOf(session.masks.at(0).name);
        tellOf("begin", number);
        write(session, path);
        tellOf("done", number);
    };
    Document document(services, &jobs);
    Autosave autosave(&document, QString::fromStdString(folder));
    QTimer next;
    int edit = 0;
    QObject::connect(&next, &QTimer::timeout, &document, [&] {
        if (++edit > edits) {
            tell("calls " + std::to_string(countedCalls()));
            _exit(0); // ends without any cleanup, as in a crash
        }
        tellOf("edit", edit);
        document.masks()->replaceMask(editedMask(document.spec(), edit), "edit");
        document.masks()->renameMask(QString("edit %1").arg(edit));
    });
    QObject::connect(&document, &Document::opened, &document, [&] {
        dieAtCall(folder, call);
        next.start(editMs);
    });
    document.files()->open(QString::fromStdString(autosavedModel()));
    QCoreApplication::exec();
}

} // namespace

const std::vector<Writer>& writers() {
    static const std::vector<Writer> all{
        {"session", 3, writeSessionOf, [](const std::string& folder) { readSession(folder + "/work.h5"); }},
        {"mask", 6,
         [](const std::string& folder, int generation) {
             writeMask(folder + "/work.mask.json", maskOf(maskedSpec(), generation));
         },
         [](const std::string& folder) { readMask(folder + "/work.mask.json", maskedSpec(), {}); }},
        {"compensated-mask", 6,
         [](const std::string& folder, int generation) {
             MaskRecord record = maskOf(maskedSpec(), generation);
             if (generation % 3 != 2) // every third one replaces a mask with a compensation by one without
                 record.mask = withDrawnCompensation(record.mask, maskedSpec(), static_cast<unsigned>(generation));
             writeMask(folder + "/work.mask.json", record);
         },
         [](const std::string& folder) {
             if (!readMask(folder + "/work.mask.json", maskedSpec(), {}).warnings.empty())
                 throw Error("has lost its compensation", folder);
         }},
        {"figure-csv", 2,
         [](const std::string& folder, int generation) {
             writeWhole(folder + "/work.csv", toCsv(figureOf(generation)), FileKind::csv);
         },
         [](const std::string&) {}},
        {"figure-svg", 2,
         [](const std::string& folder, int generation) {
             const QString path = QString::fromStdString(folder + "/work.svg");
             writeAside(path, "<svg>" + QByteArray(100'000, static_cast<char>('a' + generation)));
         },
         [](const std::string&) {}},
        exportWriter("masked", "mqa-f32-sharded", "exported"),
        exportWriter("masked", "gqa-f16-gguf", "exported.gguf"),
        exportWriter("gguf_native", "gqa-f16-gguf", "exported.gguf"),
        exportWriter("gguf_deci", "gqa-f16-gguf", "exported.gguf"),
        exportWriter("gguf_openelm", "qwen3", "exported.gguf"),
        exportWriter("native", "mqa-f32-sharded", "exported"),
        exportWriter("per_layer", "gqa-bf16", "exported"),
        exportWriter("pruned_heads", "bert", "exported"),
        exportWriter("decilm", "mha-f32", "exported"),
        exportWriter("padded", "gqa-f16-gguf", "exported.gguf"),
        exportWriter("onnx", "bert", "exported"),
    };
    return all;
}

std::string contentOf(const std::string& file) {
    const QByteArray bytes = contents(file);
    if (file.ends_with(".md"))
        return QString::fromUtf8(bytes).remove(QRegularExpression(R"( on \d{4}-\d\d-\d\dT[\d:]+Z)")).toStdString();
    if (!file.ends_with(".h5"))
        return bytes.toStdString();
    if (!isSealed(bytesOf(bytes)))
        throw Error("has not its checksum", file);
    const Session session = readSession(file);
    std::string content = session.view.at("generation") + session.view.at("padding");
    for (const MetricResult& result : session.results)
        content += fmt::format("|{} {}", result.request.resultId(), result.values(0, 0));
    for (const SessionMask& mask : session.masks)
        content += "|" + mask.name + mask.digest;
    for (const Evaluation& evaluation : session.evaluations)
        content += "|" + evaluation.mask.digest +
                   (evaluation.text ? fmt::format("{}", evaluation.text->perplexity.lossNats) : "");
    return content;
}

const Writer& writer(const std::string& id) {
    return *std::ranges::find(writers(), id, &Writer::id);
}

std::string autosavedModel() {
    return data().filePath("gqa-f16-gguf/model.gguf").toStdString();
}

PruningMask editedMask(const ModelSpec& spec, int edit) {
    PruningMask mask(spec);
    unsigned bits = static_cast<unsigned>(edit);
    for (int index = 0; index < spec.layerCount(); ++index) {
        LayerMask layer = mask.layer(index);
        for (std::size_t head = 0; head < layer.heads.size(); ++head, bits >>= 1U)
            layer.heads[head] = (bits & 1U) == 0;
        mask.setLayer(index, layer);
    }
    return mask;
}

int numberOf(const std::string& editName) {
    return std::stoi(editName.substr(editName.find(' ')));
}

int writeUntilKilled(const QStringList& arguments) {
    const std::string id = arguments.at(0).toStdString();
    const std::string folder = arguments.at(1).toStdString();
    const long call = arguments.at(2).toLong();
    if (id == "autosave") {
        runAutosave(folder, call);
        return 0;
    }
    dieAtCall(folder, call);
    for (int generation = 1; generation <= writer(id).generations; ++generation) {
        tellOf("begin", generation);
        writer(id).write(folder, generation);
        tellOf("done", generation);
    }
    tell("calls " + std::to_string(countedCalls()));
    return 0;
}

int holdSession(const QStringList& arguments) {
    JobRunner jobs;
    Document document(windowServices(), &jobs);
    Autosave autosave(&document, arguments.at(0));
    bool elsewhere = false;
    QObject::connect(&autosave, &Autosave::openElsewhere, &autosave, [&] { elsewhere = true; });
    QObject::connect(
        &document, &Document::sessionPathChanged, &document, [&] { tell(elsewhere ? "open elsewhere" : "open"); },
        Qt::QueuedConnection);
    document.files()->open(arguments.at(1));
    return QCoreApplication::exec();
}

} // namespace secateur::test
