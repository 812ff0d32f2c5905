// The formulas of a layer implemented with tensors: their gradients against finite differences, 16-bit types, and the
// keys that a query may see.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/kernels/plain_loops.h"
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#endif

#include "backends/base/runtime.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <cmath>
#include <functional>
#include <vector>

using namespace secateur;

namespace {

at::Tensor drawn(std::vector<std::int64_t> sizes) {
    return at::randn(sizes, at::kDouble);
}

using Function = std::function<at::Tensor(const at::Tensor&)>;

/// The largest difference between two gradients of a randomly weighted sum of the function's results: autograd's and
/// central finite differences.
double gradientError(const at::Tensor& x, const Function& function) {
    const at::Tensor weights = drawn(function(x).sizes().vec());
    const auto value = [&](const at::Tensor& at) { return (function(at) * weights).sum(); };
    const at::Tensor variable = x.clone().requires_grad_();
    value(variable).backward();
    double worst = 0;
    constexpr double step = 1e-5;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        const at::Tensor above = x.clone();
        const at::Tensor below = x.clone();
        above.view(-1)[i] += step;
        below.view(-1)[i] -= step;
        const double slope = (value(above) - value(below)).item<double>() / (2 * step);
        worst = std::max(worst, std::abs(slope - variable.grad().view(-1)[i].item<double>()));
    }
    return worst;
}

} // namespace

class TestPlainLoops : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(1); }
    void init() { at::manual_seed(5); }

    void gradientsEqualDifferences_data() {
        QTest::addColumn<int>("number");
        for (std::size_t i = 0; i < subjects().size(); ++i)
            QTest::newRow(subjects()[i].name) << static_cast<int>(i);
    }
    void gradientsEqualDifferences() {
        QFETCH(int, number);
        const Subject subject = subjects()[static_cast<std::size_t>(number)];
        const double error = gradientError(drawn(subject.sizes), subject.function);
        qInfo("worst error of a gradient %.2g", error);
        QVERIFY(error < 1e-7);
    }

    void narrowTypesAreRoundedOnceAtTheEnd() {
        for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
            for (const Subject& subject : subjects()) {
                const at::Tensor narrow = drawn(subject.sizes).to(type);
                const at::Tensor result = subject.function(narrow);
                const at::Tensor wide = subject.function(narrow.to(at::kFloat));
                QVERIFY2(result.equal(wide.to(result.scalar_type())), subject.name);
            }
        }
    }

    void queriesSeeTheirWindow() {
        const std::vector<int> first = {0, 2};
        const std::vector<int> lengths = {3, 1};
        const at::Tensor causal = visibleKeys(first, lengths, 3, 4, true, 2, at::kCPU);
        // Row 0: three queries, a window of two keys.
        const at::Tensor wanted = at::tensor({1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0,
                                              // Row 1: one query at position 2, then padding.
                                              0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1});
        QVERIFY(causal.view(-1).equal(wanted.to(at::kBool)));
        const at::Tensor both = visibleKeys(std::vector<int>{0}, std::vector<int>{4}, 4, 4, false, 2, at::kCPU);
        QVERIFY(both.view(-1).equal(at::tensor({1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1}).to(at::kBool)));
    }

    void probabilitiesAddUpToOne() {
        const at::Tensor mask = visibleKeys(std::vector<int>{1}, std::vector<int>{2}, 4, 3, true, 0, at::kCPU);
        const at::Tensor probabilities = plainProbabilities(drawn({1, 4, 4, 6}), drawn({1, 2, 3, 6}), mask, 0.4, 2);
        QCOMPARE(probabilities.sizes().vec(), (std::vector<std::int64_t>{1, 4, 4, 3}));
        QVERIFY((probabilities.sum(-1) - 1).abs().max().item<double>() < 1e-15);
        QCOMPARE(probabilities.masked_select(mask.logical_not()).abs().sum().item<double>(), 0.0);
    }

private:
    struct Subject {
        const char* name;
        std::vector<std::int64_t> sizes;
        Function function;
    };

    static std::vector<Subject> subjects() {
        at::manual_seed(9);
        const at::Tensor gain = drawn({6});
        const at::Tensor bias = drawn({6});
        const at::Tensor angles = drawn({1, 3, 2});
        // Rounded to bfloat16, so that every type represents it exactly.
        const at::Tensor other = drawn({2, 2, 3, 6}).to(at::kBFloat16).to(at::kDouble);
        const at::Tensor mask = visibleKeys(std::vector<int>{0, 0}, std::vector<int>{3, 2}, 3, 3, true, 0, at::kCPU);
        const at::Tensor targets = at::tensor({2, -1, 0}, at::kLong);
        const auto attention = [=](int which) {
            return [=](const at::Tensor& x) {
                const at::Tensor rest = other.to(x.scalar_type());
                const at::Tensor queries = which == 0 ? x : at::cat({rest, rest}, 1);
                return plainAttention(queries, which == 1 ? x : rest, which == 2 ? x : rest, mask, 0.7, 3);
            };
        };
        return {
            {"rms norm", {3, 6}, [=](const at::Tensor& x) { return plainNorm(x, NormKind::rms, 1e-3, gain, {}); }},
            {"layer norm",
             {3, 6},
             [=](const at::Tensor& x) { return plainNorm(x, NormKind::layer, 1e-3, gain, bias); }},
            {"rotary", {2, 2, 3, 6}, [=](const at::Tensor& x) { return plainRotary(x, angles.cos(), angles.sin()); }},
            {"queries", {2, 4, 3, 6}, attention(0)},
            {"keys", {2, 2, 3, 6}, attention(1)},
            {"values", {2, 2, 3, 6}, attention(2)},
            {"silu", {3, 8}, [](const at::Tensor& x) { return plainActivation(x, Activation::silu, true); }},
            {"gelu (tanh)", {3, 8}, [](const at::Tensor& x) { return plainActivation(x, Activation::geluTanh, true); }},
            {"gelu (erf)", {3, 8}, [](const at::Tensor& x) { return plainActivation(x, Activation::geluErf, false); }},
            {"relu", {3, 8}, [](const at::Tensor& x) { return plainActivation(x, Activation::relu, true); }},
            {"cross-entropy", {3, 7}, [=](const at::Tensor& x) { return plainCrossEntropy(x, targets, 2); }},
        };
    }
};

SECATEUR_SUITE(TestPlainLoops)
#include "tst_plain_loops.moc"
