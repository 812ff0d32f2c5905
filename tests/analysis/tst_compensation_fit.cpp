// The equations of compensations against numpy (tests/data/make_projection_fit.py), and fits of whole models against
// transformers and numpy (tests/data/make_compensation.py).
#ifndef Q_MOC_RUN
#include "analysis/compensation/fit_compensation.h"
#include "analysis/compensation/layer_fit.h"
#include "analysis/compensation/projection_fit.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/projection_weight.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/search_steps.h"
#include "tests/support/gradient_case.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

using namespace secateur;
using test::GradientCase;

namespace {

at::Tensor tensorOf(const QJsonValue& numbers) {
    std::vector<double> values;
    for (const auto& number : numbers.toArray())
        values.push_back(number.toDouble());
    return at::tensor(values, at::kDouble);
}

/// The largest difference, relative to the largest number.
double apart(const at::Tensor& found, const at::Tensor& expected) {
    return ((found - expected).abs().max() / expected.abs().max()).item<double>();
}

/// A case of the fixture.
struct Equations {
    QJsonObject object;
    at::Tensor weight;
    FitSums sums;
    std::int64_t unitColumns;
    double mu;

    Equations(const QJsonObject& file, const QJsonObject& own)
        : object(own)
        , unitColumns(own["unit_columns"].toInt())
        , mu(own["mu"].toDouble()) {
        const std::int64_t tokens = file["tokens"].toInt();
        const std::int64_t hidden = file["hidden"].toInt();
        const at::Tensor a = tensorOf(own["a"]).reshape({tokens, -1});
        const at::Tensor y = tensorOf(own["y"]).reshape({tokens, hidden});
        weight = tensorOf(own["weight"]).reshape({hidden, -1});
        const at::Tensor weights =
            own["token_weights"].toArray().isEmpty() ? at::Tensor() : tensorOf(own["token_weights"]);
        sums = FitSums(a.size(1), hidden);
        for (std::int64_t first = 0; first < tokens; first += 20) // sums are additive
            sums.add(a.narrow(0, first, 20), y.narrow(0, first, 20),
                     weights.defined() ? weights.narrow(0, first, 20) : weights);
    }

    FittedProjection fitted(CompensationMode mode) const {
        return fittedProjection(mode, sums, weight, unitColumns, mu);
    }
    double penalised(const FittedProjection& fit) const {
        const double ridge = mu * sums.gram.diagonal().mean().item<double>();
        return squaredError(sums, fit) + ridge * (fit.weight - weight).square().sum().item<double>();
    }
};

std::vector<Equations> equations() {
    QFile file(test::data().filePath("projection_fit.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no projection_fit.json");
    const QJsonObject all = QJsonDocument::fromJson(file.readAll()).object();
    std::vector<Equations> cases;
    for (const auto& one : all["cases"].toArray())
        cases.emplace_back(all, one.toObject());
    return cases;
}

FittedMask fitted(const GradientCase& c, const PruningMask& mask, CompensationMode mode) {
    return fitCompensation(*c.model, mask, mode, {c.sequences, 4096, ComputeType::float32}, {});
}

/// The stream behind the last layer, tokens of all sequences. [tokens, hidden] float64
at::Tensor lastStream(const GradientCase& c, const PruningMask& mask) {
    const Runner& runner = c.model->runner();
    const auto plan = runner.plan(mask, ComputeType::float32);
    std::vector<at::Tensor> rows;
    for (const Batch& batch : paddedBatches(*c.model, c.sequences, 1).batches) { // a sequence each, without padding
        at::Tensor x = runner.embed(*plan, batch);
        for (int layer = 0; layer < mask.layerCount(); ++layer)
            x = runner.runLayer(*plan, layer, x, batch);
        rows.push_back(x.reshape({-1, c.model->spec().hidden}).to(at::kCPU, at::kDouble));
    }
    return at::cat(rows);
}

QJsonObject wholeFits() {
    QFile file(test::data().filePath("compensation.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no compensation.json");
    return QJsonDocument::fromJson(file.readAll()).object();
}

at::Tensor floats(const std::vector<float>& values) {
    return at::tensor(values, at::kFloat).to(at::kDouble);
}

/// A model of the fixture, with its mask and its text.
struct WholeFit {
    QJsonObject object;
    std::shared_ptr<const Model> model;
    std::vector<TokenSequence> sequences;
    PruningMask mask;

    explicit WholeFit(const QString& folder)
        : object(wholeFits()[folder].toObject())
        , model(openModel(test::data().filePath("forward/" + folder + "/model.safetensors").toStdString(), {},
                          test::onDevice({})))
        , mask(model->spec()) {
        for (const auto& ids : object["sequences"].toArray())
            sequences.push_back(test::sequenceOf(ids.toArray()));
        const QJsonObject cut = object["cut"].toObject();
        for (const auto& head : cut["heads"].toArray())
            setHeads(mask, std::array{HeadId{head[0].toInt(), head[1].toInt()}}, false);
        for (const auto& neuron : cut["neurons"].toArray())
            setNeurons(mask, 0, std::array{neuron.toInt()}, false);
    }

    FittedMask fitted(const std::string& mode) const {
        const auto info = std::ranges::find(compensationModes(), mode, &CompensationModeInfo::name);
        return fitCompensation(*model, mask, info->mode, {sequences, 4096, ComputeType::float32}, {});
    }

    /// The largest difference of a projection's weights, factors and biases from the fixture.
    double worst(const PruningMask& found, const FittedPart& part, const QJsonObject& expected) const {
        const LayerMask& layer = found.layer(part.layer);
        const LayerCompensation own = compensationOf(layer);
        const Projection which = part.isAttention ? Projection::output : Projection::down;
        const std::vector<float>& bias = part.isAttention ? own.attentionBias : own.mlpBias;
        double largest = 0;
        if (!expected["bias"].isNull())
            largest = std::max(largest, apart(floats(bias), tensorOf(expected["bias"])));
        if (!expected["factors"].isNull()) {
            const std::vector<bool>& marks = part.isAttention ? layer.heads : layer.neurons;
            const at::Tensor factors = floats(part.isAttention ? own.headScale : own.neuronScale);
            const at::Tensor kept = at::tensor(std::vector<std::int64_t>(marks.begin(), marks.end()), at::kLong);
            largest = std::max(largest, apart(factors.masked_select(kept > 0), tensorOf(expected["factors"])));
        }
        if (!expected["weight"].isNull()) {
            const WeightName name = part.isAttention ? WeightName::output : WeightName::down;
            const at::Tensor weight = projectionWeight(*model, part.layer, name, own)
                                          .to(at::kDouble)
                                          .index_select(1, keptColumns(model->spec(), part.layer, layer, which));
            largest = std::max(largest, apart(weight.flatten(), tensorOf(expected["weight"])));
        }
        return largest;
    }
};

} // namespace

class TestCompensationFit : public QObject {
    Q_OBJECT

private slots:
    void equationsAreThoseOfNumpy() {
        for (const Equations& c : equations()) {
            const QJsonObject modes = c.object["modes"].toObject();
            QVERIFY(std::abs(squaredError(c.sums, {{}, {}, c.weight}) / c.object["error_without"].toDouble() - 1) <
                    1e-10);
            for (const auto& [mode, name] :
                 {std::pair(CompensationMode::bias, "bias"), std::pair(CompensationMode::scale, "scale"),
                  std::pair(CompensationMode::both, "both"), std::pair(CompensationMode::weights, "weights")}) {
                const QJsonObject expected = modes[name].toObject();
                const FittedProjection fit = c.fitted(mode);
                double worst = std::abs(squaredError(c.sums, fit) / expected["error"].toDouble() - 1);
                if (expected.contains("factors"))
                    worst = std::max(worst, apart(fit.factors, tensorOf(expected["factors"])));
                if (expected.contains("bias"))
                    worst = std::max(worst, apart(fit.bias, tensorOf(expected["bias"])));
                if (expected.contains("weight"))
                    worst = std::max(worst, apart(fit.weight.flatten(), tensorOf(expected["weight"])));
                qInfo("%s: %.1e", name, worst);
                QVERIFY(worst < 1e-9);
            }
        }
    }

    void weightsAreAtMostAsWrongAsFactors() {
        for (const Equations& c : equations())
            QVERIFY(c.penalised(c.fitted(CompensationMode::weights)) <=
                    c.penalised(c.fitted(CompensationMode::scale)) * (1 + 1e-12));
    }

    void theBiasOfALastMlpIsThatOfFlap() {
        const GradientCase c("llama-gqa");
        const std::string protect = c.model->spec().layerCount() == 2 ? "0" : "0,1";
        PruneInputs inputs;
        inputs.text = CalibrationText{.sequences = c.sequences, .labels = c.labels, .type = ComputeType::float32};
        const PruneResult flap = prune(
            *c.model, {parseStrategyRequest("flap:components=mlp"), parseBudget("5"), protect, 0, {}}, inputs, {});
        const PruningMask found = fitted(c, flap.mask, CompensationMode::bias).mask;
        const int last = flap.mask.layerCount() - 1;
        const std::vector<float>& expected = compensationOf(flap.mask.layer(last)).mlpBias;
        const std::vector<float>& own = compensationOf(found.layer(last)).mlpBias;
        QVERIFY(!expected.empty());
        QCOMPARE(own.size(), expected.size());
        for (std::size_t i = 0; i < own.size(); ++i)
            QVERIFY(std::abs(own[i] - expected[i]) < 1e-5);
    }

    void fitsOfWholeModelsAreThoseOfNumpy_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("mode");
        const QJsonObject cases = wholeFits();
        for (const QString& folder : cases.keys())
            for (const QString& mode : cases[folder].toObject()["modes"].toObject().keys())
                QTest::addRow("%s %s", qPrintable(folder), qPrintable(mode)) << folder << mode;
    }
    void fitsOfWholeModelsAreThoseOfNumpy() {
        QFETCH(QString, folder);
        QFETCH(QString, mode);
        const WholeFit c(folder);
        const FittedMask found = c.fitted(mode.toStdString());
        const QJsonArray parts = c.object["modes"].toObject()[mode].toArray();
        QCOMPARE(std::ssize(found.parts), parts.size());
        double worst = 0;
        double worstError = 0;
        for (std::size_t i = 0; i < found.parts.size(); ++i) {
            const QJsonObject expected = parts[static_cast<qsizetype>(i)].toObject();
            const FittedPart& part = found.parts[i];
            QCOMPARE(part.layer, expected["layer"].toInt());
            QCOMPARE(part.isAttention, expected["attention"].toBool());
            QCOMPARE(part.mu, expected["mu"].toDouble()); // null of the mode bias is 0
            worstError = std::max({worstError, std::abs(part.errorBefore / expected["error_before"].toDouble() - 1),
                                   std::abs(part.errorAfter / expected["error_after"].toDouble() - 1)});
            worst = std::max(worst, c.worst(found.mask, part, expected));
        }
        qInfo("weights, factors and biases %.1e, errors %.1e", worst, worstError);
        QVERIFY(worst < 5e-6 && worstError < 5e-6);
    }

    void fitsReduceTheErrorOfEveryProjection_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-gqa", "llama-mha", "gpt2", "qwen3", "gemma3", "bert"})
            QTest::newRow(folder) << folder;
    }
    void fitsReduceTheErrorOfEveryProjection() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        PruningMask mask(c.model->spec());
        setHeads(mask, std::vector<HeadId>{{0, 0}}, false);
        setNeurons(mask, 0, std::vector<int>{0, 1, 2}, false);
        for (const CompensationMode mode :
             {CompensationMode::scale, CompensationMode::both, CompensationMode::weights}) {
            const FittedMask fit = fitted(c, mask, mode);
            QCOMPARE(fit.parts.size(), std::size_t{2}); // the sublayers with cuts
            QVERIFY(fit.mask.isCompensated());
            QVERIFY(withoutCompensation(fit.mask) == mask);
            QVERIFY(fitted(c, fit.mask, mode).mask == fit.mask); // an earlier compensation is replaced
            for (const FittedPart& part : fit.parts)
                QVERIFY(std::isfinite(part.errorAfter) && part.mu > 0);
        }
        QVERIFY(fitted(c, mask, CompensationMode::none).mask == mask);
        QVERIFY(fitted(c, mask, CompensationMode::own).mask == mask);
    }

    void aBypassIsFittedToTheWholeAttention_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"llama-gqa", "gpt2"}) // gpt2 has a bias, which alpha multiplies
            QTest::newRow(folder) << folder;
    }
    void aBypassIsFittedToTheWholeAttention() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        PruningMask whole(c.model->spec());
        setNeurons(whole, 0, std::vector<int>{0, 1, 2}, false); // so that the inputs are not those of the dense model
        const int last = whole.layerCount() - 1;
        setMlp(whole, last, false);
        PruningMask bypassed = whole;
        bypassAttention(bypassed, last, 0.5);
        const PruningMask expected = fitted(c, whole, CompensationMode::bias).mask;
        const PruningMask found = fitted(c, bypassed, CompensationMode::bias).mask;
        PruningMask plain = found;
        plain.setLayer(last, bypassed.layer(last));
        const at::Tensor stream = lastStream(c, expected).mean(0);
        const double before = apart(lastStream(c, plain).mean(0), stream);
        const double after = apart(lastStream(c, found).mean(0), stream);
        qInfo("mean stream: %.1e before, %.1e after", before, after);
        QVERIFY(before > 1e-3 && after < 1e-5);
    }

    void theAlphaOfASearchLeavesTheLeastError_data() { aBypassIsFittedToTheWholeAttention_data(); }
    void theAlphaOfASearchLeavesTheLeastError() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        PruningMask mask(c.model->spec());
        const int last = mask.layerCount() - 1;
        setMlp(mask, last, false);
        const auto plan = c.model->runner().plan(mask, ComputeType::float32);
        LayerFits fits(*c.model, *plan, c.sequences, 4096, 1 << 20);
        SearchSteps steps(*c.model, fits, {.kinds = {StepKind::bypass}, .restores = false, .protection = {}});
        const auto step = steps.next(mask, last, StepKind::bypass, {});
        QVERIFY(step);
        const double alpha = step->layer(last).alpha;
        const at::Tensor whole = lastStream(c, mask);
        const auto errorAt = [&](double factor) {
            PruningMask bypassed = mask;
            bypassAttention(bypassed, last, factor);
            return (lastStream(c, bypassed) - whole).square().sum().item<double>();
        };
        qInfo("alpha %.4f", alpha);
        QVERIFY(alpha > 0.01 && alpha < 1.99);
        QVERIFY(errorAt(alpha) < errorAt(alpha - 0.002) && errorAt(alpha) < errorAt(alpha + 0.002));
    }

    void onlySublayersThatKeepUnitsAreFitted() {
        const GradientCase c("llama-gqa");
        const ModelSpec& spec = c.model->spec();
        PruningMask mask(spec);
        QVERIFY(!canCompensate(spec, mask));
        QVERIFY(fitted(c, mask, CompensationMode::weights).mask == mask);
        setMlp(mask, 0, false);
        setBlock(mask, 1, false);
        QVERIFY(!canCompensate(spec, mask));
        const FittedMask fit = fitted(c, mask, CompensationMode::weights);
        QVERIFY(fit.mask == mask && fit.parts.empty());
        QCOMPARE(compensationPasses(spec, mask, CompensationMode::weights, 100), 0.0);
        setHeads(mask, std::vector<HeadId>{{0, 1}}, false);
        QVERIFY(canCompensate(spec, mask));
        QCOMPARE(fitted(c, mask, CompensationMode::weights).parts.size(), std::size_t{1});
        QVERIFY(compensationPasses(spec, mask, CompensationMode::weights, 100) > 0);
    }
};

SECATEUR_SUITE(TestCompensationFit)
#include "tst_compensation_fit.moc"
