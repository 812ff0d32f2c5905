// The inference engine against transformers with the same weights: residual streams, attention maps, logits, losses and
// gradients.
#ifndef Q_MOC_RUN
#include "analysis/running/runner_results.h"
#include "tests/support/device.h"
#include "tests/support/judged_run.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <array>

using namespace secateur;
using secateur::test::JudgedRun;

namespace {

constexpr double tolerance = 1e-4; ///< of logits, relative to the largest expected logit

/// Of gradients, relative to the largest of the same kind. gemma3-gguf with its six layers is badly conditioned: a
/// change of its parameters' last bit moves its gradients by 8e-6, as the judge prints; those of any other model by at
/// most 6e-6.
double gradientTolerance(const QString& folder) {
    return folder == "gemma3-gguf" ? 3e-5 : 1e-5;
}

QDir folders() {
    return QDir(test::data().filePath("forward"));
}

struct Case {
    std::shared_ptr<const Model> model;
    JudgedRun judged;
    const Runner& runner;
    std::shared_ptr<const Plan> plan;

    Case(const QString& folder, const QString& file, bool plain)
        : model(openModel(QDir::cleanPath(folders().filePath(folder + "/" + file)).toStdString(), {}, test::onDevice({.plain = plain})))
        , judged(folders().filePath(folder))
        , runner(model->runner())
        , plan(runner.plan(file.endsWith("gguf") ? PruningMask(model->spec()) : judged.mask(model->spec()),
                           ComputeType::float32)) {}

    /// Whether the file has the weights of the model's head. Some GGUF files of encoders lack the pooler or the
    /// classifier.
    bool hasHead() const {
        return judged.has("losses") || model->has(-1, judged.has("labels") ? WeightName::classifier : WeightName::pooler);
    }
};

void addCases() {
    QTest::addColumn<QString>("folder");
    QTest::addColumn<QString>("file");
    QTest::addColumn<bool>("plain");
    for (const QString& folder : folders().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        for (const QString file : {"model.safetensors", "model.gguf"})
            if (folders().exists(folder + "/" + file))
                for (const bool plain : {false, true})
                    QTest::addRow("%s %s%s", qPrintable(folder), qPrintable(file.section('.', 1)),
                                  plain ? " plain" : "")
                        << folder << file << plain;
}

Case fetched() {
    QFETCH(QString, folder);
    QFETCH(QString, file);
    QFETCH(bool, plain);
    return {folder, file, plain};
}

std::string numbered(const std::string& name, int layer) {
    return name + "." + std::to_string(layer);
}

} // namespace

class TestForward : public QObject {
    Q_OBJECT

private slots:
    void streamsAndMapsOfEveryLayerAreTheJudges_data() { addCases(); }
    void streamsAndMapsOfEveryLayerAreTheJudges() {
        const Case c = fetched();
        test::AttentionKeeper attention(c.judged.batch());
        const auto streams = test::streamsOf(c.runner, *c.plan, c.judged.batch(), &attention);
        double worst = 0;
        double worstMap = 0;
        for (int layer = 0; layer < static_cast<int>(streams.size()); ++layer)
            worst =
                std::max(worst, c.judged.error(numbered("hidden", layer), streams[static_cast<std::size_t>(layer)]));
        for (const auto& [layer, map] : attention.maps)
            worstMap = std::max(worstMap, c.judged.error(numbered("attention", layer), map, 2));
        qInfo("streams %.1e, attention %.1e", worst, worstMap);
        QVERIFY(worst < tolerance);
        QVERIFY(worstMap < tolerance);
        QVERIFY(!attention.maps.empty());
    }

    void logitsAndLossesAreTheJudges_data() { addCases(); }
    void logitsAndLossesAreTheJudges() {
        const Case c = fetched();
        const Batch& batch = c.judged.batch();
        const at::Tensor last = test::streamsOf(c.runner, *c.plan, batch).back();
        const std::string name = c.judged.has("logits") ? "logits" : "pooled";
        const double logits = c.hasHead() ? c.judged.error(name, c.runner.lmHead(*c.plan, last, batch)) : 0;
        double losses = 0;
        if (c.judged.has("losses")) {
            const TokenLosses found = c.runner.losses(*c.plan, last, batch, c.judged.targets());
            at::Tensor nats = at::tensor(found.nats).view({batch.rows, batch.positions});
            losses = c.judged.error("losses", nats.narrow(1, 0, batch.positions - 1).contiguous());
        }
        qInfo("logits %.1e, losses %.1e", logits, losses);
        QVERIFY(logits < tolerance);
        QVERIFY(losses < 1e-5);
    }

    void gradientsOfEveryTapAreTheJudges_data() { addCases(); }
    void gradientsOfEveryTapAreTheJudges() {
        const Case c = fetched();
        if (!c.hasHead())
            QSKIP("the file holds no head");
        const Batch& batch = c.judged.batch();
        const auto streams = test::streamsOf(c.runner, *c.plan, batch);
        LossGradient top = lossGradient(c, streams.back());
        QFETCH(QString, folder);
        const double tolerated = gradientTolerance(folder);
        std::map<std::string, double> worst;
        worst["input"] = c.judged.error(numbered("grad.input", c.model->spec().layerCount()), top.stream);
        for (int layer = c.model->spec().layerCount() - 1; layer >= 0; --layer)
            top.stream = pulledBack(c, layer, streams[static_cast<std::size_t>(layer)], top.stream, worst);
        for (const auto& [name, error] : worst) {
            qInfo("%s %.1e", name.c_str(), error);
            QVERIFY2(error < tolerated, name.c_str());
        }
        QVERIFY(worst.size() > 6);
    }

private:
    static LossGradient lossGradient(const Case& c, const at::Tensor& last) {
        const at::Tensor given = c.judged["loss_weights"].to(at::kFloat);
        const bool isDecoder = c.judged.has("losses");
        const at::Tensor padded = isDecoder ? at::constant_pad_nd(given, {0, 1}) : given;
        const at::Tensor flat = padded.reshape({-1}).contiguous();
        const std::vector<float> weights(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
        if (isDecoder)
            return c.runner.lossGradient(*c.plan, last, c.judged.batch(), Scalarisation::taskLoss, c.judged.targets(),
                                         weights);
        if (c.judged.has("labels"))
            return c.runner.lossGradient(*c.plan, last, c.judged.batch(), Scalarisation::taskLoss,
                                         c.judged.integers("labels"), weights);
        LossGradient bare = c.runner.lossGradient(*c.plan, last, c.judged.batch(), Scalarisation::pooledNorm, {}, {});
        bare.stream = bare.stream * given.view({-1, 1, 1}).to(bare.stream.device());
        return bare;
    }

    static at::Tensor pulledBack(const Case& c, int layer, const at::Tensor& x, const at::Tensor& dOutput,
                                 std::map<std::string, double>& worst) {
        const std::array<std::pair<Tap, std::string>, 8> names{{{Tap::query, "query"},
                                                                {Tap::key, "key"},
                                                                {Tap::value, "value"},
                                                                {Tap::context, "context"},
                                                                {Tap::attentionOutput, "attention_output"},
                                                                {Tap::attentionUpdate, "attention_update"},
                                                                {Tap::mlpHidden, "mlp_hidden"},
                                                                {Tap::mlpOutput, "mlp_output"}}};
        std::vector<Tap> wanted;
        for (const auto& [tap, name] : names)
            wanted.push_back(tap);
        const LayerGradients found = c.runner.backward(*c.plan, layer, x, c.judged.batch(), dOutput, wanted);
        const auto compare = [&](const std::string& name, const at::Tensor& values) {
            if (c.judged.has(name)) {
                double& error = worst[name.substr(0, name.rfind('.'))];
                error = std::max(error, c.judged.error(name, values.reshape(c.judged[name].sizes())));
            }
        };
        for (const auto& [tap, name] : names) {
            const auto gradient = found.taps.find(tap);
            if (gradient == found.taps.end())
                continue;
            compare(numbered("grad." + name, layer), gradient->second.gradient);
            compare(numbered("tap." + name, layer), gradient->second.value);
        }
        compare(numbered("grad.input", layer), found.input);
        return found.input;
    }
};

SECATEUR_SUITE(TestForward)
#include "tst_forward.moc"
