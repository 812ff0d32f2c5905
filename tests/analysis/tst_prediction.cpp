// Predicted losses of masked models: gradients and Fisher information against autograd, the scale that is learnt from
// measured losses, and the masks for which a prediction is refused.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/engine_case.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"

#include "analysis/metrics/gate_effects.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/prediction/prediction.h"
#include "analysis/base/usage_error.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/suite.h"
#endif

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>
#include <ctime>
#include <random>

using namespace secateur;

namespace {

QJsonObject judged() {
    QFile file(test::data().filePath("gate_effects.json"));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no gate_effects.json");
    return QJsonDocument::fromJson(file.readAll()).object();
}

/// A model, the sequences of its fixture, and the gradients and Fisher information that PyTorch's autograd computed on
/// them.
struct Case {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;
    QJsonArray units;
    QJsonObject expected;
    std::vector<TokenSequence> sequences;
    std::vector<int> labels;

    Case(const QString& folder, const char* part)
        : model(openModel(test::data().filePath("forward/" + folder + "/model.safetensors").toStdString(), {}, {}))
        , plan(model->runner().plan(PruningMask(model->spec()), ComputeType::float32))
        , units(judged()[folder].toObject()["units"].toArray())
        , expected(judged()[folder].toObject()[part].toObject()) {
        for (const auto& label : expected["labels"].toArray())
            labels.push_back(label.toInt());
        for (const auto& ids : expected["sequences"].toArray()) {
            TokenSequence& sequence = sequences.emplace_back();
            for (const auto& id : ids.toArray())
                sequence.ids.push_back(id.toInt());
            sequence.types.assign(sequence.ids.size(), 0);
        }
    }

    GateEffects effects(int passes, std::int64_t batchTokens = 4096) const {
        return gateEffects(*model, {*plan, sequences, labels, batchTokens}, passes, {});
    }

    /// For each unit of the fixture, its index in effects.gates.
    std::vector<std::size_t> numbers(const GateEffects& effects) const {
        const QStringList kinds{"head", "attention", "mlp", "block", "bypass"};
        std::vector<std::size_t> numbers;
        for (const auto& unit : units) {
            const Gate gate{static_cast<Gate::Of>(kinds.indexOf(unit[0].toString())), unit[1].toInt(), unit[2].toInt()};
            const auto found = std::ranges::find(effects.gates, gate);
            if (found == effects.gates.end())
                qFatal("no such gate");
            numbers.push_back(static_cast<std::size_t>(found - effects.gates.begin()));
        }
        return numbers;
    }
};

/// The largest difference between found and expected values, relative to the largest expected value.
struct Difference {
    double worst = 0;
    double scale = 0;
    void add(double found, double expected) {
        worst =
            std::isnan(found) ? std::numeric_limits<double>::infinity() : std::max(worst, std::abs(found - expected));
        scale = std::max(scale, std::abs(expected));
    }
    double relative() const { return worst / scale; }
};

double slopesApart(const Case& c, const GateEffects& effects) {
    const auto numbers = c.numbers(effects);
    const QJsonArray slopes = c.expected["slopes"].toArray();
    Difference difference;
    for (std::size_t u = 0; u < numbers.size(); ++u)
        difference.add(effects.slopes[numbers[u]], slopes[static_cast<qsizetype>(u)].toDouble());
    return difference.relative();
}

/// The root mean square, over all pairs of units u and v, of the error of F_uv divided by sqrt(F_uu F_vv).
double fisherApart(const Case& c, const GateEffects& effects) {
    const auto numbers = c.numbers(effects);
    const QJsonArray fisher = c.expected["fisher"].toArray();
    const auto wanted = [&](std::size_t u, std::size_t v) {
        return fisher[static_cast<qsizetype>(u)].toArray()[static_cast<qsizetype>(v)].toDouble();
    };
    double squares = 0;
    for (std::size_t u = 0; u < numbers.size(); ++u)
        for (std::size_t v = 0; v < numbers.size(); ++v) {
            const double error =
                (effects.fisher(numbers[u], numbers[v]) - wanted(u, v)) / std::sqrt(wanted(u, u) * wanted(v, v));
            squares += error * error;
        }
    return std::sqrt(squares) / static_cast<double>(numbers.size());
}

double neuronsApart(const Matrix& found, const QJsonArray& expected) {
    Difference difference;
    for (std::size_t layer = 0; layer < found.rows(); ++layer)
        for (std::size_t neuron = 0; neuron < found.columns(); ++neuron)
            difference.add(
                found(layer, neuron),
                expected[static_cast<qsizetype>(layer)].toArray()[static_cast<qsizetype>(neuron)].toDouble());
    return difference.relative();
}

void addModels() {
    QTest::addColumn<QString>("folder");
    for (const QString& folder : judged().keys())
        QTest::addRow("%s", qPrintable(folder)) << folder;
}

std::shared_ptr<const PredictionBasis> basisOf(GateEffects effects) {
    auto basis = std::make_shared<PredictionBasis>();
    basis->effects = std::move(effects);
    basis->source = "texts/é.txt";
    basis->digest = "sha256:beef";
    basis->sequenceLength = 128;
    basis->dtype = "float32";
    basis->device = "cpu";
    basis->created = "2026-11-21T10:00:00Z";
    return basis;
}

/// Random gradients and Fisher factors of every unit of a model, generated without running it.
GateEffects drawnEffects(const ModelSpec& spec, std::size_t samples) {
    GateEffects effects;
    const Gates gates(spec, PruningMask(spec));
    effects.gates.assign(gates.all().begin(), gates.all().end());
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        effects.gates.push_back({Gate::Of::bypass, layer});
    std::mt19937 random(5);
    std::normal_distribution<double> normal(0, 0.05);
    effects.factors = Matrix(samples, effects.gates.size());
    for (double& value : effects.factors.values())
        value = normal(random);
    for (std::size_t gate = 0; gate < effects.gates.size(); ++gate)
        effects.slopes.push_back(0.1 * normal(random));
    const auto neurons = static_cast<std::size_t>(
        std::ranges::max(spec.layers, {}, [](const LayerSpec& layer) { return layer.ffn; }).ffn);
    effects.neuronSlopes = Matrix(spec.layers.size(), neurons, 1e-5);
    effects.neuronFisher = Matrix(spec.layers.size(), neurons, 1e-4);
    effects.targets = 100;
    effects.passes = 4;
    return effects;
}

PruningMask withHeads(PruningMask mask, std::vector<HeadId> heads) {
    setHeads(mask, heads, false);
    return mask;
}

} // namespace

class TestPrediction : public QObject {
    Q_OBJECT

private slots:
    /// Each sequence has a single target, so the Fisher matrix F is computed exactly instead of with random signs.
    void effectsAreThoseOfAutograd_data() { addModels(); }
    void effectsAreThoseOfAutograd() {
        QFETCH(QString, folder);
        const Case c(folder, "pairs");
        const GateEffects effects = c.effects(1);
        const double slopes = slopesApart(c, effects);
        const double fisher = fisherApart(c, effects);
        const double neuronSlopes = neuronsApart(effects.neuronSlopes, c.expected["neuron_slopes"].toArray());
        const double neuronFisher = neuronsApart(effects.neuronFisher, c.expected["neuron_fisher"].toArray());
        qInfo("%s: slopes %.1e, F %.1e, neurons %.1e and %.1e", qPrintable(folder), slopes, fisher, neuronSlopes,
              neuronFisher);
        QVERIFY(slopes < 2e-5);
        QVERIFY(fisher < 2e-5);
        QVERIFY(neuronSlopes < 2e-5);
        QVERIFY(neuronFisher < 2e-5);
        QCOMPARE(effects.gates.size(), static_cast<std::size_t>(c.units.size()));
        QCOMPARE(effects.targets, static_cast<std::int64_t>(c.sequences.size()));
    }

    void randomSignsConverge_data() { addModels(); }
    void randomSignsConverge() {
        QFETCH(QString, folder);
        const Case c(folder, "texts");
        const GateEffects few = c.effects(4);
        const GateEffects many = c.effects(256);
        qInfo("%s: slopes %.1e, F of 4 passes %.3f, of 256 %.3f", qPrintable(folder), slopesApart(c, few),
              fisherApart(c, few), fisherApart(c, many));
        QVERIFY(slopesApart(c, few) < 2e-5);
        if (c.model->spec().family == Family::encoder) {
            QCOMPARE(few.passes, 0); // a class label is a single target, so F is exact and no random signs are needed
            QVERIFY(fisherApart(c, few) < 2e-5);
            return;
        }
        QVERIFY(fisherApart(c, few) < 0.6);
        // 256 passes are 64 times as many as 4, so the error must shrink from 0.6 to 0.6 / 8; 1.5 is a margin.
        QVERIFY(fisherApart(c, many) < 0.6 / 8 * 1.5);
    }

    void batchesChangeNothing() {
        const Case c("gemma3", "texts");
        const GateEffects together = c.effects(2);
        const GateEffects alone = c.effects(2, 1);
        Difference difference;
        for (std::size_t i = 0; i < together.factors.values().size(); ++i)
            difference.add(together.factors.values()[i], alone.factors.values()[i]);
        for (std::size_t i = 0; i < together.neuronFisher.values().size(); ++i)
            difference.add(together.neuronFisher.values()[i], alone.neuronFisher.values()[i]);
        QVERIFY(difference.relative() < 1e-5);
    }

    /// In gemma3, a norm after the attention output makes the gradients of a layer's heads add up to about 0. The
    /// prediction for cutting all heads must nevertheless equal the prediction for dropping the attention.
    void allHeadsOfALayerAreItsAttention() {
        const Case c("gemma3", "texts");
        const ModelSpec& spec = c.model->spec();
        Predictor predictor(spec, basisOf(c.effects(4)));
        for (int layer = 0; layer < spec.layerCount(); ++layer) {
            PruningMask dropped(spec);
            setAttention(dropped, layer, false);
            LayerMask own = PruningMask(spec).layer(layer);
            own.heads.assign(own.heads.size(), false);
            PruningMask headless(spec);
            headless.setLayer(layer, own);
            const Prediction whole = predictor.predict(dropped).value();
            const Prediction heads = predictor.predict(headless).value();
            QCOMPARE(heads.nats, whole.nats);
            QCOMPARE(heads.low, whole.low);
            QCOMPARE(heads.high, whole.high);
            double sum = 0;
            for (int head = 0; head < spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
                sum += predictor.raw(withHeads(PruningMask(spec), {{layer, head}})).nats;
            QVERIFY(std::abs(sum - predictor.raw(dropped).nats) > 1e-3 * std::abs(sum));
        }
    }

    void aBypassOfNothingIsADrop() {
        const Case c("llama-gqa", "texts");
        const ModelSpec& spec = c.model->spec();
        const Predictor predictor(spec, basisOf(c.effects(4)));
        PruningMask dropped(spec);
        setAttention(dropped, 0, false);
        const auto bypassed = [&](double alpha) {
            LayerMask own = PruningMask(spec).layer(0);
            own.attention = AttentionCut::bypassQk;
            own.alpha = alpha;
            PruningMask mask(spec);
            mask.setLayer(0, own);
            return predictor.raw(mask).nats;
        };
        QCOMPARE(bypassed(0), predictor.raw(dropped).nats);
        // The prediction is a quadratic function of alpha, so its third difference over equally spaced alphas is 0.
        const double third = bypassed(1.5) - 3 * bypassed(1) + 3 * bypassed(0.5) - bypassed(0);
        QVERIFY(std::abs(third) < 1e-9 * std::abs(bypassed(1.5)));
        QVERIFY(bypassed(1) != bypassed(0));
    }

    void whatIsNotKnownIsRefused() {
        const auto model = test::fixture("mha-f32");
        const ModelSpec& spec = model->spec();
        const Predictor predictor(spec, basisOf(drawnEffects(spec, 8)));
        PruningMask mask(spec);
        QCOMPARE(predictor.predict(mask).value().high, 0.0); // the empty mask
        LayerMask own = mask.layer(0);
        own.attention = AttentionCut::bypassQk;
        own.alpha = 0.5;
        mask.setLayer(0, own);
        QVERIFY(predictor.predict(mask).has_value());
        own.heads[0] = false;
        mask.setLayer(0, own);
        QCOMPARE(predictor.refusal(mask), std::string("layer 0 is bypassed and has cut heads"));
        QVERIFY(!predictor.predict(mask));
        const auto other = test::fixture("gqa-f32");
        PruningMask foreign(other->spec());
        setBlock(foreign, 0, false);
        QCOMPARE(predictor.refusal(foreign), std::string("the mask is for another model"));
        GateEffects infinite = drawnEffects(spec, 8);
        infinite.slopes.front() = std::numeric_limits<double>::infinity();
        const Predictor broken(spec, basisOf(std::move(infinite)));
        QCOMPARE(broken.refusal(withHeads(PruningMask(spec), {{0, 0}})), std::string("the estimate is not finite"));
        GateEffects lessGates = drawnEffects(spec, 8);
        std::erase_if(lessGates.gates, [](const Gate& gate) { return gate.of == Gate::Of::bypass; });
        QVERIFY_THROWS_EXCEPTION(Error, Predictor(spec, basisOf(std::move(lessGates))));
    }

    void encodersWithoutLabelsHaveNoLoss() {
        const Case c("bert", "texts");
        QVERIFY(!predictionRefusal(c.model->spec()).empty());
        QVERIFY_THROWS_EXCEPTION(UsageError, gateEffects(*c.model, {*c.plan, c.sequences}, 4, {}));
    }

    void measuredSinglesReplaceTheirEstimates() {
        const auto model = test::fixture("mha-f32");
        const ModelSpec& spec = model->spec();
        const GateEffects effects = drawnEffects(spec, 8);
        std::vector<double> singles(effects.gates.size(), std::numeric_limits<double>::quiet_NaN());
        singles[0] = 0.25; // measured increase of the loss, in nats, with head 0 of layer 0 cut
        const Predictor plain(spec, basisOf(effects));
        const Predictor told(spec, basisOf(effects), singles);
        const PruningMask first = withHeads(PruningMask(spec), {{0, 0}});
        const PruningMask both = withHeads(first, {{1, 1}});
        QVERIFY(std::abs(told.raw(first).nats - 0.25) < 1e-12);
        QVERIFY(std::abs(told.raw(both).nats - plain.raw(both).nats - (0.25 - plain.raw(first).nats)) < 1e-12);
    }

    void neuronsCountOneByOne() {
        const auto model = test::fixture("mha-f32");
        const ModelSpec& spec = model->spec();
        const Predictor predictor(spec, basisOf(drawnEffects(spec, 8)));
        PruningMask mask(spec);
        const std::vector<int> some{0, 2, 3};
        setNeurons(mask, 1, some, false);
        QVERIFY(std::abs(predictor.raw(mask).nats - 3 * (1e-4 / 2 - 1e-5)) < 1e-15);
        LayerMask own = mask.layer(1);
        own.neurons.assign(own.neurons.size(), false);
        mask.setLayer(1, own);
        PruningMask dropped(spec);
        setMlp(dropped, 1, false);
        QCOMPARE(predictor.raw(mask).nats, predictor.raw(dropped).nats);
    }

    void nothingLearntLeavesEstimatesAsTheyAre() {
        const ChangeScale scale;
        for (const double nats : {0.001, 0.1, 3.0, -0.02}) {
            const Prediction found = scale.predict({nats, {1, 0, 0, 0, 0}});
            QVERIFY(std::abs(found.nats - nats) < 1e-12);
            QVERIFY(found.low < nats && nats < found.high);
        }
    }

    /// Simulated measurements: the measured change is the estimate times 2 (heads) or 3 (blocks), times a random
    /// factor.
    void factorsAndSpreadAreLearnt() {
        ChangeScale scale;
        std::mt19937 random(3);
        std::normal_distribution<double> normal;
        int inside = 0;
        constexpr int count = 1000;
        double widths = 0;
        for (int i = 0; i < count; ++i) {
            const bool isBlock = i % 2 == 1;
            const RawChange raw{0.02 * std::exp(2 * normal(random)), isBlock
                                                                         ? std::array<double, cutKinds>{0, 0, 0, 1, 0}
                                                                         : std::array<double, cutKinds>{1, 0, 0, 0, 0}};
            const double measured = raw.nats * (isBlock ? 3 : 2) * std::exp(0.3 * normal(random));
            const Prediction found = scale.predict(raw);
            inside += found.low <= measured && measured <= found.high ? 1 : 0;
            widths += i >= count / 2 ? std::log(found.high / std::max(found.low, 1e-9)) : 0;
            scale.learn(raw, measured);
        }
        const auto factors = scale.factors();
        qInfo("factors %.2f and %.2f, inside %.3f, intervals span a factor of %.1f", factors[0], factors[3],
              1.0 * inside / count, std::exp(widths / (count / 2)));
        QVERIFY(std::abs(factors[0] / 2 - 1) < 0.15);
        QVERIFY(std::abs(factors[3] / 3 - 1) < 0.15);
        QVERIFY(inside > 0.85 * count && inside < 0.95 * count);
        scale.learn({std::numeric_limits<double>::quiet_NaN(), {}}, 1);
        QCOMPARE(scale.learnt(), std::size_t(count));
    }

    void anEditIsPricedInMilliseconds() {
        ModelSpec spec = test::fixture("mha-f32")->spec();
        spec.layers.assign(40, spec.layers.front());
        for (LayerSpec& layer : spec.layers)
            layer.heads = layer.kvHeads = 40;
        const Predictor predictor(spec, basisOf(drawnEffects(spec, 64)));
        PruningMask mask(spec);
        for (int layer = 0; layer < 40; ++layer)
            mask = withHeads(std::move(mask), {{layer, 3}, {layer, 5}});
        // CPU time, because other work on the machine would distort wall time.
        const std::clock_t begin = std::clock();
        QVERIFY(predictor.predict(mask).has_value());
        const double milliseconds = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        qInfo("%zu gates: %.2f ms", predictor.basis().effects.gates.size(), milliseconds);
        QVERIFY(milliseconds < 50);
    }

    void sessionsKeepIt() {
        const test::Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = test::evaluatedSession();
        session.prediction = basisOf(drawnEffects(session.model.spec, 8));
        writeSession(session, path);
        const Session read = readSession(path);
        QVERIFY(read.prediction != nullptr);
        const GateEffects& found = read.prediction->effects;
        const GateEffects& wanted = session.prediction->effects;
        QVERIFY(found.gates == wanted.gates);
        QCOMPARE(found.slopes, wanted.slopes);
        QVERIFY(std::ranges::equal(found.factors.values(), wanted.factors.values()));
        QVERIFY(std::ranges::equal(found.neuronFisher.values(), wanted.neuronFisher.values()));
        QCOMPARE(found.targets, wanted.targets);
        QCOMPARE(read.prediction->source, session.prediction->source);
        // The session has two masks with measured losses. The scale learnt from them is computed again when the session
        // is read.
        const auto before = predictorOf(session);
        const auto after = predictorOf(read);
        QCOMPARE(before->scale().learnt(), std::size_t(2));
        QCOMPARE(after->scale().factors(), before->scale().factors());
        QVERIFY(!predictorOf(test::evaluatedSession()));
        // Adding results to a session file keeps the prediction stored in it.
        Session more;
        more.model = session.model;
        addToSession(more, path);
        QVERIFY(readSession(path).prediction != nullptr);
    }

    void valuesThatAreNotFiniteAreRefused() {
        const test::Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = test::evaluatedSession();
        session.evaluations.clear();
        GateEffects effects = drawnEffects(session.model.spec, 8);
        effects.slopes[1] = std::numeric_limits<double>::quiet_NaN();
        session.prediction = basisOf(std::move(effects));
        writeSession(session, path);
        try {
            readSession(path);
            QFAIL("was read");
        } catch (const Error& error) {
            QVERIFY(QString(error.what()).contains("/prediction: gradient: holds values that are not finite"));
        }
    }
};

SECATEUR_SUITE(TestPrediction)
#include "tst_prediction.moc"
