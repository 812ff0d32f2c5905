// Steps of generation read weights as the file stores them. They give the numbers of a run over the whole text, which
// multiplies converted weights.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/engine/engine_plan.h"
#include "backends/engine/open_model.h"
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#endif

#include "analysis/masks/compensation.h"
#include "analysis/running/runner.h"
#include "backends/base/runtime.h"
#include "tests/support/engine_case.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <memory>
#include <random>
#include <vector>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-5;

Batch drawnText(int rows, int positions, int vocab) {
    std::mt19937 random(7);
    Batch batch;
    batch.rows = rows;
    batch.positions = positions;
    batch.lengths.assign(static_cast<std::size_t>(rows), positions);
    for (std::int64_t i = 0; i < batch.tokens(); ++i)
        batch.ids.push_back(static_cast<int>(random() % static_cast<unsigned>(vocab)));
    return batch;
}

at::Tensor lastStream(const Runner& runner, const Plan& plan, const Batch& batch, KvCache* cache = nullptr) {
    at::Tensor x = runner.embed(plan, batch);
    for (int layer = 0; layer < plan.mask().layerCount(); ++layer)
        x = runner.runLayer(plan, layer, x, batch, cache);
    return x;
}

/// The largest difference between the logits of a text and those of its continuation, token by token, behind a prompt.
double stepError(const Runner& runner, const Plan& plan, const Batch& text, int prompt) {
    const at::Tensor whole = runner.lmHead(plan, lastStream(runner, plan, text), text);
    const auto cache = runner.cache(plan, text.rows, text.positions);
    const auto rows = static_cast<std::size_t>(text.rows);
    lastStream(runner, plan, pieceOf(text, std::vector<int>(rows, 0), std::vector<int>(rows, prompt)), cache.get());
    double worst = 0;
    for (int position = prompt; position < text.positions; ++position) {
        const Batch step = pieceOf(text, std::vector<int>(rows, position), std::vector<int>(rows, 1));
        const at::Tensor logits = runner.lmHead(plan, lastStream(runner, plan, step, cache.get()), step, true);
        const at::Tensor expected = whole.select(1, position);
        worst = std::max(worst, ((logits - expected).abs().max() / whole.abs().max()).item<double>());
    }
    return worst;
}

} // namespace

class TestStoredSteps : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(2); }

    void aTextStepByStepIsTheTextAtOnce_data() {
        QTest::addColumn<QString>("file");
        for (const char* type : {"q4_0", "q4_1", "q8_0", "f16", "bf16"})
            QTest::newRow(type) << QString("gqa-%1-gguf/model.gguf").arg(type);
        QTest::newRow("safetensors, float16") << QString("gqa-f16-mistral");
        QTest::newRow("safetensors, bfloat16") << QString("gqa-bf16");
    }
    void aTextStepByStepIsTheTextAtOnce() {
        QFETCH(QString, file);
        const auto model = openModel(data().filePath(file).toStdString());
        const Runner& runner = model->runner();
        std::vector<std::pair<const char*, PruningMask>> masks = MaskMaker(model->spec()).several();
        masks.emplace_back("dense", PruningMask(model->spec()));
        PruningMask bypass(model->spec());
        LayerMask layer = bypass.layer(1);
        layer.attention = AttentionCut::bypassQk;
        layer.alpha = 0.5F;
        bypass.setLayer(1, layer);
        masks.emplace_back("bypass", bypass);
        for (const auto& [name, mask] : masks) {
            const auto plan = runner.plan(mask, ComputeType::float32);
            for (int index = -1; index < model->spec().layerCount(); ++index)
                QVERIFY(dynamic_cast<const EnginePlan&>(*plan).isStored(index));
            for (const int rows : {1, 3}) {
                const double error = stepError(runner, *plan, drawnText(rows, 44, model->spec().vocab), 36);
                qInfo("%s, %d texts: %.1e", name, rows, error);
                QVERIFY(error < tolerance);
            }
        }
    }

    // Weights that a compensation replaces or scales are not those of the file.
    void compensatedWeightsAreNotReadFromTheFile() {
        const auto model = openModel(data().filePath("gqa-q4_1-gguf/model.gguf").toStdString());
        const LayerSpec& spec = model->spec().layers[0];
        auto compensation = std::make_shared<LayerCompensation>();
        compensation->headScale.assign(static_cast<std::size_t>(spec.heads), 1.5F);
        compensation->mlpBias.assign(static_cast<std::size_t>(model->spec().hidden), 0.25F);
        compensation->downWeight = std::make_shared<const std::vector<float>>(
            static_cast<std::size_t>(model->spec().hidden * spec.ffn), 0.01F);
        PruningMask mask(model->spec());
        LayerMask layer = mask.layer(0);
        layer.heads[1] = false;
        layer.compensation = compensation;
        mask.setLayer(0, layer);
        const auto plan = model->runner().plan(mask, ComputeType::float32);
        QVERIFY(stepError(model->runner(), *plan, drawnText(2, 44, model->spec().vocab), 36) < tolerance);
    }

    void roundedWeightsAreNotReadFromTheFile() {
        const auto model = openModel(data().filePath("gqa-q4_1-gguf/model.gguf").toStdString());
        const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::bfloat16);
        QVERIFY(!dynamic_cast<const EnginePlan&>(*plan).isStored(0));
        const auto stored = openModel(data().filePath("gqa-f32").toStdString());
        QVERIFY(
            !dynamic_cast<const EnginePlan&>(*stored->runner().plan(PruningMask(stored->spec()), ComputeType::float32))
                 .isStored(0));
    }
};

SECATEUR_SUITE(TestStoredSteps)
#include "tst_stored_steps.moc"
