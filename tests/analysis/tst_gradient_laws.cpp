// Identities that gradient metrics obey whatever the weights are (the laws in resources/manual/accuracy.md).
#ifndef Q_MOC_RUN
#include "analysis/metrics/gate_gradients.h"
#include "analysis/metrics/gradient_sums.h"
#include "tests/support/counting_model.h"
#include "tests/support/files.h"
#include "tests/support/gradient_case.h"
#include "tests/support/partial_runs.h"
#include "tests/support/suite.h"

#include <ATen/ATen.h>
#endif

#include <QtTest>

#include <array>
#include <cmath>

using namespace secateur;
using test::GradientCase;

namespace {

using test::apart;

const std::string metrics = "gnorm,gnorm_q,gnorm_k,gnorm_v,head_mask_gradient,head_mask_gradient:abs=token,"
                            "head_mask_gradient:tis_abs=true,head_gate_gradient,head_fisher:passes=2,"
                            "gnorm:code_compat_batch=2";

void addModels(const QStringList& folders = test::judgedGradients().keys()) {
    QTest::addColumn<QString>("folder");
    for (const QString& folder : folders)
        QTest::addRow("%s", qPrintable(folder)) << folder;
}

/// The largest difference between corresponding results of two lists; infinite if the lists differ in length.
double apart(const std::vector<MetricResult>& a, const std::vector<MetricResult>& b) {
    double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        worst = std::max(worst, apart(a[i].values, b[i].values));
    return worst;
}

/// The largest absolute difference of two elements, relative to the largest absolute element of `b`.
double apart(const at::Tensor& a, const at::Tensor& b) {
    return ((a.cpu() - b.cpu()).abs().max() / b.abs().max().cpu()).item<double>();
}

/// The gradients of the loss on a case's sequences with respect to the chosen taps (activations) of every layer.
struct Pulled {
    PaddedBatches batches;
    GradientScalars scalars;
    std::vector<LayerGradients> layers;

    Pulled(const GradientCase& c, std::vector<Tap> taps)
        : batches(paddedBatches(c.sequences, 4096))
        , scalars(*c.model, c.sequences, c.labels)
        , layers(c.model->spec().layers.size()) {
        BackwardSteps steps;
        steps.scalars = [&](std::size_t batch) {
            return std::vector{scalars.scalar({}, batches.batches[batch], batches.sequences[batch])};
        };
        steps.taps = [&](int, std::size_t) { return taps; };
        steps.pulled = [&](const LayerBackward& pulled) {
            layers[static_cast<std::size_t>(pulled.layer)] = pulled.gradients;
        };
        walkBackward(*c.model, *c.plan, batches.batches, steps, {}, {});
    }
};

/// <W, dF/dW> for each sequence and head. `weights` has the shape [heads, headDim, hidden].
at::Tensor innerByHead(const at::Tensor& weights, const at::Tensor& gradients) {
    return (weights.unsqueeze(0).to(gradients.device()) * gradients).sum({2, 3}, false, at::kDouble);
}

} // namespace

class TestGradientLaws : public QObject {
    Q_OBJECT

private slots:
    /// Law 8 of resources/manual/accuracy.md: <c, dF/dc> for the context vectors c, and the same inner product for the
    /// attention map, W_v and W_o, all give the gradient of the head's gate. Checked for each sequence and head.
    void fourWaysToAHeadsGateAgree_data() { addModels({"llama-mha", "llama-gqa", "qwen3", "gemma3"}); }
    void fourWaysToAHeadsGateAgree() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        const ModelSpec& spec = c.model->spec();
        const Pulled pulled(c, {Tap::attentionInput, Tap::value, Tap::attention, Tap::context, Tap::attentionOutput});
        double worst = 0;
        for (int layer = 0; layer < spec.layerCount(); ++layer) {
            const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
            const auto& taps = pulled.layers[static_cast<std::size_t>(layer)].taps;
            const at::Tensor gates = tokenGates(taps.at(Tap::context)).sum(1);
            const auto& [a, dA] = taps.at(Tap::attention);
            worst = std::max(worst, apart((a * dA).sum({2, 3}, false, at::kDouble), gates));
            const at::Tensor value = c.model->tensor(layer, WeightName::value).to(at::kFloat);
            std::vector<std::int64_t> groups;
            for (int head = 0; head < own.heads; ++head)
                groups.push_back(own.kvGroup(head));
            const at::Tensor values = value.view({own.kvHeads, own.headDim, -1}).index_select(0, at::tensor(groups));
            worst = std::max(worst, apart(innerByHead(values, projectionGradients(taps.at(Tap::value).gradient,
                                                                                  taps.at(Tap::attentionInput).value)),
                                          gates));
            const at::Tensor output = c.model->tensor(layer, WeightName::output).to(at::kFloat); // [hidden, heads * headDim]
            const at::Tensor written =
                projectionGradients(taps.at(Tap::context).value, taps.at(Tap::attentionOutput).gradient);
            worst =
                std::max(worst, apart(innerByHead(output.t().reshape({own.heads, own.headDim, -1}), written), gates));
        }
        qInfo("%s %.1e", qPrintable(folder), worst);
        QVERIFY(worst < 1e-5);
    }

    /// Laws 9 and 14 of resources/manual/accuracy.md: neither the batch in which a sequence runs nor its padding
    /// changes a metric.
    void batchesAndPaddingChangeNothing_data() { addModels(); }
    void batchesAndPaddingChangeNothing() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        const std::string ofRows = metrics.substr(0, metrics.rfind(','));
        const double error = apart(c.measure(ofRows), c.measure(ofRows, 1));
        qInfo("%s %.1e", qPrintable(folder), error);
        QVERIFY(error < 1e-5);
    }

    void ofATextWithOneRowPerBatchTheCodeIsThePaper() {
        const GradientCase c("bert");
        const auto both = c.measure("gnorm,gnorm:code_compat_batch=1");
        QVERIFY(apart(both[0].values, both[1].values) < 1e-5);
    }

    void layersThatRememberChangeNothing_data() { addModels(); }
    void layersThatRememberChangeNothing() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        test::CountingModel model(c.model);
        const auto measured = [&](std::int64_t graphBytes) {
            model.counted.forget();
            return measureGradient(
                model,
                {.plan = *c.plan, .sequences = c.sequences, .labels = c.labels, .memory = {.graphBytes = graphBytes}},
                parseMetricRequests(metrics), {});
        };
        const auto again = measured(0);
        QCOMPARE(model.counted.recorded, 0);
        const auto all = measured(std::int64_t{1} << 30);
        const int most = model.counted.recorded;
        QCOMPARE(most, static_cast<int>(model.counted.layers.size()));
        const Batch batch = paddedBatches(c.sequences, 4096).batches.front();
        const auto some =
            measured(model.runner().recordedBytes(0, batch, std::array{Tap::key, Tap::value, Tap::context}) * 3 / 2);
        QVERIFY(model.counted.recorded > 0 && model.counted.recorded < most);
        const double error = std::max(apart(all, again), apart(some, again));
        qInfo("%s %.1e", qPrintable(folder), error);
        // Both ways give the same gradients except for rounding: layers whose activations were recorded round
        // differently from layers that are computed again in the backward pass.
        QVERIFY(error < 5e-5);
    }

    void weightsThatDoNotStayChangeNothing_data() { addModels(); }
    void weightsThatDoNotStayChangeNothing() {
        QFETCH(QString, folder);
        const GradientCase resident(folder);
        const GradientCase passing(folder, false, 1);
        QVERIFY(!passing.plan->isResident());
        const auto measured = [](const GradientCase& c, std::int64_t bytes) {
            return measureGradient(*c.model,
                                   {.plan = *c.plan,
                                    .sequences = c.sequences,
                                    .labels = c.labels,
                                    .batchTokens = 16,
                                    .memory = {.bytes = bytes, .graphBytes = 0}},
                                   parseMetricRequests(metrics), {});
        };
        for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{1} << 30})
            QVERIFY(apart(measured(passing, bytes), measured(resident, bytes)) < 1e-6);
    }

    void streamsMayWaitInHalf() {
        const GradientCase c("llama-gqa");
        const auto found = measureGradient(
            *c.model,
            {.plan = *c.plan, .sequences = c.sequences, .memory = {.type = ComputeType::bfloat16, .graphBytes = 0}},
            parseMetricRequests("gnorm_v"), {});
        const double error = apart(found.front().values, c.one("gnorm_v").values);
        qInfo("%.1e", error);
        QVERIFY(error > 1e-6 && error < 0.03);
    }

    void bothFormsOfNormsAgree() {
        // The offset 5 is common to all tokens. It cancels in delta^T * input, because delta has mean 0 over the
        // tokens.
        const at::Tensor input = at::randn({3, 11, 29}) + 5;
        at::Tensor delta = at::randn({3, 11, 4, 6});
        delta = delta - delta.mean(1, true);
        const at::Tensor tokens = ProjectionNorms(input, NormForm::tokens).squares(delta);
        const at::Tensor matrix = ProjectionNorms(input, NormForm::matrix).squares(delta);
        const double error = apart(tokens, matrix);
        qInfo("%.1e", error);
        QVERIFY(error < 1e-5);
        QVERIFY(apart(squaredNorms(projectionGradients(delta, input)), matrix) < 1e-6);
    }

    /// In gemma3, a norm after the attention output makes the result independent of its scale. Scaling all heads of a
    /// layer together therefore has no effect, and their gate gradients add up to 0.
    void sandwichNormsHaveANullDirection() {
        const test::Scratch folder;
        const QString source = test::data().filePath("forward/gemma3/");
        QFile config(source + "config.json");
        QVERIFY(config.open(QIODevice::ReadOnly));
        QByteArray text = config.readAll();
        QVERIFY(text.contains("\"rms_norm_eps\": 0.04"));
        folder.write("config.json", text.replace("\"rms_norm_eps\": 0.04", "\"rms_norm_eps\": 1e-12"));
        QFile::copy(source + "model.safetensors", folder.path("model.safetensors"));
        GradientCase c("gemma3");
        c.model = openModel(folder.path("model.safetensors").toStdString(), {}, {});
        c.plan = c.model->runner().plan(PruningMask(c.model->spec()), ComputeType::float32);
        const MetricResult gates = c.one("head_gate_gradient");
        double worst = 0;
        for (std::size_t layer = 0; layer < gates.values.rows(); ++layer) {
            double sum = 0;
            double magnitude = 0;
            for (const double value : gates.values.row(layer)) {
                sum += value;
                magnitude += std::abs(value);
            }
            worst = std::max(worst, std::abs(sum) / magnitude);
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < 1e-5);
    }

    void whatAMaskCutsHasNoValue() {
        GradientCase c("llama-gqa");
        c.plan = c.model->runner().plan(c.cutMask(), ComputeType::float32);
        for (const MetricResult& result : c.measure(metrics))
            for (int layer = 0; layer < c.model->spec().layerCount(); ++layer)
                for (std::size_t head = 0; head < result.values.columns(); ++head)
                    QCOMPARE(std::isnan(result.values(static_cast<std::size_t>(layer), head)),
                             !c.plan->mask().layer(layer).heads[head]);
    }

    void alikeScalarsShareTheirPasses() {
        const GradientCase c("llama-gqa");
        test::CountingModel counting(c.model);
        const auto passes = [&](const std::string& requests) {
            counting.counted.forget();
            measureGradient(counting, {*c.plan, c.sequences}, parseMetricRequests(requests), {});
            return counting.counted.pulled / c.model->spec().layerCount();
        };
        QCOMPARE(passes("gnorm_q"), 1);
        QCOMPARE(passes("gnorm,gnorm_q,gnorm_k,gnorm_v,head_mask_gradient,head_gate_gradient"), 1);
        QCOMPARE(passes("gnorm,head_fisher"), 5);
        QCOMPARE(passes("gnorm,gnorm_q:scalarisation=logit_norm,head_fisher:passes=2,head_fisher:passes=3"), 5);
    }

    /// A stopped run returns the result for the batches that were finished, equal to a complete run over only those
    /// batches. With 16 tokens per batch that is the first sequence, of 15 tokens.
    void stoppedItGivesTheBatchesThatAreThrough() {
        const GradientCase c("llama-gqa");
        const auto requests = parseMetricRequests("gnorm,head_mask_gradient");
        std::stop_source stop;
        const LayerSink sink = [&](const LayerCells&) { stop.request_stop(); };
        const auto some = measureGradient(*c.model, {.plan = *c.plan, .sequences = c.sequences, .batchTokens = 16},
                                          requests, Progress({}, stop.get_token()), sink);
        QVERIFY(!some.front().isWhole);
        QCOMPARE(some.front().data->sequences, std::int64_t{1});
        QCOMPARE(some.front().data->tokens, std::int64_t{15});
        QCOMPARE(some.front().data->allTokens, std::int64_t{40});
        QCOMPARE(some.front().warnings.back(), std::string("stopped after 15 of 40 tokens"));
        const auto first = measureGradient(*c.model, {*c.plan, std::span(c.sequences).first(1)}, requests, {});
        QCOMPARE(apart(some, first), 0.0);
        std::stop_source early;
        early.request_stop();
        QVERIFY_THROWS_EXCEPTION(
            Cancelled, measureGradient(*c.model, {*c.plan, c.sequences}, requests, Progress({}, early.get_token())));
    }

    /// The gate gradients of blocks equal finite differences of the loss. The gate gradients of a layer's heads add up
    /// to the gate gradient of its attention.
    void gatesOfAllKindsAreDerivatives() {
        const GradientCase c("llama-mha");
        const Runner& runner = c.model->runner();
        const PaddedBatches batches = paddedBatches(c.sequences, 4096);
        const GradientScalars scalars(*c.model, c.sequences, c.labels);
        const BackwardScalar scalar = scalars.scalar({}, batches.batches[0], batches.sequences[0]);
        const Gates gates(c.model->spec(), c.plan->mask());
        Matrix found;
        gateGradients(
            *c.model, *c.plan, batches.batches, gates, [&](std::size_t) { return std::vector{scalar}; },
            [&](std::size_t, std::size_t, const Matrix& gradients) { found = gradients; }, {});
        const auto streams = test::streamsOf(runner, *c.plan, batches.batches[0]);
        const auto lossBehind = [&](int layer, at::Tensor x) {
            for (int next = layer + 1; next < c.model->spec().layerCount(); ++next)
                x = runner.runLayer(*c.plan, next, x, batches.batches[0]);
            return runner
                .lossGradient(*c.plan, x, batches.batches[0], Scalarisation::taskLoss, scalar.targets, scalar.weights)
                .values;
        };
        double worst = 0;
        for (std::size_t gate = 0; gate < gates.all().size(); ++gate) {
            const Gate& own = gates.all()[gate];
            if (own.of != Gate::Of::block)
                continue;
            const at::Tensor& x = streams[static_cast<std::size_t>(own.layer)];
            const at::Tensor& out = streams[static_cast<std::size_t>(own.layer) + 1];
            constexpr double step = 5e-3;
            const auto more = lossBehind(own.layer, out + step * (out - x));
            const auto less = lossBehind(own.layer, out - step * (out - x));
            for (std::size_t row = 0; row < found.rows(); ++row)
                worst = std::max(worst, std::abs((more[row] - less[row]) / (2 * step) - found(row, gate)));
            for (std::size_t row = 0; row < found.rows(); ++row) {
                double heads = 0;
                double attention = 0;
                for (std::size_t other = 0; other < gates.all().size(); ++other)
                    if (gates.all()[other].layer == own.layer) {
                        heads += gates.all()[other].of == Gate::Of::head ? found(row, other) : 0;
                        attention += gates.all()[other].of == Gate::Of::attention ? found(row, other) : 0;
                    }
                // Equal because the attention of this model has no output bias.
                worst = std::max(worst, std::abs(heads - attention));
            }
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < 1e-3);
        QCOMPARE(gates.all().size(), std::size_t(c.model->spec().layerCount() * (c.model->spec().maxHeads() + 3)));
    }

    void layersThatShareWeightsShareGatesAndValues() {
        const GradientCase c("albert");
        const Gates gates(c.model->spec(), c.plan->mask());
        for (const Gate& gate : gates.all())
            QCOMPARE(gate.layer, 0);
        const MetricResult result = c.one("gnorm");
        for (std::size_t layer = 1; layer < result.values.rows(); ++layer)
            for (std::size_t head = 0; head < result.values.columns(); ++head)
                QCOMPARE(result.values(layer, head), result.values(0, head));
    }
};

SECATEUR_SUITE(TestGradientLaws)
#include "tst_gradient_laws.moc"
