// Identities of the Mag-SP metric (sums of column norms of W_o and W_down). tst_weight_metrics compares its values with
// numpy.

#ifndef Q_MOC_RUN      // moc cannot read ATen's headers
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#endif

#include "analysis/metrics/measure.h"
#include "analysis/model/model.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace secateur;

namespace {

constexpr double tolerance = 1e-12; // relative; both sides compute in float64

/// The L2 norms of the columns of a matrix [out, in], added up over each group of `width` neighbouring columns.
std::vector<double> columnSums(const at::Tensor& weight, std::int64_t width) {
    const at::Tensor values = weight.to(at::kDouble).contiguous();
    std::vector<double> sums;
    for (std::int64_t column = 0; column < values.size(1); ++column) {
        double squares = 0;
        for (std::int64_t row = 0; row < values.size(0); ++row) {
            const double value = values.data_ptr<double>()[row * values.size(1) + column];
            squares += value * value;
        }
        if (column % width == 0)
            sums.push_back(0);
        sums.back() += std::sqrt(squares);
    }
    return sums;
}

double worstError(const Matrix& values, const std::vector<std::vector<double>>& expected) {
    if (values.rows() != expected.size())
        return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t layer = 0; layer < expected.size(); ++layer)
        for (std::size_t cell = 0; cell < expected[layer].size(); ++cell) {
            const double error = std::abs(values(layer, cell) / expected[layer][cell] - 1);
            worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
        }
    return worst;
}

/// Two layers of three heads with headDim 4, and 10 neurons. A test sets W_o and W_down, with any element type and
/// strides.
class WritingModel : public Model {
public:
    WritingModel() {
        LayerSpec layer;
        layer.heads = layer.kvHeads = 3;
        layer.headDim = 4;
        layer.ffn = 10;
        m_card.spec.hidden = 8;
        m_card.spec.layers.assign(2, layer);
    }
    const ModelCard& card() const override { return m_card; }
    LayerSpec& layer(std::size_t index) { return m_card.spec.layers[index]; }
    bool has(int, WeightName) const override { return true; }
    at::Tensor tensor(int, WeightName which) const override {
        if (which != WeightName::output && which != WeightName::down)
            throw std::logic_error("Mag-SP reads nothing else");
        return which == WeightName::output ? output : down;
    }
    std::string place(int, WeightName which) const override {
        return which == WeightName::down ? "down-projection" : "output projection";
    }
    std::string fingerprint() const override { return "sha256:0"; }

    at::Tensor output = at::randn({8, 12});
    at::Tensor down = at::randn({8, 10});

private:
    ModelCard m_card;
};

std::vector<MetricResult> both(const Model& model) {
    return measure(model, parseMetricRequests("mag_sp_head,mag_sp_neuron"), {});
}

} // namespace

class TestMagSp : public QObject {
    Q_OBJECT

private slots:
    void stridesAndTypesDoNotMatter() {
        WritingModel model;
        model.output = model.output.to(at::kBFloat16);
        model.down = at::randn({10, 8}).t(); // a transposed view, as for the Conv1D weights of GPT-2
        const auto results = both(model);
        QVERIFY(worstError(results[0].values, {2, columnSums(model.output, 4)}) < tolerance);
        QVERIFY(worstError(results[1].values, {2, columnSums(model.down, 1)}) < tolerance);
    }
    void manyRowsAreSummedBlockByBlock() {
        WritingModel model;
        model.output = at::randn({100'003, 12});
        QVERIFY(worstError(both(model)[0].values, {2, columnSums(model.output, 4)}) < tolerance);
    }
    void layersThatLackTheWeightsHaveNoValueInThatMetricAlone() {
        WritingModel model;
        model.layer(0).attention = AttentionKind::none;
        model.layer(1).ffn = 0;
        const auto results = both(model);
        QVERIFY(std::isnan(results[0].values(0, 0)));
        QVERIFY(results[0].values(1, 0) > 0);
        QVERIFY(results[1].values(0, 0) > 0);
        QVERIFY(std::isnan(results[1].values(1, 0)));
        model.layer(0).attention = AttentionKind::valueOnly;
        QVERIFY(both(model)[0].values(0, 0) > 0);
    }
    void weightsThatAreNotFiniteAreNamed() {
        WritingModel model;
        model.down = model.down.clone();
        model.down[2][3] = std::numeric_limits<float>::infinity();
        const MetricResult neurons = both(model)[1];
        QVERIFY(std::isnan(neurons.values(0, 3)));
        QVERIFY(neurons.values(0, 4) > 0);
        QCOMPARE(QString::fromStdString(neurons.warnings.front()),
                 "down-projection holds 0 NaN and 1 infinite numbers");
    }
};

SECATEUR_SUITE(TestMagSp)
#include "tst_mag_sp.moc"
