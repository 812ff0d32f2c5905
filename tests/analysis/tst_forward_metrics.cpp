// Forward metrics against values that numpy computed from activations of transformers, and identities that the metrics
// obey.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/model/kernels.h"
#include "backends/kernels/machine_kernels.h"
#include "backends/kernels/vector_loops.h"
#include "tests/support/engine_case.h"
#include "tests/support/suite.h"
#endif

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

using namespace secateur;

namespace {

constexpr double tolerance = 1e-4; ///< relative to the largest value of a metric

QJsonObject judged() {
    QFile file(test::data().filePath("forward_metrics.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no forward_metrics.json");
    return QJsonDocument::fromJson(file.readAll()).object();
}

std::vector<TokenSequence> sequencesOf(const QJsonObject& judgedModel) {
    std::vector<TokenSequence> sequences;
    for (const auto& ids : judgedModel["sequences"].toArray()) {
        TokenSequence sequence;
        for (const auto& id : ids.toArray())
            sequence.ids.push_back(id.toInt());
        sequence.types.assign(sequence.ids.size(), 0);
        sequences.push_back(std::move(sequence));
    }
    return sequences;
}

struct Case {
    QString folder;
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;
    QJsonObject metrics;
    std::vector<TokenSequence> sequences;

    explicit Case(const QString& name, bool plain = false, std::int64_t budget = 0)
        : folder(name)
        , model(openModel(test::data().filePath("forward/" + name + "/model.safetensors").toStdString(), {},
                          test::onDevice({.memoryBudget = budget, .plain = plain})))
        , plan(model->runner().plan(PruningMask(model->spec()), ComputeType::float32)) {
        const QJsonObject own = judged()[name].toObject();
        metrics = own["metrics"].toObject();
        sequences = sequencesOf(own);
    }

    std::vector<MetricResult> measure(const std::string& requests, std::int64_t batchTokens = 4096) const {
        return measureForward(*model, {*plan, sequences, batchTokens}, parseMetricRequests(requests), {});
    }
    MetricResult one(const std::string& request) const { return measure(request).front(); }
};

std::string allRequests(const QJsonObject& metrics) {
    return metrics.keys().join(',').toStdString();
}

/// The largest difference of two cells, relative to the largest value; infinite if a cell has a value in only one of
/// the two tables.
double apart(const Matrix& found, const QJsonArray& expected) {
    double worst = 0;
    double scale = 0;
    if (static_cast<qsizetype>(found.rows()) != expected.size())
        return std::numeric_limits<double>::infinity();
    for (std::size_t row = 0; row < found.rows(); ++row) {
        const QJsonArray cells = expected[static_cast<qsizetype>(row)].toArray();
        if (static_cast<qsizetype>(found.columns()) != cells.size())
            return std::numeric_limits<double>::infinity();
        for (std::size_t column = 0; column < found.columns(); ++column) {
            const double wanted = cells[static_cast<qsizetype>(column)].toDouble();
            const double difference = std::abs(found(row, column) - wanted);
            worst = std::max(worst, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
            scale = std::max(scale, std::abs(wanted));
        }
    }
    return scale > 0 ? worst / scale : worst;
}

double apart(const MetricResult& found, const QJsonValue& expected) {
    if (!found.lengths.empty()) {
        double worst = 0;
        for (std::size_t i = 0; i < found.lengths.size(); ++i)
            worst =
                std::max(worst, apart(found.overLengths[i], expected.toArray()[static_cast<qsizetype>(i)].toArray()));
        return worst;
    }
    if (found.features.empty())
        return apart(found.values, expected.toArray());
    double worst = apart(found.values, expected.toObject()["class"].toArray());
    for (const MetricFeature& feature : found.features)
        if (feature.name != "margin")
            worst = std::max(
                worst, apart(feature.values, expected.toObject()[QString::fromStdString(feature.name)].toArray()));
    return worst;
}

double apart(const Matrix& a, const Matrix& b) {
    double worst = 0;
    double scale = 0;
    for (std::size_t i = 0; i < a.values().size(); ++i) {
        const double x = a.values()[i];
        const double y = b.values()[i];
        if (std::isnan(x) != std::isnan(y))
            return std::numeric_limits<double>::infinity();
        if (!std::isnan(x)) {
            worst = std::max(worst, std::abs(x - y));
            scale = std::max(scale, std::abs(y));
        }
    }
    return scale > 0 ? worst / scale : worst;
}

double apart(const std::vector<MetricResult>& a, const std::vector<MetricResult>& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        worst = std::max(worst, apart(a[i].values, b[i].values));
        for (std::size_t j = 0; j < a[i].features.size(); ++j)
            worst = std::max(worst, apart(a[i].features[j].values, b[i].features[j].values));
        for (std::size_t j = 0; j < a[i].overLengths.size(); ++j)
            worst = std::max(worst, apart(a[i].overLengths[j], b[i].overLengths[j]));
    }
    return worst;
}

void addModels() {
    QTest::addColumn<QString>("folder");
    QTest::addColumn<bool>("plain");
    for (const QString& folder : judged().keys())
        for (const bool plain : {false, true})
            QTest::addRow("%s%s", qPrintable(folder), plain ? " plain" : "") << folder << plain;
}

Case fetched(std::int64_t budget = 0) {
    QFETCH(QString, folder);
    QFETCH(bool, plain);
    return Case(folder, plain, budget);
}

} // namespace

class TestForwardMetrics : public QObject {
    Q_OBJECT

private slots:
    void valuesAreTheJudges_data() { addModels(); }
    void valuesAreTheJudges() {
        const Case c = fetched();
        std::map<std::string, double> worst;
        for (const MetricResult& result : c.measure(allRequests(c.metrics))) {
            const std::string id = result.request.resultId();
            const double error = apart(result, c.metrics[QString::fromStdString(id)]);
            QVERIFY2(error < tolerance, qPrintable(QString("%1: %2").arg(id.c_str()).arg(error)));
            double& own = worst[std::string(result.request.info->id)];
            own = std::max(own, error);
        }
        QString line;
        for (const auto& [id, error] : worst)
            line += QString(" %1 %2").arg(id.c_str()).arg(error, 0, 'e', 1);
        qInfo("%s", qPrintable(line));
        QCOMPARE(worst.size(), forwardMetricCount());
    }

    void paddingAndBatchesChangeNothing_data() { addModels(); }
    void paddingAndBatchesChangeNothing() {
        const Case c = fetched();
        const std::string requests = allRequests(c.metrics);
        const auto together = c.measure(requests);
        const double alone = apart(c.measure(requests, 1), together);
        const double pairs = apart(c.measure(requests, 30), together);
        qInfo("one by one %.1e, in twos %.1e", alone, pairs);
        QVERIFY(alone < 1e-5);
        QVERIFY(pairs < 1e-5);
    }

    void layerByLayerIsBatchByBatch_data() { addModels(); }
    void layerByLayerIsBatchByBatch() {
        const Case resident = fetched();
        const Case read = fetched(1);
        QVERIFY(resident.plan->isResident());
        QVERIFY(!read.plan->isResident());
        const std::string requests = allRequests(resident.metrics);
        QVERIFY(apart(read.measure(requests, 20), resident.measure(requests, 20)) < 1e-9);
    }

    void sinksOfAllKeysSumToOne_data() { addModels(); }
    // Law 5 of resources/manual/accuracy.md: the sink scores of a head, computed for every key position, add up to 1.
    void sinksOfAllKeysSumToOne() {
        Case c = fetched();
        c.sequences.resize(1);
        std::string requests;
        for (std::size_t key = 0; key < c.sequences.front().ids.size(); ++key)
            requests += (key > 0 ? "," : "") + std::string("sink_head:key=") + std::to_string(key);
        Matrix sums;
        for (const MetricResult& result : c.measure(requests)) {
            if (sums.empty())
                sums = Matrix(result.values.rows(), result.values.columns(), 0);
            for (std::size_t i = 0; i < sums.values().size(); ++i)
                sums.values()[i] += result.values.values()[i];
        }
        for (const double sum : sums.values())
            QVERIFY(std::abs(sum - 1) < 1e-5);
    }

    void entropyVariantsAreOrdered_data() { addModels(); }
    // Law 13 of resources/manual/accuracy.md: B <= A and C >= B for the entropy variants A, B and C.
    void entropyVariantsAreOrdered() {
        const Case c = fetched();
        const auto found = c.measure("attention_entropy:variant=A,attention_entropy:epsilon=0.001:variant=B,"
                                     "attention_entropy:epsilon=0.001:variant=C");
        for (std::size_t i = 0; i < found[0].values.values().size(); ++i) {
            const auto value = [&](std::size_t variant) { return found[variant].values.values()[i]; };
            QVERIFY(value(1) <= value(0) + 1e-6);
            QVERIFY(value(2) >= value(1) - 1e-6);
        }
    }

    void everyProcessorGivesTheSame_data() { addModels(); }
    void everyProcessorGivesTheSame() {
        const Case c = fetched();
        const std::string requests = allRequests(c.metrics);
        const auto best = c.measure(requests);
        // From the slowest to the fastest instruction set. The last one that this processor has remains selected.
        for (const char* instructionSet : {"generic", "v3", "v4"})
            if (useVectorLoops(instructionSet))
                QVERIFY2(apart(c.measure(requests), best) < 1e-5, instructionSet);
    }

    void sumsOverTokensAreAtens_data() {
        QTest::addColumn<int>("width");
        for (const int width : {1, 7, 64, 100, 600})
            QTest::addRow("%d", width) << width;
    }
    void sumsOverTokensAreAtens() {
        QFETCH(int, width);
        const std::vector<int> lengths{13, 1, 200};
        const auto drawn = [&] { return at::randn({3, 200, width}); };
        const TokenKernels& plain = plainTokenKernels();
        const TokenKernels& fast = machineTokenKernels();
        const auto differs = [](const at::Tensor& a, const at::Tensor& b) {
            return a.sizes() != b.sizes() || (a - b).abs().max().item<double>() > 1e-6 * b.abs().max().item<double>();
        };
        const at::Tensor x = drawn();
        const at::Tensor a = drawn();
        const at::Tensor z = drawn();
        QVERIFY(!differs(fast.innerProducts(x, a, z), plain.innerProducts(x, a, z)));
        QVERIFY(!differs(fast.columnSums(x, lengths), plain.columnSums(x, lengths)));
        const at::Tensor halves = x.to(at::kBFloat16);
        QVERIFY(!differs(fast.columnSums(halves, lengths), plain.columnSums(halves, lengths)));
        at::Tensor factors = at::randn({3, 200, 2}, at::kDouble);
        factors[0].narrow(0, 13, 187).zero_();
        x[0][20].fill_(std::numeric_limits<float>::quiet_NaN()); // position 20 of row 0 is padding and must be ignored
        QVERIFY(!differs(fast.weightedSums(x, factors), plain.weightedSums(x, factors)));
        const at::Tensor context = at::randn({3, 200, 5, 12});
        const at::Tensor weights = at::randn({5, width, 12});
        QVERIFY(!differs(fast.contributions(context, weights), plain.contributions(context, weights)));
    }

    void whatIsCutHasNoValue_data() { addModels(); }
    void whatIsCutHasNoValue() {
        Case c = fetched();
        const std::string requests = allRequests(c.metrics);
        PruningMask mask(c.model->spec());
        LayerMask cut = mask.layer(1);
        cut.heads[1] = false;
        cut.neurons[3] = false;
        mask.setLayer(1, cut);
        c.plan = c.model->runner().plan(mask, ComputeType::float32);
        const bool isTied = mask.tiedTo(1).size() > 1;
        for (const MetricResult& result : c.measure(requests)) {
            const Scope scope = result.request.info->scope;
            const std::size_t cell = scope == Scope::head ? 1 : 3;
            const bool hasNone = scope != Scope::layer && std::isnan(result.values(1, cell));
            QVERIFY2(scope == Scope::layer || hasNone, result.request.resultId().c_str());
            for (std::size_t row = 0; row < result.values.rows(); ++row)
                for (std::size_t i = 0; i < result.values.columns(); ++i)
                    QVERIFY2((scope != Scope::layer && (row == 1 || isTied) && i == cell) ||
                                 std::isfinite(result.values(row, i)),
                             result.request.resultId().c_str());
        }
    }

    void droppedPartsHaveNoValue() {
        Case c("llama-gqa");
        PruningMask mask(c.model->spec());
        LayerMask cut = mask.layer(0);
        cut.attention = AttentionCut::drop;
        mask.setLayer(0, cut);
        cut = mask.layer(1);
        cut.mlp = false;
        mask.setLayer(1, cut);
        c.plan = c.model->runner().plan(mask, ComputeType::float32);
        const auto isNone = [&](const char* id, std::size_t layer) { return std::isnan(c.one(id).values(layer, 0)); };
        for (const char* id : {"attention_ratio", "attention_importance", "sink_head", "sink_layer", "amp_head",
                               "attention_pattern", "wanda_sp_head", "flap_head", "sink_cv:lengths=natural"})
            QVERIFY2(isNone(id, 0) && !isNone(id, 1), id);
        for (const char* id : {"mlp_importance", "amp_neuron", "wanda_sp_neuron", "flap_neuron"})
            QVERIFY2(!isNone(id, 0) && isNone(id, 1), id);
        for (const char* id : {"block_influence", "token_similarity", "token_spread"})
            QVERIFY2(!isNone(id, 0) && !isNone(id, 1), id);
    }

    // Law 3 of resources/manual/accuracy.md: the heads' contributions add up to the attention update. With all heads
    // but one cut, the update must therefore have the AMP score of the remaining head.
    void headsTogetherAreWhatAttentionAdds() {
        Case c("qwen3");
        const ModelSpec& spec = c.model->spec();
        const auto all = c.one("amp_head");
        for (int head = 0; head < spec.layers[0].heads; ++head) {
            PruningMask mask(spec);
            LayerMask cut = mask.layer(0);
            cut.heads.assign(cut.heads.size(), false);
            cut.heads[static_cast<std::size_t>(head)] = true;
            mask.setLayer(0, cut);
            const auto plan = c.model->runner().plan(mask, ComputeType::float32);
            double sum = 0; // the mean |attention update| over the tokens of each sequence, averaged over the sequences
            for (const TokenSequence& sequence : c.sequences)
                sum += meanMagnitude(c, *plan, sequence) / static_cast<double>(c.sequences.size());
            QVERIFY(std::abs(sum / all.values(0, static_cast<std::size_t>(head)) - 1) < 1e-5);
        }
    }

    // Law 10 of resources/manual/accuracy.md: attention that adds (nearly) nothing has an importance of 0, and a block
    // that changes nothing has an influence of 0.
    void identitiesHaveNoInfluence() {
        Case c("llama-gqa");
        PruningMask mask(c.model->spec());
        LayerMask cut = mask.layer(1);
        cut.attention = AttentionCut::bypassQk;
        // An alpha of exactly 0 would drop the attention, and metrics have no value for dropped attention.
        cut.alpha = 1e-30;
        cut.mlp = false;
        mask.setLayer(1, cut);
        c.plan = c.model->runner().plan(mask, ComputeType::float32);
        QVERIFY(std::abs(c.one("attention_importance").values(1, 0)) < 1e-12);
        QVERIFY(std::abs(c.one("block_influence").values(1, 0)) < 1e-12);
        QVERIFY(std::abs(c.one("attention_ratio").values(1, 0)) < 1e-12);
    }

    void aStoppedRunKeepsItsBatches() {
        Case c("llama-gqa");
        std::stop_source stop;
        int layers = 0;
        const LayerSink sink = [&](const LayerCells& cells) {
            layers += 1;
            if (cells.layer == 1)
                stop.request_stop();
        };
        const auto found = measureForward(*c.model, {*c.plan, c.sequences, 1}, parseMetricRequests("amp_head"),
                                          Progress({}, stop.get_token()), sink);
        QVERIFY(!found[0].isWhole);
        QCOMPARE(found[0].data->tokens, std::int64_t{15});
        QCOMPARE(found[0].data->allTokens, std::int64_t{40});
        QCOMPARE(found[0].data->sequences, std::int64_t{1});
        QVERIFY(found[0].warnings.back().find("15 of 40 tokens") != std::string::npos);
        c.sequences.resize(1);
        QVERIFY(apart(found[0].values, c.one("amp_head").values) < 1e-12);
        QCOMPARE(layers, 2);
        QVERIFY_EXCEPTION_THROWN(measureForward(*c.model, {*c.plan, c.sequences, 1}, parseMetricRequests("amp_head"),
                                                Progress({}, stop.get_token())),
                                 Cancelled);
    }

    void aStoppedRunKeepsItsLayers() {
        Case c("llama-gqa", false, 1);
        std::stop_source stop;
        const LayerSink sink = [&](const LayerCells&) { stop.request_stop(); };
        const auto found = measureForward(*c.model, {*c.plan, c.sequences, 20}, parseMetricRequests("amp_head"),
                                          Progress({}, stop.get_token()), sink);
        QVERIFY(!found[0].isWhole);
        QVERIFY(std::isfinite(found[0].values(0, 0)));
        QVERIFY(std::isnan(found[0].values(1, 0)));
        QCOMPARE(found[0].data->tokens, std::int64_t{40});
        QVERIFY(found[0].warnings.back().find("1 of 2 layers") != std::string::npos);
    }

    void optionsThatMakeNoSenseAreRefused_data() {
        QTest::addColumn<QString>("request");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* request, const char* part) { QTest::newRow(request) << request << part; };
        row("attention_entropy:variant=D", "A, B or C");
        row("attention_entropy:epsilon=0", "epsilon=0");
        row("sink_head:lengths=64/32", "lengths=64/32");
        row("sink_head:lengths=a", "lengths=a");
        row("sink_head:lengths=natural", "natural");
        row("attention_pattern:sink=2", "sink=2");
        row("attention_pattern:first_query=-1", "first_query=-1");
    }
    void optionsThatMakeNoSenseAreRefused() {
        QFETCH(QString, request);
        QFETCH(QString, part);
        try {
            parseMetricRequests(request.toStdString());
            QFAIL("was taken");
        } catch (const secateur::Error& error) {
            QVERIFY2(QString::fromStdString(error.message()).contains(part), error.what());
        }
    }

    void encodersHaveNoPrefixes() {
        const Case c("bert");
        bool isRefused = false;
        try {
            c.one("sink_head:lengths=4/8");
        } catch (const secateur::Error& error) {
            isRefused = QString::fromStdString(error.message()).contains("encoder");
        }
        QVERIFY(isRefused);
        const MetricResult variation = c.one("sink_cv");
        QVERIFY(apart(variation.values, c.one("sink_cv:lengths=natural").values) < 1e-15);
        QCOMPARE(variation.warnings.size(), std::size_t{1});
    }

    void windowsAreWarnedOf() {
        const Case c("gemma3");
        QVERIFY(c.one("sink_head").warnings.front().find("2 of 3 layers") != std::string::npos);
        QVERIFY(c.one("sink_head:visible_only=true").warnings.empty());
        QVERIFY(Case("llama-gqa").one("sink_head").warnings.empty());
    }

private:
    static std::size_t forwardMetricCount() {
        const auto all = allMetrics();
        return static_cast<std::size_t>(
            std::ranges::count(all, Needs::forward, [](const MetricInfo* info) { return info->needs; }));
    }

    class UpdateKeeper : public LayerObserver {
    public:
        bool wants(int layer, Tap tap) const override { return layer == 0 && tap == Tap::attentionOutput; }
        void see(int, Tap, const at::Tensor& values) override { update = values.clone(); }
        at::Tensor update;
    };

    static double meanMagnitude(const Case& c, const Plan& plan, const TokenSequence& sequence) {
        Batch batch{1, static_cast<int>(sequence.ids.size()), sequence.ids, {}, {}, {}};
        UpdateKeeper keeper;
        c.model->runner().runLayer(plan, 0, c.model->runner().embed(plan, batch), batch, nullptr, &keeper);
        return keeper.update.abs().sum(-1).mean().item<double>();
    }
};

SECATEUR_SUITE(TestForwardMetrics)
#include "tst_forward_metrics.moc"
