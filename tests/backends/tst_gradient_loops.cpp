// The hand-written backward passes of a layer, for each instruction set that this processor has, against PyTorch's
// autograd of the same formulas in float64.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/kernels/gradient_loops.h"
#include "backends/kernels/plain_loops.h"
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#include <ATen/Parallel.h>
#endif
#include "tests/support/loop_tests.h"

#include "backends/base/runtime.h"
#include "tests/support/suite.h"

#include <algorithm>
#include <functional>
#include <limits>

using namespace secateur;

namespace {

/// The gradient of sum(of(x) * slopes) with respect to x.
at::Tensor gradientOf(const at::Tensor& x, const at::Tensor& slopes,
                      const std::function<at::Tensor(const at::Tensor&)>& of) {
    const at::Tensor variable = x.clone().requires_grad_();
    (of(variable) * slopes).sum().backward();
    return variable.grad();
}

struct AttentionCase {
    const char* name;
    AttentionShape shape;
    int rotaryDims; ///< number of dimensions of each head that are rotated
    bool norms;     ///< whether queries and keys are normalised first
    std::vector<int> lengths;
};

const std::vector<int> unevenGroups{0, 1, 4, 6};

const std::vector<AttentionCase> attentionCases = {
    {"one token", {.heads = 1, .kvHeads = 1, .headDim = 6}, 0, false, {1}},
    {"llama", {.heads = 9, .kvHeads = 3, .headDim = 64, .scale = 0.125F}, 64, false, {130, 0, 47}},
    {"sentences", {.heads = 2, .kvHeads = 1, .headDim = 64, .scale = 0.125F}, 64, false, {5, 48, 49, 20}},
    {"norms", {.heads = 4, .kvHeads = 2, .headDim = 80, .scale = 0.11F}, 40, true, {67, 66}},
    {"no multiple of anything", {.heads = 4, .kvHeads = 2, .headDim = 12, .scale = 0.3F}, 4, true, {67, 1}},
    {"window", {.heads = 4, .kvHeads = 2, .headDim = 32, .window = 7, .scale = 0.2F}, 32, false, {150, 99}},
    {"softcap and window",
     {.heads = 4, .kvHeads = 2, .headDim = 256, .window = 64, .scale = 0.0625F, .softcap = 3},
     256,
     false,
     {190, 90}},
    {"encoder", {.heads = 3, .kvHeads = 3, .headDim = 64, .causal = false, .scale = 0.125F}, 0, false, {129, 3}},
    {"encoder with a window",
     {.heads = 2, .kvHeads = 2, .headDim = 20, .causal = false, .window = 9, .scale = 0.2F},
     20,
     false,
     {200, 30}},
    {"one key for all heads", {.heads = 11, .kvHeads = 1, .headDim = 128, .scale = 0.09F}, 128, false, {50, 1}},
    {"groups of several sizes",
     {.heads = 6, .kvHeads = 3, .headDim = 16, .scale = 0.25F, .groupBegin = unevenGroups.data()},
     16,
     false,
     {70}},
    {"negative scale", {.heads = 2, .kvHeads = 1, .headDim = 8, .scale = -0.3F}, 8, false, {30, 7}},
    {"long", {.heads = 1, .kvHeads = 1, .headDim = 64, .scale = 0.125F}, 64, false, {1100}},
};

/// The inputs of a case and the gradient of its attention output. The gradient of the inputs can be computed by the
/// vector loops and by autograd.
class Attention {
public:
    explicit Attention(const AttentionCase& c)
        : m_case(c)
        , m_rows(std::ssize(c.lengths))
        , m_positions(*std::ranges::max_element(c.lengths)) {
        const std::int64_t size = c.shape.headDim;
        projected = normal({m_rows, m_positions, (c.shape.heads + 2 * c.shape.kvHeads) * size}, 1.2);
        slopes = normal({m_rows, m_positions, c.shape.heads * size});
        if (c.norms) {
            m_queryWeight = normal({size}) + 1;
            m_keyWeight = normal({size}) + 1;
            m_keyBias = normal({size});
        }
        const at::Tensor angles = normal({m_positions, c.rotaryDims / 2}, 3);
        m_cosines = angles.cos();
        m_sines = angles.sin();
        for (int group = 0; group < c.shape.kvHeads; ++group)
            for (int head = 0; head < c.shape.groupHeads(group); ++head)
                m_groups.push_back(group);
        // The padding holds NaN, which shows in the result if it is read.
        for (std::int64_t row = 0; row < m_rows; ++row) {
            const std::int64_t length = c.lengths[static_cast<std::size_t>(row)];
            projected[row].narrow(0, length, m_positions - length).fill_(std::numeric_limits<double>::quiet_NaN());
        }
    }

    /// The gradient by the vector loops: [rows, positions, heads + 2 KV heads, headDim]. With perHead, keys and values
    /// have gradients for every query head: [rows, positions, 3 * heads, headDim].
    at::Tensor back(bool perHead) const {
        const AttentionShape& shape = m_case.shape;
        const std::int64_t keyHeads = perHead ? shape.heads : shape.kvHeads;
        const at::Tensor result = at::full({m_rows, m_positions, shape.heads + 2 * keyHeads, shape.headDim},
                                           std::numeric_limits<double>::quiet_NaN(), at::kFloat);
        attendBackward(projected, shape, {NormKind::rms, 1e-6, data(m_queryWeight), nullptr},
                   {NormKind::layer, 1e-5, data(m_keyWeight), data(m_keyBias)},
                   {data(m_cosines), data(m_sines), m_case.rotaryDims}, m_case.lengths, slopes,
                   {result.narrow(2, 0, shape.heads), result.narrow(2, shape.heads, keyHeads),
                    result.narrow(2, shape.heads + keyHeads, keyHeads)});
        return result;
    }

    /// The same gradient by autograd, computed in tensors of `type`.
    at::Tensor plainBack(bool perHead, at::ScalarType type) const {
        const AttentionShape& shape = m_case.shape;
        const at::Tensor groups = at::tensor(m_groups, at::kLong);
        const at::Tensor all = projected.nan_to_num().view({m_rows, m_positions, -1, shape.headDim});
        const at::Tensor keys = all.narrow(2, shape.heads, shape.kvHeads);
        const at::Tensor values = all.narrow(2, shape.heads + shape.kvHeads, shape.kvHeads);
        const auto own = [&](const at::Tensor& x) { return perHead ? x.index_select(2, groups) : x; };
        const at::Tensor leaf = at::cat({all.narrow(2, 0, shape.heads), own(keys), own(values)}, 2);
        at::Tensor counted = slopes.clone();
        for (std::int64_t row = 0; row < m_rows; ++row) {
            const std::int64_t length = m_case.lengths[static_cast<std::size_t>(row)];
            counted[row].narrow(0, length, m_positions - length).zero_();
        }
        return gradientOf(leaf.to(type), counted.to(type),
                          [&](const at::Tensor& x) { return plainContext(x, perHead); });
    }

    at::Tensor projected;
    at::Tensor slopes;

private:
    at::Tensor plainContext(const at::Tensor& x, bool perHead) const {
        const AttentionShape& shape = m_case.shape;
        const std::int64_t keyHeads = perHead ? shape.heads : shape.kvHeads;
        const auto as = [&](const at::Tensor& own) { return own.defined() ? own.to(x.scalar_type()) : own; };
        const auto rotated = [&](const at::Tensor& heads, NormKind kind, double epsilon, const at::Tensor& weight,
                                 const at::Tensor& bias) {
            const at::Tensor normed = weight.defined() ? plainNorm(heads, kind, epsilon, as(weight), as(bias)) : heads;
            return plainRotary(normed.transpose(1, 2), as(m_cosines).unsqueeze(0), as(m_sines).unsqueeze(0));
        };
        const at::Tensor q = rotated(x.narrow(2, 0, shape.heads), NormKind::rms, 1e-6, m_queryWeight, {});
        at::Tensor k = rotated(x.narrow(2, shape.heads, keyHeads), NormKind::layer, 1e-5, m_keyWeight, m_keyBias);
        at::Tensor v = x.narrow(2, shape.heads + keyHeads, keyHeads).transpose(1, 2);
        if (!perHead) {
            k = k.index_select(1, at::tensor(m_groups, at::kLong));
            v = v.index_select(1, at::tensor(m_groups, at::kLong));
        }
        const at::Tensor seen = visibleKeys(std::vector<int>(m_case.lengths.size()), m_case.lengths, m_positions,
                                            m_positions, shape.causal, shape.window, at::kCPU);
        const at::Tensor context = plainAttention(q, k, v, seen, shape.scale, shape.softcap);
        return context.transpose(1, 2).reshape({m_rows, m_positions, -1});
    }

    const AttentionCase& m_case;
    std::int64_t m_rows;
    std::int64_t m_positions;
    std::vector<std::int64_t> m_groups; // the KV group of each head
    at::Tensor m_queryWeight;
    at::Tensor m_keyWeight;
    at::Tensor m_keyBias;
    at::Tensor m_cosines;
    at::Tensor m_sines;
};

} // namespace

class TestGradientLoops : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(2); }
    void init() { at::manual_seed(3); }
    void cleanup() {
        at::set_num_threads(2);
        useBestInstructionSet();
    }

    void normsEqualAutograd_data() { addInstructionSets(); }
    void normsEqualAutograd() {
        useInstructionSet();
        double error = 0;
        for (const NormKind kind : {NormKind::rms, NormKind::layer})
            for (const int width : {1, 3, 16, 37, 64, 576, 1000, 4096}) {
                const at::Tensor x = normal({7, width}, 2) + 0.5;
                const at::Tensor weight = normal({width});
                const at::Tensor slopes = normal({7, width});
                at::Tensor result = at::empty_like(x);
                normRowsBackward(x, {kind, 1e-2, data(weight), nullptr}, slopes, result);
                const at::Tensor wanted = gradientOf(wide(x), wide(slopes), [&](const at::Tensor& at) {
                    return plainNorm(at, kind, 1e-2, wide(weight), {});
                });
                // A norm over a single element is constant. Its exact gradient is 0, so the error must not be measured
                // relative to it.
                if (width > 1)
                    error = std::max(error, worst(result, wanted));
                else
                    verify("of one number", (wide(result) - wanted).abs().max().item<double>(), 1e-5);
            }
        verify("norms", error, 5e-6);
    }

    void activationsEqualAutograd_data() { addInstructionSets(); }
    void activationsEqualAutograd() {
        useInstructionSet();
        for (const Activation activation :
             {Activation::silu, Activation::geluTanh, Activation::geluErf, Activation::relu}) {
            double error = 0;
            for (const int width : {1, 7, 16, 100, 1536})
                for (const bool gated : {false, true}) {
                    const at::Tensor projected = normal({13, gated ? 2 * width : width}, 4);
                    const at::Tensor slopes = normal({13, width});
                    at::Tensor result = at::empty_like(projected);
                    activateRowsBackward(projected, activation, gated, slopes, result);
                    error = std::max(error,
                                     worst(result, gradientOf(wide(projected), wide(slopes), [&](const at::Tensor& at) {
                                               return plainActivation(at, activation, gated);
                                           })));
                }
            verify(QString("activation %1").arg(static_cast<int>(activation)), error, 2e-6);
        }
    }

    void activationsAreLevelFarAway() {
        const at::Tensor x = at::tensor({-1e30F, -200.0F, -95.0F, 95.0F, 3e37F}, at::kFloat).unsqueeze(0);
        const at::Tensor wanted = at::tensor({0.0F, 0.0F, 0.0F, 1.0F, 1.0F}, at::kFloat).unsqueeze(0);
        for (const Activation activation :
             {Activation::silu, Activation::geluTanh, Activation::geluErf, Activation::relu}) {
            at::Tensor result = at::empty_like(x);
            activateRowsBackward(x, activation, false, at::ones_like(x), result);
            QVERIFY((result - wanted).abs().max().item<double>() < 1e-30);
        }
    }

    void attentionEqualsAutograd_data() {
        addInstructionSets([](const char* instructionSet) {
            for (std::size_t i = 0; i < attentionCases.size(); ++i)
                QTest::addRow("%s, %s", attentionCases[i].name, instructionSet)
                    << QString(instructionSet) << static_cast<int>(i);
        });
    }
    void attentionEqualsAutograd() {
        useInstructionSet();
        QFETCH(int, number);
        const AttentionCase& c = attentionCases[static_cast<std::size_t>(number)];
        const Attention attention(c);
        for (const bool perHead : {false, true}) {
            const at::Tensor wanted = attention.plainBack(perHead, at::kDouble);
            const double plainError = worst(attention.plainBack(perHead, at::kFloat), wanted);
            verify(QString("%1 (plain float32: %2)")
                       .arg(perHead ? "of each head" : "of KV heads")
                       .arg(plainError, 0, 'g', 2),
                   worst(attention.back(perHead), wanted), std::max(2e-6, 3 * plainError));
        }
    }

    void resultsDoNotDependOnThreads() {
        for (const AttentionCase& c : attentionCases) {
            const Attention attention(c);
            const at::Tensor two = attention.back(false);
            at::set_num_threads(1);
            QVERIFY2(sameBits(attention.back(false), two), c.name);
            at::set_num_threads(2);
        }
    }
};

SECATEUR_SUITE(TestGradientLoops)
#include "tst_gradient_loops.moc"
