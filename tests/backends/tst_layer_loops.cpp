// The vector loops of a layer, for each instruction set that this processor has, against the same formulas computed
// with tensors in float64.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/kernels/amx_products.h"
#include "backends/kernels/layer_loops.h"
#include "backends/kernels/packed_matrix.h"
#include "backends/kernels/plain_loops.h"
#include "backends/kernels/vector_loops.h"
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#include <ATen/Parallel.h>
#endif
#include "tests/support/loop_tests.h"

#include "backends/base/runtime.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

using namespace secateur;

namespace {

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// Runs a loop with float32 and with bfloat16 output, and checks that the bfloat16 output is the rounded float32
/// output. Returns the float32 output.
template <typename Loop>
at::Tensor inBothTypes(std::vector<std::int64_t> sizes, const Loop& loop) {
    const at::Tensor floats = at::full(sizes, notANumber, at::kFloat);
    const at::Tensor halves = at::full(sizes, notANumber, at::kBFloat16);
    loop(floats);
    loop(halves);
    const bool same = at::where(floats.isnan(), halves.isnan(), floats.to(at::kBFloat16).eq(halves)).all().item<bool>();
    return same ? floats : at::Tensor(); // an undefined tensor, so that the caller's comparison fails
}

template <typename Loop>
at::Tensor inType(at::ScalarType type, std::vector<std::int64_t> sizes, const Loop& loop) {
    const at::Tensor out = at::full(sizes, notANumber, type);
    loop(out);
    return out;
}

/// Whether attention with bfloat16 output multiplies in bfloat16.
bool multipliesHalves() {
    return vectorLoops().lanes == amx::tileWidth && rowProducts();
}

/// Whether two tensors have the same numbers, and NaN at the same places.
bool sameNumbers(const at::Tensor& a, const at::Tensor& b) {
    return at::where(a.isnan(), b.isnan(), a.eq(b)).all().item<bool>();
}

struct AttentionCase {
    const char* name;
    AttentionShape shape;
    std::vector<int> first;
    std::vector<int> lengths;
    int positions;
};

const std::vector<AttentionCase> attentionCases = {
    {"one token", {.heads = 1, .kvHeads = 1, .headDim = 6}, {0}, {1}, 1},
    {"llama", {.heads = 9, .kvHeads = 3, .headDim = 64, .scale = 0.125F}, {0, 0}, {130, 77}, 130},
    {"no multiple of anything", {.heads = 4, .kvHeads = 2, .headDim = 12, .scale = 0.3F}, {0, 3, 5}, {67, 0, 1}, 67},
    {"several runs of keys", {.heads = 2, .kvHeads = 1, .headDim = 80, .scale = 0.11F}, {0, 700}, {1201, 60}, 1201},
    {"window", {.heads = 4, .kvHeads = 2, .headDim = 32, .window = 7, .scale = 0.2F}, {0, 40}, {150, 99}, 150},
    {"wide window",
     {.heads = 2, .kvHeads = 2, .headDim = 16, .window = 600, .scale = 0.2F},
     {0, 300},
     {1300, 900},
     1300},
    {"softcap and window",
     {.heads = 4, .kvHeads = 2, .headDim = 256, .window = 64, .scale = 0.0625F, .softcap = 3},
     {0, 100},
     {100, 90},
     100},
    {"encoder", {.heads = 3, .kvHeads = 3, .headDim = 64, .causal = false, .scale = 0.125F}, {0, 0}, {129, 3}, 129},
    {"encoder with a window",
     {.heads = 2, .kvHeads = 2, .headDim = 20, .causal = false, .window = 9, .scale = 0.2F},
     {0, 0},
     {200, 30},
     200},
    {"one key for all heads", {.heads = 11, .kvHeads = 1, .headDim = 128, .scale = 0.09F}, {0, 17}, {50, 1}, 50},
    {"generation", {.heads = 9, .kvHeads = 3, .headDim = 64, .scale = 0.125F}, {511, 1700, 0}, {1, 1, 1}, 1},
    {"generation with a window",
     {.heads = 4, .kvHeads = 1, .headDim = 12, .window = 100, .scale = 0.3F, .softcap = 5},
     {511, 1700, 3},
     {1, 1, 1},
     1},
    {"negative scale", {.heads = 2, .kvHeads = 1, .headDim = 8, .scale = -0.3F}, {0, 90}, {30, 1}, 30},
};

/// Exponentials are rounded to 8 bits in bfloat16, as the output.
constexpr double halfTolerance = 1.0 / 256;

/// The norm of the error, relative to that of the wanted numbers.
double normOfError(const at::Tensor& is, const at::Tensor& wanted) {
    return ((wide(is) - wanted).norm() / wanted.norm()).item<double>();
}

/// Random queries of a case, and a KV cache that holds NaN after the last key.
struct AttentionInput {
    at::Tensor queries;
    at::Tensor keys;
    at::Tensor values;

    explicit AttentionInput(const AttentionCase& c) {
        const auto rows = static_cast<std::int64_t>(c.first.size());
        std::int64_t capacity = 0;
        for (std::size_t row = 0; row < c.first.size(); ++row)
            capacity = std::max<std::int64_t>(capacity, c.first[row] + c.lengths[row] + 3);
        queries = normal({rows, c.shape.heads, c.positions, c.shape.headDim}, 1.5);
        keys = normal({rows, c.shape.kvHeads, capacity, c.shape.headDim}, 0.4);
        values = normal({rows, c.shape.kvHeads, capacity, c.shape.headDim});
        for (std::size_t row = 0; row < c.first.size(); ++row) {
            const std::int64_t end = c.first[row] + c.lengths[row];
            for (const at::Tensor& cached : {keys, values})
                cached.select(0, static_cast<std::int64_t>(row)).narrow(1, end, capacity - end).fill_(notANumber);
        }
    }

    KeyValueViews views() const { return {keys, values}; }
    std::vector<std::int64_t> contextSizes(const AttentionCase& c) const {
        return {queries.size(0), c.positions, std::int64_t{c.shape.heads} * c.shape.headDim};
    }

    /// The input rounded to bfloat16.
    AttentionInput rounded() const {
        AttentionInput input = *this;
        for (at::Tensor* tensor : {&input.queries, &input.keys, &input.values})
            *tensor = tensor->to(at::kBFloat16).to(at::kFloat);
        return input;
    }

    /// The same keys and values, stored as bfloat16. Exact if they are rounded().
    AttentionInput withHalves() const {
        AttentionInput input = *this;
        for (at::Tensor* tensor : {&input.keys, &input.values})
            *tensor = tensor->to(at::kBFloat16);
        return input;
    }

    /// If products are in bfloat16, outputs in bfloat16 are not rounded float32 outputs.
    at::Tensor attended(const AttentionCase& c) const {
        const auto loop = [&](const at::Tensor& out) { attend(queries, views(), c.shape, c.first, c.lengths, out); };
        return multipliesHalves() ? inType(at::kFloat, contextSizes(c), loop) : inBothTypes(contextSizes(c), loop);
    }
    at::Tensor attendedInHalves(const AttentionCase& c) const {
        return inType(at::kBFloat16, contextSizes(c),
                      [&](const at::Tensor& out) { attend(queries, views(), c.shape, c.first, c.lengths, out); });
    }

    at::Tensor described(const AttentionCase& c, std::span<const AttentionFeature> wanted,
                         at::ScalarType type = at::kFloat) const {
        at::Tensor features = at::zeros({queries.size(0), c.shape.heads, std::ssize(wanted), c.positions}, at::kFloat);
        const auto loop = [&](const at::Tensor& out) {
            attendWithFeatures(queries, views(), c.shape, c.first, c.lengths, out, wanted, features);
        };
        const at::Tensor context =
            multipliesHalves() ? inType(type, contextSizes(c), loop) : inBothTypes(contextSizes(c), loop);
        // A single query is attended to in bfloat16 only if features are computed. An undefined tensor makes the
        // caller's comparison fail.
        const bool isSame = type == at::kFloat ? worst(context, wide(attended(c))) < 1e-5
                                               : normOfError(context, wide(attendedInHalves(c))) < halfTolerance;
        return isSame ? features : at::Tensor();
    }

    /// The expected attention features, computed from attention probabilities in float64. They are 0 at the positions
    /// that the loop does not compute.
    at::Tensor plainlyDescribed(const AttentionCase& c, std::span<const AttentionFeature> wanted) const {
        const at::Tensor visible =
            visibleKeys(c.first, c.lengths, c.positions, keys.size(2), c.shape.causal, c.shape.window, at::kCPU);
        const at::Tensor p =
            plainProbabilities(wide(queries), wide(keys.nan_to_num()), visible, c.shape.scale, c.shape.softcap);
        at::Tensor result = at::zeros({p.size(0), p.size(1), std::ssize(wanted), p.size(2)}, at::kDouble);
        for (std::int64_t row = 0; row < p.size(0); ++row) {
            const std::int64_t first = c.first[static_cast<std::size_t>(row)];
            const std::int64_t length = c.lengths[static_cast<std::size_t>(row)];
            const at::Tensor own = p[row].narrow(1, 0, length); // [heads, queries, keys]
            const at::Tensor seen = visible[row].narrow(1, 0, length);
            const at::Tensor key = at::arange(p.size(3));
            const at::Tensor query = at::arange(first, first + length).unsqueeze(1);
            for (std::int64_t i = 0; i < std::ssize(wanted); ++i) {
                const AttentionFeature& f = wanted[static_cast<std::size_t>(i)];
                using Kind = AttentionFeature::Kind;
                const at::Tensor shifted = own + f.epsilon;
                const at::Tensor terms = f.kind == Kind::entropy      ? -at::xlogy(own, own)
                                         : f.kind == Kind::shiftedLog ? -own * shifted.log()
                                         : f.kind == Kind::shifted    ? -shifted * shifted.log()
                                                                      : own;
                const at::Tensor chosen =
                    f.kind == Kind::key    ? key.eq(f.first < 0 ? first + length + f.first : f.first).expand_as(own)
                    : f.kind == Kind::band ? (key.ge(1) & key.ge(query + f.first) & key.le(query + f.last))
                                           : seen;
                result[row].select(1, i).narrow(1, 0, length).copy_(terms.masked_fill(chosen.logical_not(), 0).sum(-1));
            }
        }
        return result;
    }

    /// Attention computed with tensors of `type`. In the padding it is 0, as in the output of attend().
    at::Tensor plain(const AttentionCase& c, at::ScalarType type) const {
        const at::Tensor mask =
            visibleKeys(c.first, c.lengths, c.positions, keys.size(2), c.shape.causal, c.shape.window, at::kCPU);
        const at::Tensor context = plainAttention(queries.to(type), keys.nan_to_num().to(type),
                                                  values.nan_to_num().to(type), mask, c.shape.scale, c.shape.softcap);
        const at::Tensor side = context.transpose(1, 2).reshape({queries.size(0), c.positions, -1}).clone();
        for (std::size_t row = 0; row < c.first.size(); ++row)
            side[static_cast<std::int64_t>(row)].narrow(0, c.lengths[row], c.positions - c.lengths[row]).zero_();
        return side;
    }
};

} // namespace

class TestLayerLoops : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(2); }
    void init() { at::manual_seed(3); }
    void cleanup() {
        at::set_num_threads(2);
        useBestInstructionSet();
        useBestRowProducts();
    }

    void normsEqualFloat64_data() { addInstructionSets(); }
    void normsEqualFloat64() {
        useInstructionSet();
        double error = 0;
        for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
            for (const int width : {1, 3, 16, 37, 64, 576, 1000, 4096}) {
                for (const bool adds : {false, true})
                    error = std::max(error, normError(kind, width, adds));
            }
        }
        verify("norms", error, 1e-6);
    }

    void headsEqualFloat64_data() { addInstructionSets(); }
    void headsEqualFloat64() {
        useInstructionSet();
        double error = 0;
        for (const int headDim : {6, 12, 64, 80, 128}) {
            for (const int dims : {0, 4, headDim})
                for (const bool norms : {false, true})
                    error = std::max(error, placeError(headDim, dims, norms));
        }
        verify("norms and turns of heads", error, 1e-6);
    }

    void activationsEqualFloat64_data() { addInstructionSets(); }
    void activationsEqualFloat64() {
        useInstructionSet();
        for (const Activation activation :
             {Activation::silu, Activation::geluTanh, Activation::geluErf, Activation::relu}) {
            double error = 0;
            for (const int width : {1, 7, 16, 100, 1536}) {
                for (const bool gated : {false, true}) {
                    const at::Tensor projected = normal({13, gated ? 2 * width : width}, 3);
                    const at::Tensor hidden = inBothTypes(
                        {13, width}, [&](const at::Tensor& out) { activateRows(projected, activation, gated, out); });
                    error = std::max(error, worst(hidden, plainActivation(wide(projected), activation, gated)));
                }
            }
            verify(QString("activation %1").arg(static_cast<int>(activation)), error, 1e-6);
        }
    }
    void activationsAreExactInTheirTails_data() { addInstructionSets(); }
    void activationsAreExactInTheirTails() {
        useInstructionSet();
        for (const Activation activation : {Activation::silu, Activation::geluTanh, Activation::geluErf}) {
            const at::Tensor x = at::linspace(-5, 30, 100003, at::kFloat).unsqueeze(0);
            const at::Tensor hidden = at::empty_like(x);
            activateRows(x, activation, false, hidden);
            const at::Tensor wanted = plainActivation(wide(x), activation, false);
            const double error = ((wide(hidden) - wanted).abs() / (wanted.abs() + 1e-30)).max().item<double>();
            verify(QString("relative, activation %1").arg(static_cast<int>(activation)), error, 4e-6);
        }
        const at::Tensor far = at::tensor({-200.0F, -95.0F, 95.0F, 3e38F}, at::kFloat).unsqueeze(0);
        const at::Tensor hidden = at::empty_like(far);
        for (const Activation activation : {Activation::silu, Activation::geluTanh, Activation::geluErf}) {
            activateRows(far, activation, false, hidden);
            QVERIFY(hidden.narrow(1, 0, 2).abs().max().item<double>() < 1e-35);
            QVERIFY(hidden.narrow(1, 2, 2).equal(far.narrow(1, 2, 2)));
        }
    }

    void attentionEqualsFloat64_data() {
        addInstructionSets([](const char* instructionSet) {
            for (std::size_t i = 0; i < attentionCases.size(); ++i)
                QTest::addRow("%s, %s", attentionCases[i].name, instructionSet)
                    << QString(instructionSet) << static_cast<int>(i);
        });
    }
    void attentionEqualsFloat64() {
        useInstructionSet();
        QFETCH(int, number);
        const AttentionCase& c = attentionCases[static_cast<std::size_t>(number)];
        const AttentionInput input(c);
        const at::Tensor wanted = input.plain(c, at::kDouble);
        const double plainError = worst(input.plain(c, at::kFloat), wanted);
        verify(QString("attention (plain float32: %1)").arg(plainError, 0, 'g', 2), worst(input.attended(c), wanted),
               std::max(1e-6, 2 * plainError));
    }

    void descriptionsEqualFloat64_data() { addInstructionSets(); }
    void descriptionsEqualFloat64() {
        useInstructionSet();
        using Kind = AttentionFeature::Kind;
        const std::vector<AttentionFeature> summed{{Kind::key, 0},         {Kind::key, 5},      {Kind::key, -1},
                                                   {Kind::key, -40},       {Kind::band, -3, 0}, {Kind::band, -1, -1},
                                                   {Kind::band, -700, -5}, {Kind::entropy}};
        std::vector<AttentionFeature> all = summed;
        all.push_back({Kind::shiftedLog, 0, 0, 1e-5F});
        all.push_back({Kind::shifted, 0, 0, 1e-6F});
        for (const AttentionCase& c : attentionCases) {
            const AttentionInput input(c);
            for (const auto& wanted : {summed, all})
                verify(QString("description: %1").arg(c.name),
                       worst(input.described(c, wanted), input.plainlyDescribed(c, wanted)), 2e-5);
        }
    }

    void attentionInBfloat16IsThatOfRoundedNumbers_data() {
        addRowProducts([](const char* products) { QTest::newRow(products) << QString(products); });
    }
    void attentionInBfloat16IsThatOfRoundedNumbers() {
        useRowProductsOfTest();
        using Kind = AttentionFeature::Kind;
        const std::vector<AttentionFeature> wanted{{Kind::key, 0}, {Kind::band, -3, 0}, {Kind::entropy}};
        for (const AttentionCase& c : attentionCases) {
            const AttentionInput input = AttentionInput(c).rounded();
            verify(QString("attention in bfloat16: %1").arg(c.name),
                   normOfError(input.attendedInHalves(c), input.plain(c, at::kDouble)), halfTolerance);
            verify(QString("description in bfloat16: %1").arg(c.name),
                   worst(input.described(c, wanted, at::kBFloat16), input.plainlyDescribed(c, wanted)), 2e-5);
        }
    }

    void halvesAreAttendedToLikeTheSameFloats_data() { addInstructionSets(); }
    void halvesAreAttendedToLikeTheSameFloats() {
        useInstructionSet();
        for (const AttentionCase& c : attentionCases) {
            const AttentionInput floats = AttentionInput(c).rounded();
            QVERIFY2(sameBits(floats.withHalves().attended(c), floats.attended(c)), c.name);
            QVERIFY2(sameBits(floats.withHalves().attendedInHalves(c), floats.attendedInHalves(c)), c.name);
        }
    }

    void crossEntropyEqualsFloat64_data() { addInstructionSets(); }
    void crossEntropyEqualsFloat64() {
        useInstructionSet();
        double error = 0;
        for (const int vocab : {1, 5, 17, 2048, 5003, 49152}) {
            for (const float softcap : {0.0F, 8.0F})
                error = std::max(error, crossEntropyError(vocab, softcap));
        }
        verify("cross-entropy", error, 1e-6);
    }
    void theFirstOfEqualLogitsIsTheLargest() {
        const at::Tensor logits = at::zeros({4, 5000});
        logits[1][40] = 7.0F;
        logits[1][4500] = 7.0F;
        logits[2].fill_(-std::numeric_limits<float>::infinity())[3] = 1.0F;
        const std::vector<int> targets = {0, 4500, 3, -1};
        std::vector<float> losses(4);
        std::vector<std::uint8_t> greedy(4);
        crossEntropyRows(logits, targets, 0, losses, greedy);
        QCOMPARE(greedy, (std::vector<std::uint8_t>{1, 0, 1, 0}));
        QCOMPARE(losses[2], 0.0F);
        QCOMPARE(losses[3], 0.0F);
        crossEntropyRows(logits, std::vector<int>{1, 40, 2, -1}, 0, losses, greedy);
        QCOMPARE(greedy, (std::vector<std::uint8_t>{0, 1, 0, 0}));
    }

    void resultsDoNotDependOnThreads() {
        const at::Tensor x = normal({301, 576});
        const at::Tensor weight = normal({576});
        for (const AttentionCase& c : attentionCases) {
            const AttentionInput input(c);
            const auto results = [&](int threads) {
                at::set_num_threads(threads);
                const at::Tensor normed = at::empty_like(x);
                normRows(x, {NormKind::layer, 1e-6, data(weight), nullptr}, normed);
                const at::Tensor hidden = at::empty({301, 288});
                activateRows(x, Activation::silu, true, hidden);
                std::vector<int> targets(301, 5);
                at::Tensor losses = at::empty({301});
                std::vector<std::uint8_t> greedy(301);
                crossEntropyRows(x, targets, 0, {losses.data_ptr<float>(), 301}, greedy);
                return std::vector<at::Tensor>{normed, hidden, losses, input.attended(c)};
            };
            const auto one = results(1);
            const auto two = results(2);
            for (std::size_t i = 0; i < one.size(); ++i)
                QVERIFY2(sameBits(one[i], two[i]), c.name);
        }
    }

    void threadsMayMultiplyAtOnce() {
        const at::Tensor input = normal({50, 300});
        // All matrices have the same shape, so they share one generated kernel.
        std::vector<std::unique_ptr<PackedMatrix>> matrices;
        std::vector<at::Tensor> wanted;
        const auto product = [&](std::size_t matrix) {
            at::Tensor result = at::empty({50, 200});
            matrices[matrix]->multiply(input, result, false);
            return result;
        };
        for (std::size_t i = 0; i < 4; ++i) {
            matrices.push_back(std::make_unique<PackedMatrix>(normal({200, 300})));
            wanted.push_back(product(i));
        }
        std::atomic<int> different = 0;
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < 4; ++i)
                threads.emplace_back([&, i] {
                    for (int round = 0; round < 300; ++round)
                        different += product(i).equal(wanted[i]) ? 0 : 1;
                });
        }
        QCOMPARE(different.load(), 0);
    }

    void whatIsNoNumberShowsInItsRowOnly() {
        const at::Tensor x = normal({5, 40});
        x[2][7] = notANumber;
        checkOnlyRow2([&](const at::Tensor& out) { normRows(x, {NormKind::rms, 1e-6, data(x), nullptr}, out); }, 40);
        checkOnlyRow2([&](const at::Tensor& out) { activateRows(x, Activation::silu, true, out); }, 20);
        checkOnlyRow2(
            [&](const at::Tensor& out) {
                std::vector<std::uint8_t> greedy(5);
                crossEntropyRows(x, std::vector<int>(5, 1), 0, {out.data_ptr<float>(), 5}, greedy);
            },
            1);
        const AttentionCase& c = attentionCases[1];
        AttentionInput input(c);
        input.queries[0][4][9][63] = notANumber;
        const at::Tensor ofQuery = input.attended(c).isnan();
        QVERIFY(ofQuery[0][9].narrow(0, 4 * 64, 64).all().item<bool>());
        QCOMPARE(ofQuery.sum().item<std::int64_t>(), std::int64_t{64});
        input = AttentionInput(c);
        input.keys[1][2][0][0] = notANumber;
        const at::Tensor ofKey = input.attended(c).isnan();
        QVERIFY(ofKey[1].narrow(0, 0, 77).narrow(1, 6 * 64, 3 * 64).all().item<bool>());
        QCOMPARE(ofKey.sum().item<std::int64_t>(), std::int64_t{77 * 3 * 64});
    }

private:
    static double normError(NormKind kind, int width, bool adds) {
        const at::Tensor x = normal({29, width}) + 0.5;
        const at::Tensor added = normal({29, width});
        const at::Tensor weight = normal({width});
        const at::Tensor bias = kind == NormKind::layer ? normal({width}) : at::Tensor();
        const NormValues norm{kind, 1e-3, data(weight), data(bias)};
        const at::Tensor sum = adds ? at::empty_like(x) : x;
        const at::Tensor normed = inBothTypes({29, width}, [&](const at::Tensor& out) {
            if (adds)
                addAndNormRows(x, added, sum, norm, out);
            else
                normRows(x, norm, out);
        });
        if (adds && !sameBits(sum, x + added))
            return notANumber;
        return worst(normed, plainNorm(wide(sum), kind, 1e-3, wide(weight), wide(bias)));
    }

    /// The largest error of placeHeads() with 3 query and 2 KV heads and two rows of 5 and 3 tokens. NaN if it writes
    /// to any other position.
    static double placeError(int headDim, int dims, bool norms) {
        constexpr int positions = 5;
        const std::vector<int> first = {2, 0};
        const std::vector<int> lengths = {5, 3};
        const AttentionShape shape{.heads = 3, .kvHeads = 2, .headDim = headDim};
        const at::Tensor projected = normal({2, positions, 7 * headDim});
        const at::Tensor angles = at::rand({9, dims / 2}) * 6;
        const at::Tensor cosines = angles.cos();
        const at::Tensor sines = angles.sin();
        const at::Tensor weight = normal({headDim});
        const NormValues norm{NormKind::rms, 1e-6, norms ? data(weight) : nullptr, nullptr};
        const at::Tensor queries = at::full({2, 3, positions, headDim}, notANumber, at::kFloat);
        const at::Tensor keys = at::full({2, 2, 9, headDim}, notANumber, at::kFloat);
        const at::Tensor values = at::full({2, 2, 9, headDim}, notANumber, at::kFloat);
        placeHeads(projected, shape, norm, norm, {data(cosines), data(sines), dims}, first, lengths, queries,
                   {keys, values});
        const at::Tensor keyHalves = keys.new_full(keys.sizes(), notANumber, at::kBFloat16);
        const at::Tensor valueHalves = keyHalves.clone();
        placeHeads(projected, shape, norm, norm, {data(cosines), data(sines), dims}, first, lengths, queries,
                   {keyHalves, valueHalves});
        double error = 0;
        if (!sameNumbers(keyHalves, keys.to(at::kBFloat16)) || !sameNumbers(valueHalves, values.to(at::kBFloat16)))
            return notANumber;
        for (std::int64_t row = 0; row < 2; ++row) {
            const std::int64_t begin = first[static_cast<std::size_t>(row)];
            const std::int64_t count = lengths[static_cast<std::size_t>(row)];
            const at::Tensor heads =
                wide(projected[row]).narrow(0, 0, count).view({1, count, 7, headDim}).transpose(1, 2);
            const auto rotated = [&](std::int64_t head, std::int64_t number) {
                const at::Tensor own = heads.narrow(1, head, number);
                const at::Tensor normed = norms ? plainNorm(own, NormKind::rms, 1e-6, wide(weight), {}) : own;
                return plainRotary(normed, cosines.narrow(0, begin, count).unsqueeze(0),
                                   sines.narrow(0, begin, count).unsqueeze(0))[0];
            };
            error = std::max({error, worst(queries[row].narrow(1, 0, count), rotated(0, 3)),
                              worst(keys[row].narrow(1, begin, count), rotated(3, 2)),
                              worst(values[row].narrow(1, begin, count), heads[0].narrow(0, 5, 2))});
            if (queries[row].isnan().sum().item<std::int64_t>() != 3 * (positions - count) * headDim ||
                keys[row].isnan().sum().item<std::int64_t>() != 2 * (9 - count) * headDim ||
                values[row].isnan().sum().item<std::int64_t>() != 2 * (9 - count) * headDim)
                return notANumber;
        }
        return error;
    }

    static double crossEntropyError(int vocab, float softcap) {
        const at::Tensor logits = normal({17, vocab}, 6);
        const at::Tensor targets = at::randint(0, vocab, {17}, at::kLong);
        targets[3] = -1;
        targets.narrow(0, 8, 9).copy_(logits.argmax(-1).narrow(0, 8, 9));
        const std::vector<int> numbers(targets.data_ptr<std::int64_t>(), targets.data_ptr<std::int64_t>() + 17);
        const at::Tensor losses = at::full({17}, notANumber, at::kFloat);
        const at::Tensor greedy = at::zeros({17}, at::kByte);
        crossEntropyRows(logits, numbers, softcap, {losses.data_ptr<float>(), 17},
                         {greedy.data_ptr<std::uint8_t>(), 17});
        if (!greedy.to(at::kBool).equal(logits.argmax(-1).eq(targets)))
            return notANumber;
        return worst(losses, plainCrossEntropy(wide(logits), targets, softcap));
    }

    template <typename Loop>
    static void checkOnlyRow2(const Loop& loop, std::int64_t width) {
        const at::Tensor out = at::zeros({5, width});
        loop(out);
        const at::Tensor bad = out.isnan().any(-1);
        QVERIFY(bad[2].item<bool>());
        QCOMPARE(bad.sum().item<std::int64_t>(), std::int64_t{1});
    }
};

SECATEUR_SUITE(TestLayerLoops)
#include "tst_layer_loops.moc"
