// The fused operations for devices against the reference in ATen, on the device of the tests (the CPU by default).
#ifndef Q_MOC_RUN
#include "backends/base/torch_version.h"
#include "backends/engine/layer_pass.h"
#include "tests/support/engine_case.h"
#include "tests/support/suite.h"

#include <c10/core/GradMode.h>
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;

namespace {

at::Device testDevice() {
    return at::Device(onDevice().device);
}

/// Stores what a layer shows.
class Shown : public TapObserver {
public:
    bool wants(Tap tap) const override { return tap != Tap::attention; }
    void see(Tap tap, const at::Tensor& values) override { m_values.insert_or_assign(tap, values); }
    const std::map<Tap, at::Tensor>& values() const { return m_values; }

private:
    std::map<Tap, at::Tensor> m_values;
};

/// The largest difference of two tensors, relative to the largest number of the second.
double apart(const at::Tensor& found, const at::Tensor& expected) {
    const double scale = expected.to(at::kDouble).abs().max().item<double>();
    const double worst = (found.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
    return scale > 0 ? worst / scale : worst;
}

} // namespace

class TestDeviceMath : public QObject {
    Q_OBJECT

private slots:
    void layersAreTheReferences_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder : QDir(data().filePath("forward")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            QTest::addRow("%s", qPrintable(folder)) << folder;
    }
    void layersAreTheReferences() {
        QFETCH(QString, folder);
        const EngineCase c(folder, "model.safetensors", true);
        const c10::NoGradGuard noGraph;
        for (const ComputeType type : {ComputeType::float32, ComputeType::bfloat16}) {
            // Old versions cannot store float32 results as bfloat16 on the CPU.
            if (type == ComputeType::bfloat16 && testDevice().is_cpu() && !SECATEUR_TORCH_AT_LEAST(2, 0))
                continue;
            double worst = 0;
            for (const double keep : {1.0, 0.6})
                worst = std::max(worst, difference(c, type, MaskMaker(c.spec).ragged(keep)));
            qInfo("%s: %.1e", std::string(name(type)).c_str(), worst);
            QVERIFY(worst < (type == ComputeType::float32 ? 2e-5 : 4e-2));
        }
    }

private:
    static double difference(const EngineCase& c, ComputeType type, const PruningMask& mask) {
        const auto reference = plainMath(type);
        const auto fused = deviceMath(type);
        const RotaryCache tables;
        const auto plan = c.runner.plan(mask, ComputeType::float32);
        at::Tensor x = c.runner.embed(*plan, c.batch);
        double worst = 0;
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            const PlanLayer weights =
                makePlanLayer(*c.model, layer, mask.layer(layer), {type, WeightForm::plain, testDevice()});
            AttentionInput input{c.spec, weights, c.batch.rows, c.batch.positions, {}, {}, {}};
            for (int row = 0; row < c.batch.rows; ++row) {
                input.first.push_back(c.batch.first(row));
                input.lengths.push_back(c.batch.length(row));
            }
            input.rotary = tables.table(weights.spec.rotary, c.batch.positions, testDevice());
            Shown expected;
            Shown found;
            const at::Tensor flat = x.view({-1, x.size(2)});
            const at::Tensor out = LayerPass(*reference, input, expected).run(flat);
            LayerPass(*fused, input, found).run(flat);
            for (const auto& [tap, values] : expected.values())
                worst = std::max(worst, values.numel() > 0 ? apart(found.values().at(tap), values) : 0);
            TapObserver nothing;
            worst = std::max(worst, apart(LayerPass(*fused, input, nothing).run(flat), out));
            x = out.view(x.sizes());
        }
        return worst;
    }
};

SECATEUR_SUITE(TestDeviceMath)
#include "tst_device_math.moc"
