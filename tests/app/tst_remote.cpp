// A model on a server: `secateur-cli serve` in a process of its own. Its results must be those of the same model in
// this process, to the bit; bytes that are no messages must be refused.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include <ATen/ATen.h>

#include "analysis/campaigns/sweep_wire.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/evaluation/text_evaluator_state.h"
#include "analysis/metrics/metric_wire.h"
#include "analysis/model/far_model.h"
#include "analysis/prediction/prediction.h"
#include "analysis/running/attention_reader.h"
#include "analysis/running/far_plan.h"
#include "analysis/running/run_speed.h"
#include "analysis/session/session.h"
#include "analysis/session/sweep_known.h"
#include "backends/base/runtime.h"
#include "backends/remote/message.h"
#include "backends/remote/model_facts.h"
#include "backends/remote/remote_address.h"
#include "backends/remote/remote_jobs.h"
#include "backends/remote/search_parts.h"
#include "backends/remote/stand_in.h"
#include "backends/remote/tensor_facts.h"
#include "tests/support/far_models.h"
#endif

#include "tests/support/suite.h"

#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTest>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>

using namespace secateur;
using test::Scratch;

namespace {

/// The services and the same model twice: of this process and of a server.
struct Both {
    Scratch folder;
    std::string path;
    Services services;
    std::shared_ptr<const Model> own;
    std::shared_ptr<const Model> far;

    explicit Both(const std::string& command = test::serverCommand())
        : path(test::writeSmallModel(folder).toStdString())
        , services(withServers(windowServices(), command))
        , own(services.openModel(path, {}))
        , far(services.openModel(servedPath(path), {})) {}

    const FarModel& model() const { return *farModel(*far); }
    std::string text() const { return folder.write("words.txt", test::smallText()); }
};

/// A value as bytes, by which values are compared to the bit.
template <typename Value>
std::string bits(const Value& value) {
    return wireBytes(value);
}

/// Results without the times, which differ between runs.
std::string bits(std::vector<MetricResult> results) {
    for (MetricResult& result : results) {
        result.seconds = 0;
        result.measurement.created.clear();
    }
    return wireBytes(results);
}

MaskEvaluation timeless(MaskEvaluation found) {
    found.secondsLeft = 0;
    found.reusedLayers = 0;
    found.streamInterval = 1; // depends on the memory of the machine
    return found;
}

TextRequest textAt(const std::string& path) {
    TextRequest request;
    request.path = path;
    return request;
}

PruningMask maskOf(const Model& model) {
    PruningMask mask(model.spec());
    LayerMask layer = mask.layer(1);
    layer.heads[1] = false;
    mask.setLayer(1, layer);
    return mask;
}

/// Changes some bytes, or the length.
void mutate(std::string& bytes, std::mt19937& random) {
    const auto below = [&random](std::size_t count) { return static_cast<std::size_t>(random()) % count; };
    for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
        const std::size_t place = below(bytes.size());
        switch (below(4)) {
        case 0:
            bytes[place] = static_cast<char>(random());
            break;
        case 1:
            bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8)));
            break;
        case 2:
            bytes.resize(place);
            break;
        default:
            bytes.insert(place, std::string(1 + below(16), static_cast<char>(random())));
        }
    }
}

/// Whether reading throws nothing but Error.
template <typename Read>
bool isRefusedOrRead(const Read& read) {
    try {
        read();
    } catch (const Error&) {
        return true;
    } catch (const Cancelled&) {
        return false;
    }
    return true;
}

std::string greetingWith(const Message& hello) {
    return std::string(serverGreeting) + encoded(hello);
}

} // namespace

class TestRemote : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(1); }
    void messagesComeOutOfAnyPieces();
    void aMillionBrokenMessagesAreRefused();
    void aMillionBrokenArgumentsAreRefused();
    void aMillionBrokenResultsAreRefused();
    void addressesAreRead();
    void wrongServersAreNamed();
    void theCardAndTheWeightsAreEqual();
    void tokensAndTextsAreEqual();
    void metricsAreEqual();
    void evaluationsAreEqual();
    void tasksAndPromptsAreEqual();
    void attentionAndPredictionsAreEqual();
    void masksAndSweepsAreEqual();
    void compensationsAreEqual();
    void exportsAndStoredTensorsAreEqual();
    void errorsNameTextsOfThisMachine();
    void aJobIsCancelledInHalfASecond();
    void aJobThatIsCutOffIsRepeated();
    void aServerThatIsGoneIsSaid();
    void aModelIsOpenedThroughSsh();
    void theManualListsAllJobs();
};

void TestRemote::messagesComeOutOfAnyPieces() {
    const Message call{.kind = MessageKind::call, .id = 7, .job = "measure", .body = std::string(100'000, '\1')};
    const Message progress{.kind = MessageKind::progress, .id = 7, .text = "layer 3 \xff", .fraction = 0.25};
    const std::string bytes = encoded(call) + encoded(progress);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
        MessageReader reader;
        std::vector<Message> found;
        for (std::size_t begin = 0; begin < bytes.size(); begin += piece) {
            reader.add(std::string_view(bytes).substr(begin, piece));
            while (auto message = reader.next())
                found.push_back(*message);
        }
        QCOMPARE(found.size(), 2U);
        QCOMPARE(found[0].job, call.job);
        QVERIFY(found[0].body == call.body);
        QCOMPARE(found[1].fraction, 0.25);
        QCOMPARE(found[1].text, std::string("layer 3 \xef\xbf\xbd"));
    }
}

void TestRemote::aMillionBrokenMessagesAreRefused() {
    const std::vector<std::string> sound{
        encoded({.kind = MessageKind::hello, .text = "0.1.0", .subject = "host", .version = 1}),
        encoded({.kind = MessageKind::call, .id = 3, .job = "measure", .body = "abcdefgh"}),
        encoded({.kind = MessageKind::progress, .id = 3, .text = "layer 2", .fraction = 0.5}),
        encoded({.kind = MessageKind::failed, .id = 3, .text = "is missing", .subject = "a", .hint = "b"})};
    std::mt19937 random(1);
    int whole = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        std::string bytes = sound[static_cast<std::size_t>(i) % sound.size()];
        mutate(bytes, random);
        MessageReader reader;
        QVERIFY(isRefusedOrRead([&] {
            reader.add(bytes);
            while (reader.next())
                ++whole;
        }));
    }
    QVERIFY(whole > 1000); // some survive
}

void TestRemote::aMillionBrokenArgumentsAreRefused() {
    const Both both;
    const ModelSpec& spec = both.own->spec();
    const EvaluationText text = both.services.readText(*both.own, textAt(both.text()), {});
    const AskedTask asked =
        both.services.readTask(*both.own, {.path = both.folder.write("q.jsonl", test::smallQuestions())}, {});
    const FarPlan plan{maskOf(*both.own), ComputeType::float32};
    const std::vector<KnownLosses> known{{plan.mask, {{1, 15, 0, 0}}}};
    const PruneRequest prune{parseStrategyRequest("flap"), {12.5, true}, "none", 3, plan.mask, 64};
    const std::map<std::string_view, std::string> sound{
        {"plan", wireBytes(plan)},
        {"run_speed", wireBytes(plan)},
        {"evaluate", wireBytes(text.scored, ComputeType::float32, std::int64_t{4096}, 4.0, false, plan.mask, known)},
        {"ask_task", wireBytes(plan, asked)},
        {"continue_prompt", wireBytes(plan, PromptRequest{"the sand"})},
        {"attention_layer",
         wireBytes(plan.mask, std::vector<int>{1, 2, 3}, AttentionRules(), 1, std::optional<int>(1))},
        {"prediction_basis", wireBytes(text, PredictionRules())},
        {"measure",
         wireBytes(parseMetricRequests("gate_norm,sink_head:key=1"), MeasureChoice{"words.txt", 64, plan.mask})},
        {"prune", wireBytes(prune, MeasureChoice(), std::vector<StepPrice>(2))},
        {"export", wireBytes(FarExport{"masked", {{plan.mask, "m", "", "", MaskProvenance()}, "/x"}})},
        {"sweep", wireBytes(SweepRequest{{{parseStrategyRequest("gate_norm"), {{1, false}}}}}, FarSweepInputs(),
                            FarSweepKnown())},
        {"tensor", wireBytes(0, WeightName::query, std::int64_t{0}, std::int64_t{4})},
        {"keep_files", wireBytes(CopiedFiles{"a", true, {{"b/c", "text"}}})},
        {"grid_numbers", wireBytes(GridName{"p", 1, TensorPlane::values, {}}, std::int64_t{0}, std::int64_t{5})}};
    for (const auto& [job, bytes] : sound) {
        WireReader reader(bytes, &spec);
        findRemoteJob(job)->read(reader); // throws nothing
    }
    std::mt19937 random(2);
    for (int i = 0; i < 1'000'000;)
        for (const auto& [job, bytes] : sound) {
            std::string broken = bytes.size() > 4000 ? bytes.substr(bytes.size() - 4000) : bytes;
            if (i % 64 == 0)
                broken = bytes; // whole ones are slower
            mutate(broken, random);
            QVERIFY(isRefusedOrRead([&] {
                WireReader reader(broken, &spec);
                findRemoteJob(job)->read(reader);
            }));
            ++i;
        }
}

void TestRemote::aMillionBrokenResultsAreRefused() {
    const Both both;
    const ModelSpec& spec = both.own->spec();
    const auto metrics = both.services.measure(*both.own, parseMetricRequests("gate_norm,gate_norm_head"), {}, {}, {});
    OpenedFacts opened{both.own->card(), {{0, WeightName::query, "q"}}, "cpu"};
    MaskEvaluation evaluation;
    evaluation.run.windows.resize(3);
    const std::vector<std::string> sound{
        wireBytes(metrics),
        wireBytes(opened),
        wireBytes(evaluation),
        wireBytes(PruneResult{.mask = maskOf(*both.own), .metric = metrics[0]}),
        wireBytes(TensorBytes{6, {2, 2}, std::string(16, '\0')}),
        wireBytes(SweepNews{.results = metrics,
                            .masks = {{"a", "b", {maskOf(*both.own), "", "", "", MaskProvenance()}}},
                            .curves = Curves()}),
        wireBytes(LayerAttention{AttentionMap{{0, 1}, 2, 1, {1, 0, 1, 1}}, {{{0, 0}, 1, {1}}}})};
    std::mt19937 random(3);
    for (int i = 0; i < 1'000'000; ++i) {
        const std::size_t kind = static_cast<std::size_t>(i) % sound.size();
        std::string broken = sound[kind];
        mutate(broken, random);
        QVERIFY(isRefusedOrRead([&] {
            switch (kind) {
            case 0:
                return static_cast<void>(checked(fromWire<std::vector<MetricResult>>(broken, &spec), spec));
            case 1:
                return static_cast<void>(fromWire<OpenedFacts>(broken));
            case 2:
                return static_cast<void>(fromWire<MaskEvaluation>(broken, &spec));
            case 3:
                return static_cast<void>(fromWire<PruneResult>(broken, &spec));
            case 4:
                return static_cast<void>(fromWire<TensorBytes>(broken));
            case 5:
                return static_cast<void>(fromWire<SweepNews>(broken, &spec));
            default:
                return static_cast<void>(fromWire<LayerAttention>(broken));
            }
        }));
    }
}

void TestRemote::addressesAreRead() {
    const RemoteAddress plain = addressOf("ssh://host/path/to model");
    QCOMPARE(plain.path, std::string("/path/to model"));
    QCOMPARE(plain.place, std::string("host"));
    QCOMPARE(plain.command.back(), std::string("secateur-cli serve"));
    QCOMPARE(plain.command[plain.command.size() - 2], std::string("host"));
    const RemoteAddress full = addressOf("ssh://me@host.net:2222/~/models/a.gguf");
    QCOMPARE(full.path, std::string("~/models/a.gguf"));
    QCOMPARE(full.place, std::string("host.net"));
    QVERIFY(std::ranges::find(full.command, "2222") != full.command.end());
    const Scratch folder;
    for (const char* wrong : {"ssh://", "ssh://host", "ssh://host/", "ssh://-oProxyCommand=x/a", "ssh://a b/c",
                              "ssh://host:x/a", "ssh://$(x)/a", "ssh://u@-x/a", "ssh://;x/a"})
        QVERIFY2(folder.refusal([&] { addressOf(wrong); }) != "accepted", wrong);
}

void TestRemote::wrongServersAreNamed() {
    const Scratch folder;
    const std::string path = test::writeSmallModel(folder).toStdString();
    const auto refusal = [&](const std::string& command) {
        return folder.refusal([&] { withServers(windowServices(), command).openModel(servedPath(path), {}); });
    };
    const QString ended = refusal("echo no such host >&2; exit 255");
    QVERIFY2(ended.contains("no such host"), qPrintable(ended));
    const QString other = refusal("yes");
    QVERIFY2(other.contains("does not start `secateur-cli serve`"), qPrintable(other));
    const std::string old = folder.write(
        "old", QByteArray::fromStdString(greetingWith({.kind = MessageKind::hello, .text = "0.0.9", .version = 9})));
    const QString version = refusal("cat " + old + "; sleep 5");
    QVERIFY2(version.contains("The server has Secateur 0.0.9 (messages 9)"), qPrintable(version));
    const std::string noise = folder.write("noise", QByteArray(serverGreeting.data()) + QByteArray(64, '\xee'));
    const QString broken = refusal("cat " + noise + "; sleep 5");
    QVERIFY2(broken.contains("A message states"), qPrintable(broken));
    const QString missing = folder.refusal(
        [&] { withServers(windowServices(), test::serverCommand()).openModel(servedPath("/nowhere/model"), {}); });
    QVERIFY2(missing.contains("/nowhere/model"), qPrintable(missing));
    const Services greeted =
        withServers(windowServices(), "echo Welcome; echo 'to this host'; exec " + test::serverCommand());
    QVERIFY(greeted.openModel(servedPath(path), {})); // a login may print something
}

void TestRemote::theCardAndTheWeightsAreEqual() {
    const Both both;
    QVERIFY(both.far->spec() == both.own->spec());
    QCOMPARE(both.far->fingerprint(), both.own->fingerprint());
    QCOMPARE(both.far->card().parameters, both.own->card().parameters);
    QCOMPARE(both.far->card().path, servedPath(both.path));
    int weights = 0;
    for (int layer = -1; layer < both.own->spec().layerCount(); ++layer)
        for (std::size_t i = 0; i < weightNameCount; ++i) {
            const auto name = static_cast<WeightName>(i);
            if (isOfLayer(name) != (layer >= 0))
                continue;
            QCOMPARE(both.far->has(layer, name), both.own->has(layer, name));
            if (!both.own->has(layer, name))
                continue;
            ++weights;
            QCOMPARE(both.far->place(layer, name), both.own->place(layer, name));
            QVERIFY(at::equal(both.far->tensor(layer, name), both.own->tensor(layer, name)));
        }
    QVERIFY(weights > 10);
    const std::vector<std::int64_t> rows{3, 0, 3};
    QVERIFY(
        at::equal(both.far->rows(-1, WeightName::embedding, rows), both.own->rows(-1, WeightName::embedding, rows)));
}

void TestRemote::tokensAndTextsAreEqual() {
    const Both both;
    const std::string path = both.text();
    const auto texts = [&](const Model& model) {
        return bits(both.services.readText(model, textAt(path), {})) +
               bits(both.services.readSequences(model, path, 300, {})) +
               bits(both.services.readPrompt(model, "the sand"));
    };
    QVERIFY(texts(*both.far) == texts(*both.own));
}

void TestRemote::metricsAreEqual() {
    const Both both;
    const auto requests = parseMetricRequests("weights,sink_head,attention_ratio,gnorm,ablation_head");
    MeasureChoice choice{both.text(), 128, maskOf(*both.own)};
    int layers = 0;
    const auto seen = [&layers](const LayerCells&) { ++layers; };
    const auto far = both.services.measure(*both.far, requests, choice, {}, seen);
    QVERIFY(layers > 0);
    QCOMPARE(far.size(), requests.size());
    QCOMPARE(far[requests.size() - 1].data->source, choice.text); // not the name of the copy
    QVERIFY(bits(far) == bits(both.services.measure(*both.own, requests, choice, {}, {})));
    GradientChangeRequest change{PruningMask(both.own->spec()), maskOf(*both.own)};
    QVERIFY(bits(both.services.gradientChange(*both.far, change, choice, {})) ==
            bits(both.services.gradientChange(*both.own, change, choice, {})));
}

void TestRemote::evaluationsAreEqual() {
    const Both both;
    TextRequest request = textAt(both.text());
    request.rules.window = 16;
    const auto evaluator = [&](const Model& model) {
        return TextEvaluator(model, both.services.readText(model, request, {}).scored,
                             {.streamBudget = 1 << 26, .batchTokens = 64});
    };
    TextEvaluator far = evaluator(*both.far);
    TextEvaluator own = evaluator(*both.own);
    QCOMPARE(far.type(), own.type());
    const PruningMask mask = maskOf(*both.own);
    int parts = 0;
    const MaskEvaluation found = far.evaluate(mask, [&parts](const MaskEvaluation&) { ++parts; });
    QVERIFY(parts > 0);
    QVERIFY(found.isComplete());
    QCOMPARE(found.run.lossNats, own.evaluate(mask).run.lossNats);
    QVERIFY(bits(timeless(found)) == bits(timeless(own.evaluate(mask))));
    QVERIFY(far.known(mask).has_value());
    QVERIFY(far.expectedSeconds(mask) == 0);
    const RunSpeed speed = runSpeed(*both.far, *both.far->runner().plan(mask));
    QVERIFY(speed.secondsPerOperation > 0);
}

void TestRemote::tasksAndPromptsAreEqual() {
    const Both both;
    const std::string path = both.folder.write("words.jsonl", test::smallQuestions());
    const auto answers = [&](const Model& model) {
        const AskedTask asked = both.services.readTask(model, {.path = path}, {});
        const auto plan = model.runner().plan(maskOf(model));
        const auto tokenizer = both.services.openTokenizer(model);
        return bits(askTask(model, *plan, *tokenizer, asked)) +
               bits(continuePrompt(model, *plan, *tokenizer, {.text = "the sand", .newTokens = 6}));
    };
    QVERIFY(answers(*both.far) == answers(*both.own));
    const auto plan = both.far->runner().plan(maskOf(*both.far));
    const Latency latency =
        generationLatency(*both.far, {*plan}, {.promptTokens = 3, .newTokens = 4, .warmup = 1, .runs = 3});
    QCOMPARE(latency.run.seconds.size(), 3U);
}

void TestRemote::attentionAndPredictionsAreEqual() {
    const Both both;
    const std::vector<int> ids = both.services.readPrompt(*both.own, "the sand a tin hotel").ids;
    const AttentionReader far(both.far, PruningMask(both.own->spec()), ids);
    const AttentionReader own(both.own, PruningMask(both.own->spec()), ids);
    QVERIFY(bits(far.layer(1, 2)) == bits(own.layer(1, 2)));
    const MapWindow window{1, 3, 0, 4, 1};
    QVERIFY(bits(far.part({1, 2}, window)) == bits(own.part({1, 2}, window)));
    TextRequest request = textAt(both.text());
    const PredictionRules rules{128, 16, 4};
    const auto basis = [&](const Model& model) {
        PredictionBasis found = *predictionBasis(model, both.services.readText(model, request, {}), rules, {});
        found.created.clear();
        return bits(found);
    };
    QVERIFY(basis(*both.far) == basis(*both.own));
}

void TestRemote::masksAndSweepsAreEqual() {
    const Both both;
    const MeasureChoice choice{both.text(), 128, {}};
    int steps = 0;
    const PruneWatch watch{.made = [&steps](const PruneStep&) { ++steps; }};
    for (const char* strategy : {"gate_norm", "flap", "loss_greedy", "search"}) {
        const PruneRequest request{parseStrategyRequest(strategy), {20, true, BudgetOf::parameters}, "none", 0, {}, 64};
        const PruneResult far = both.services.prune(*both.far, request, choice, watch, {});
        const PruneResult own = both.services.prune(*both.own, request, choice, {}, {});
        QVERIFY2(far.mask == own.mask && far.textDigest == own.textDigest, strategy);
        QVERIFY2(!far.mask.keepsAll(), strategy);
    }
    QVERIFY(steps > 0);

    SweepSetup setup;
    setup.strategies = {"gate_norm", "flap"};
    setup.budgets = "params:10%,params:30%";
    setup.text = setup.score = both.text();
    setup.tokens = setup.scoreTokens = 128;
    const auto swept = [&](const Model& model) {
        const SweepInputs inputs = both.services.readSweep(model, setup, {});
        const SweepRequest request = requestOf(setup, "none");
        const SweepPlan plan = planSweep(model, request, inputs, {});
        Session session;
        Curves curves = runSweep(model, request, inputs, {}, plan, costOf(model, request, inputs, plan),
                                 [&](const SweepNews& news) {
                                     if (news.curves)
                                         add(session.curves, *news.curves);
                                 });
        for (Curve& curve : curves.curves)
            for (CurvePoint& point : curve.points)
                point.choosingSeconds = point.scoringSeconds = 0;
        curves.dense.choosingSeconds = curves.dense.scoringSeconds = 0;
        return bits(curves) + bits(session.curves.size());
    };
    QVERIFY(swept(*both.far) == swept(*both.own));
}

void TestRemote::compensationsAreEqual() {
    const Both both;
    const SequenceText text = both.services.readSequences(*both.own, both.text(), 256, {});
    const auto fitted = [&](const Model& model, CompensationMode mode) {
        return fitCompensation(model, maskOf(model), mode, {text.set.sequences}, {});
    };
    for (const auto mode : {CompensationMode::bias, CompensationMode::weights, CompensationMode::none}) {
        const FittedMask own = fitted(*both.own, mode);
        const FittedMask far = fitted(*both.far, mode);
        QVERIFY(far.mask == own.mask);
        QVERIFY(far.parts == own.parts);
        QCOMPARE(own.parts.empty(), mode == CompensationMode::none);
    }
}

void TestRemote::exportsAndStoredTensorsAreEqual() {
    const Both both;
    const auto& target = *std::ranges::find(both.services.exportTargets, "masked", &ExportTarget::as);
    const auto bytesOf = [&](const Model& model, const QString& name) {
        ExportRequest request{{maskOf(model), model.card().name, model.fingerprint(), "", {}},
                              both.folder.path(name).toStdString()};
        const ExportSize size = both.services.exportSize(model, target, request);
        const ExportResult result = both.services.exportModel(model, target, request, {});
        QFile file(both.folder.path(name + "/model.safetensors"));
        return bits(size) + (file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : "") +
               std::to_string(result.files.size());
    };
    const std::string far = bytesOf(*both.far, "far");
    QVERIFY(far.size() > 10'000);
    QVERIFY(far == bytesOf(*both.own, "own"));

    const auto own = both.services.storedTensors(both.path, {});
    const auto stored = both.services.storedTensors(servedPath(both.path), {});
    QVERIFY(bits(stored->tensors()) == bits(own->tensors()));
    const auto numbers = [](const StoredTensors& tensors) {
        const auto grid = tensors.grid(2);
        std::vector<float> values(static_cast<std::size_t>(grid->count()));
        grid->read(0, values);
        return bits(values) + bits(tensors.number(2, 0, 0));
    };
    QVERIFY(numbers(*stored) == numbers(*own));
}

void TestRemote::errorsNameTextsOfThisMachine() {
    const Both both;
    const std::string empty = both.folder.write("blank.txt", "   \n");
    const QString refused = both.folder.refusal([&] {
        both.services.measure(*both.far, parseMetricRequests("sink_head"), {empty, 64, {}}, {}, {});
    });
    QVERIFY2(refused.startsWith("blank.txt"), qPrintable(refused));
    const QString training = both.folder.refusal([&] { both.services.openAdapter(both.far, "x"); });
    QVERIFY2(training.contains("lies on a server"), qPrintable(training));
}

void TestRemote::aJobIsCancelledInHalfASecond() {
    const Both both;
    std::stop_source stop;
    QElapsedTimer since;
    const Progress progress(
        [&](double, std::string_view) {
            if (!stop.stop_requested()) {
                since.start();
                stop.request_stop();
            }
        },
        stop.get_token());
    const PruneRequest request{parseStrategyRequest("loss_greedy"), {50, true}, "none", 0, {}, 64};
    bool isCancelled = false;
    try {
        both.services.prune(*both.far, request, {both.text(), 4096, {}}, {}, progress);
    } catch (const Cancelled&) {
        isCancelled = true;
    }
    QVERIFY(isCancelled);
    QVERIFY2(since.elapsed() < 500, qPrintable(QString::number(since.elapsed())));
}

void TestRemote::aJobThatIsCutOffIsRepeated() {
    const Scratch pids;
    const QString pidFile = pids.path("pid");
    const Both both("echo $$ > " + pidFile.toStdString() + "; exec " + test::serverCommand());
    const auto endServer = [&] {
        QFile file(pidFile);
        if (file.open(QIODevice::ReadOnly))
            kill(file.readAll().trimmed().toInt(), SIGKILL);
    };
    bool isCut = false;
    const PruneWatch watch{.made = [&](const PruneStep&) {
        if (!std::exchange(isCut, true))
            endServer();
    }};
    const PruneRequest request{parseStrategyRequest("search"), {30, true, BudgetOf::parameters}, "none", 0, {}, 64};
    const MeasureChoice choice{both.text(), 256, {}};
    const PruneResult far = both.services.prune(*both.far, request, choice, watch, {});
    QVERIFY(isCut);
    QVERIFY(far.mask == both.services.prune(*both.own, request, choice, {}, {}).mask);
    QCOMPARE(both.model().status().connections, 2);
    QVERIFY(both.model().status().isConnected);

    endServer(); // while nothing runs
    const auto requests = parseMetricRequests("gate_norm");
    QVERIFY(bits(both.services.measure(*both.far, requests, {}, {}, {})) ==
            bits(both.services.measure(*both.own, requests, {}, {}, {})));
}

void TestRemote::aServerThatIsGoneIsSaid() {
    const Scratch folder;
    const std::string once = folder.path("once").toStdString();
    const Both both("if [ -e " + once + " ]; then echo the host is down >&2; exit 1; fi; echo $$ > " + once +
                    "; exec " + test::serverCommand());
    QFile file(QString::fromStdString(once));
    QVERIFY(file.open(QIODevice::ReadOnly));
    kill(file.readAll().trimmed().toInt(), SIGKILL);
    const QString refused =
        both.folder.refusal([&] { both.services.measure(*both.far, parseMetricRequests("gate_norm"), {}, {}, {}); });
    QVERIFY2(refused.contains("the host is down"), qPrintable(refused));
    QVERIFY(!both.model().status().isConnected);
}

namespace {

/// An sshd with keys and a port of its own, on the loopback.
struct LoopbackSshd {
    Scratch folder;
    QProcess process;
    int port = 0;

    static QString program() { return QStandardPaths::findExecutable("sshd", {"/usr/sbin", "/usr/local/sbin"}); }

    bool start() {
        const auto key = [this](const QString& name) {
            return QProcess::execute("ssh-keygen", {"-q", "-t", "ed25519", "-N", "", "-f", folder.path(name)}) == 0;
        };
        if (!key("host") || !key("user"))
            return false;
        QFile::copy(folder.path("user.pub"), folder.path("authorized"));
        port = 20000 + static_cast<int>(QCoreApplication::applicationPid() % 20000);
        const QString user = qEnvironmentVariable("USER", "root");
        folder.write("config",
                     QString("Port %1\nListenAddress 127.0.0.1\nHostKey %2\nAuthorizedKeysFile %3\nPidFile none\n"
                             "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
                             "SetEnv PATH=%4:/usr/bin:/bin\n")
                         .arg(port)
                         .arg(folder.path("host"), folder.path("authorized"), QFileInfo(SECATEUR_CLI).absolutePath())
                         .toUtf8());
        QDir().mkpath("/run/sshd");
        process.start(program(), {"-D", "-e", "-f", folder.path("config")});
        if (!process.waitForStarted())
            return false;
        return QTest::qWaitFor([this] {
                   process.waitForReadyRead(50);
                   return process.readAllStandardError().contains("Server listening") ||
                          process.state() == QProcess::NotRunning;
               }) &&
               process.state() == QProcess::Running;
    }
    /// A program that takes the place of ssh, with the keys of this sshd.
    QString client() const {
        const std::string path = folder.write(
            "ssh", "#!/bin/sh\nexec ssh -F none -i " + folder.path("user").toUtf8() +
                       " -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR"
                       " -o UserKnownHostsFile=" +
                       folder.path("known").toUtf8() + " \"$@\"\n");
        QFile::setPermissions(QString::fromStdString(path), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        return QString::fromStdString(path);
    }
    ~LoopbackSshd() {
        process.terminate();
        process.waitForFinished(3000);
    }
};

} // namespace

void TestRemote::aModelIsOpenedThroughSsh() {
    if (LoopbackSshd::program().isEmpty() || QStandardPaths::findExecutable("ssh").isEmpty())
        QSKIP("there is no sshd");
    LoopbackSshd sshd;
    if (!sshd.start())
        QSKIP("sshd does not start here");
    qputenv("SECATEUR_SSH", sshd.client().toUtf8());
    const Scratch folder;
    const std::string path = test::writeSmallModel(folder).toStdString();
    const Services services = withServers(windowServices());
    const std::string address = "ssh://127.0.0.1:" + std::to_string(sshd.port) + path;
    const auto far = services.openModel(address, {});
    qunsetenv("SECATEUR_SSH");
    const auto own = services.openModel(path, {});
    QCOMPARE(far->card().path, address);
    QCOMPARE(farModel(*far)->status().place, std::string("127.0.0.1"));
    const MeasureChoice choice{folder.write("words.txt", test::smallText()), 128, {}};
    const auto requests = parseMetricRequests("weights,sink_head");
    QVERIFY(bits(services.measure(*far, requests, choice, {}, {})) ==
            bits(services.measure(*own, requests, choice, {}, {})));
}

void TestRemote::theManualListsAllJobs() {
    QFile file(SECATEUR_SOURCE_DIR "/resources/manual/formats.md");
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY2(file.readAll().contains(QByteArray::fromStdString(remoteJobTable())), remoteJobTable().c_str());
}

SECATEUR_SUITE(TestRemote)
#include "tst_remote.moc"
