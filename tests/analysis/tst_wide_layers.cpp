// Gate-norms of layers of width 2048 and more, against product matrices computed with ATen in float64: rounding, choice
// of kernels, precision under cancellation, estimates, and the order in which layers are measured.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "analysis/metrics/wide_query_key.h"
#include "tests/support/suite.h"
#include "tests/support/tiny_model.h"
#include <ATen/ATen.h> // before Qt, whose keyword macros break ATen's headers
#endif

#include "analysis/base/error.h"
#include "analysis/metrics/measure.h"
#include "analysis/metrics/measure_stages.h"
#include "backends/kernels/machine_kernels.h"
#include "backends/base/runtime.h"
#include "tests/support/device.h"

#include <QtTest>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr int hidden = 2048;
constexpr int headDim = 128;

/// The kernels of this processor, but with every precision allowed, even those that are slow on it.
class AllPrecisions : public Kernels {
public:
    std::span<const Precision> precisions() const override {
        static constexpr std::array all{Precision::bf16, Precision::split, Precision::float32};
        return hasBf16() ? std::span<const Precision>(all) : machineKernels().precisions();
    }
    Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
              Precision precision) const override {
        return machineKernels().rows(source, gain, blockRows, repeats, precision);
    }
    at::Tensor product(const at::Tensor& a, const at::Tensor& b) const override {
        return machineKernels().product(a, b);
    }
    at::Tensor grams(const Rows& rows, std::int64_t blocks) const override {
        return machineKernels().grams(rows, blocks);
    }
    std::unique_ptr<GramInnerProducts> gramInnerProducts(const at::Tensor& query, const at::Tensor& key,
                                                         const at::Tensor& gain, std::int64_t blocks,
                                                         const std::function<void()>& between) const override {
        return machineKernels().gramInnerProducts(query, key, gain, blocks, between);
    }
    at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const override {
        return machineKernels().innerProducts(a, b);
    }
    at::Tensor columnSquares(const at::Tensor& weight) const override { return machineKernels().columnSquares(weight); }
    double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const override {
        return machineKernels().squaredNormOfProduct(a, b, between);
    }
    static bool hasBf16() { return machineKernels().precisions().front() == Precision::bf16; }
};

const AllPrecisions allPrecisions;

const Kernels& kernelsNamed(const QString& name) {
    static const std::shared_ptr<const Kernels> ofDevice = kernelsOf(onDevice().device); // machineKernels() on the CPU
    return name == "plain" ? plainKernels() : name == "machine" ? *ofDevice : allPrecisions;
}

/// Queries and keys whose layer norm is about `ratio` times the norm that independent random rows would give. Rows come
/// in pairs that nearly cancel. The two rows of a pair have different scales, so that their rounding errors do not
/// cancel.
WideSource cancellingSource(double ratio, int heads, int kvHeads, at::ScalarType type, int width = hidden) {
    at::manual_seed(7);
    const auto normal = [&](std::int64_t rows) { return at::empty({rows, width}, at::kDouble).normal_(0, 0.02); };
    at::Tensor query = normal(std::int64_t{heads} * headDim);
    at::Tensor key = normal(std::int64_t{kvHeads} * headDim);
    if (ratio < 1) {
        const at::Tensor scale = at::empty({key.size(0) / 2, 1}, at::kDouble).uniform_(0.8, 1.25);
        const auto even = [](const at::Tensor& t) { return t.slice(0, 0, t.size(0), 2); };
        const auto odd = [](const at::Tensor& t) { return t.slice(0, 1, t.size(0), 2); };
        odd(key).copy_(even(key) / scale + odd(key) * (ratio * std::sqrt(2.0)));
        const at::Tensor scales = scale.view({kvHeads, headDim / 2, 1}).repeat_interleave(heads / kvHeads, 0);
        odd(query).copy_(-even(query) * scales.reshape({-1, 1}));
    }
    return {query.to(type), key.to(type), {}, heads, kvHeads, headDim};
}

struct Reference {
    at::Tensor query; // [heads, headDim, columns] in float64
    at::Tensor key;   // the keys, repeated so that every query head has its own

    explicit Reference(const WideSource& source)
        : query(source.query.to(at::kDouble).view({source.heads, headDim, -1}))
        , key(source.key.to(at::kDouble)
                  .view({source.kvHeads, headDim, -1})
                  .repeat_interleave(source.heads / source.kvHeads, 0)) {}

    double layerNorm() const { return query.flatten(0, 1).t().mm(key.flatten(0, 1)).norm().item<double>(); }
    at::Tensor headNorms() const { return query.transpose(1, 2).bmm(key).square().sum({1, 2}).sqrt(); }
    /// The layer's norm if the contributions of its rows were independent.
    double randomPhaseNorm() const {
        const at::Tensor squares = query.square().sum(2) * key.square().sum(2);
        return std::sqrt(squares.sum().item<double>());
    }
};

/// Queries and keys with their expected norms, which are computed once and used for all kernels.
struct Case {
    WideSource source;
    double layerNorm;
    double randomPhaseNorm;
    at::Tensor headNorms;
};

const Case& cancellingCase(double ratio, int kvHeads, at::ScalarType type) {
    static std::map<std::tuple<double, int, at::ScalarType>, Case> cases;
    const auto [found, isNew] = cases.try_emplace({ratio, kvHeads, type});
    if (isNew) {
        const WideSource source = cancellingSource(ratio, 16, kvHeads, type);
        const Reference reference(source);
        found->second = {source, reference.layerNorm(), reference.randomPhaseNorm(), reference.headNorms()};
    }
    return found->second;
}

double worst(const at::Tensor& values, const at::Tensor& expected) {
    return (values / expected - 1).abs().max().item<double>();
}

/// The number of random layers whose exact norm lies within two standard errors of the estimate.
int covered(int layers, int width, double decay) {
    initialiseRuntime(1); // one thread is faster, because the matrices are small
    int inside = 0;
    for (int i = 0; i < layers; ++i) {
        at::manual_seed(static_cast<std::uint64_t>(i) + 1);
        // Row norms that decrease exponentially, so that few directions dominate the product.
        const at::Tensor sizes = at::exp(-decay * at::arange(width, at::kFloat)).unsqueeze(1);
        const auto draw = [&] { return (at::empty({width, width}, at::kFloat).normal_() * sizes); };
        const WideSource source{draw(), draw(), {}, width / 32, width / 32, 32};
        const Estimate estimate = WideQueryKey::estimateLayerNorm(plainKernels(), source);
        const double exact = source.query.t().mm(source.key).norm().item<double>();
        inside += std::abs(estimate.value - exact) <= 2 * estimate.standardError ? 1 : 0;
    }
    initialiseRuntime(0);
    return inside;
}

TinyModel wideModel(std::size_t layers, at::ScalarType type) {
    LayerSpec layer;
    layer.heads = layer.kvHeads = 16;
    layer.headDim = headDim;
    TinyModel model(layer, hidden, layers);
    model.multiplyBy(machineKernels());
    for (int i = 0; i < static_cast<int>(layers); ++i) {
        at::manual_seed(static_cast<std::uint64_t>(i));
        const auto draw = [&] { return at::empty({hidden, hidden}, at::kFloat).normal_(0, 0.02).to(type); };
        model.set(i, WeightName::query, draw());
        model.set(i, WeightName::key, draw());
    }
    return model;
}

} // namespace

class TestWideLayers : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(0); }

    void cancelledLayersAreExactInEveryType_data() {
        QTest::addColumn<QString>("kernels");
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<double>("ratio");
        for (const char* kernels : {"plain", "machine", "all"})
            for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat})
                for (const int kvHeads : {16, 4})
                    for (const double ratio : {1.0, 0.3, 0.1, 0.03}) {
                        const QString judged = kernels;
                        if ((judged == "plain" && ratio > 0.03) || (judged == "all" && kvHeads < 16))
                            continue; // covered by the rows "machine"
                        QTest::addRow("%s, %s, %d keys, %g", kernels, at::toString(type), kvHeads, ratio)
                            << judged << static_cast<int>(type) << kvHeads << ratio;
                    }
    }
    void cancelledLayersAreExactInEveryType() {
        QFETCH(QString, kernels);
        QFETCH(int, type);
        QFETCH(int, kvHeads);
        QFETCH(double, ratio);
        const Case& wanted = cancellingCase(ratio, kvHeads, static_cast<at::ScalarType>(type));
        WideQueryKey qk(kernelsNamed(kernels), wanted.source);
        const double layer = std::sqrt(qk.squaredLayerNorm([] {})) / wanted.layerNorm - 1;
        const double heads = worst(qk.squaredHeadNorms().sqrt(), wanted.headNorms);
        qInfo("norm %.3f of random phases; layer %.1e by %s, heads %.1e", wanted.layerNorm / wanted.randomPhaseNorm,
              layer, kvHeads == 16 ? name(qk.precision()) : "Gram matrices", heads);
        QVERIFY(std::abs(layer) < 1e-5);
        QVERIFY(heads < 1e-5);
    }

    void headsThatRoundingMovesAreMultipliedAgain() {
        if (machineKernels().precisions().size() < 3)
            QSKIP("this processor has no matrix tiles");
        at::manual_seed(9);
        constexpr int heads = 16;
        constexpr int columns = 4096;
        // Random combinations of `directions` vectors. With few directions the rows are similar to each other.
        const auto similar = [](std::int64_t rows, std::int64_t directions) {
            return at::randn({rows, directions}).mm(at::randn({directions, columns})) / std::sqrt(directions);
        };
        const at::Tensor common = similar(heads * headDim, 64);
        const auto drawn = [&] {
            at::Tensor rows = at::randn({heads * headDim, columns}) + common * 0.3;
            rows.narrow(0, 3 * headDim, headDim) = similar(headDim, 32);
            return (rows * 0.02).to(at::kHalf);
        };
        const WideSource source{drawn(), drawn(), {}, heads, heads, headDim};
        const auto grams = [](const at::Tensor& rows, std::int64_t blocks) {
            const at::Tensor apart = rows.to(at::kDouble).view({blocks, -1, columns});
            return apart.bmm(apart.transpose(1, 2));
        };
        const auto wanted = [&](std::int64_t blocks) {
            return (grams(source.query, blocks) * grams(source.key, blocks)).sum({1, 2}).sqrt();
        };
        WideQueryKey qk(machineKernels(), source);
        const double layer = std::sqrt(qk.squaredLayerNorm([] {})) / wanted(1).item<double>() - 1;
        QCOMPARE(QString(name(qk.precision())), QString("bf16"));
        const at::Tensor off = (qk.squaredHeadNorms().sqrt() / wanted(heads) - 1).abs();
        qInfo("layer %.1e by bf16; heads %.1e, of few directions %.1e", layer, off.max().item<double>(),
              off[3].item<double>());
        QVERIFY(std::abs(layer) < 3e-6);
        QVERIFY(off.max().item<double>() < 3e-6);
        QVERIFY(off[3].item<double>() < 1e-7);
    }

    void roundingSaysWhatItLoses() {
        at::manual_seed(3);
        const at::Tensor drawn = at::empty({8, 300}, at::kFloat).normal_();
        const at::Tensor gain = at::empty({300}, at::kFloat).uniform_(0.5, 2);
        for (const auto& [source, factor, repeats] :
             {std::tuple{drawn, gain, 2}, {drawn, at::Tensor(), 1}, {drawn.to(at::kHalf), at::Tensor(), 1}}) {
            const at::Tensor groups = source.to(at::kFloat).view({-1, repeats, 2, 300}).sum(1).reshape({-1, 300});
            const at::Tensor summed = (factor.defined() ? groups * factor : groups).to(at::kDouble);
            const Rows rows = machineKernels().rows(source, factor, 2, repeats, Precision::split);
            const at::Tensor left = summed - rows.high.to(at::kDouble);
            QVERIFY(worst(rows.squares, summed.square().sum(1)) < 1e-6);
            QVERIFY(worst(rows.lost, left.square().sum(1)) < 1e-3);
            QVERIFY(worst(rows.rounded, rows.high.to(at::kDouble).square().sum(1)) < 1e-6);
            QVERIFY((left - rows.low.to(at::kDouble)).abs().max().item<double>() < 0x1p-14);
            QVERIFY(rows.high.equal(summed.to(at::kFloat).to(at::kBFloat16)));
        }
    }
    void everyHalfIsReadExactly() {
        const at::Tensor all = at::arange(-32768, 32768, at::kShort).view(at::kHalf).view({256, 256});
        const Rows rows = machineKernels().rows(all, {}, 256, 1, Precision::float32);
        const at::Tensor expected = all.to(at::kFloat);
        QVERIFY(at::where(expected.isnan(), rows.high.isnan(), rows.high == expected).all().item<bool>());
        const Rows halves = machineKernels().rows(all.nan_to_num(), {}, 256, 1, Precision::split);
        QVERIFY((halves.high.to(at::kFloat) + halves.low.to(at::kFloat)).equal(all.nan_to_num().to(at::kFloat)));
    }
    void rowsThatLieApartAreRead() {
        at::manual_seed(4);
        const at::Tensor transposed = at::empty({300, 64}, at::kHalf).normal_().t();
        const Rows rows = machineKernels().rows(transposed, {}, 64, 1, Precision::float32);
        QVERIFY(rows.high.equal(transposed.to(at::kFloat)));
    }
    void columnsAreSquaredInEveryType() {
        at::manual_seed(5);
        const at::Tensor drawn = at::empty({600, 70}, at::kDouble).normal_();
        for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
            for (const at::Tensor& weight : {drawn.to(type), drawn.to(type).t()}) {
                const at::Tensor expected = weight.to(at::kDouble).square().sum(0);
                QVERIFY(worst(machineKernels().columnSquares(weight), expected) < 1e-14);
                QVERIFY(worst(plainKernels().columnSquares(weight), expected) < 1e-14);
            }
        }
    }
    void foldedNormsEqualMultipliedWeights() {
        WideSource source = cancellingSource(1, 16, 4, at::kBFloat16);
        source.gain = at::empty({hidden}, at::kFloat).uniform_(0.5, 2);
        const WideSource multiplied{source.query * source.gain, source.key * source.gain, {}, 16, 4, headDim};
        const Reference reference(multiplied);
        WideQueryKey qk(machineKernels(), source);
        QVERIFY(std::abs(std::sqrt(qk.squaredLayerNorm([] {})) / reference.layerNorm() - 1) < 1e-5);
        QVERIFY(worst(qk.squaredHeadNorms().sqrt(), reference.headNorms()) < 1e-5);
    }
    void brokenWeightsGiveNoNumber() {
        for (const float broken : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            WideSource source = cancellingSource(1, 16, 16, at::kHalf);
            source.query[5][7] = broken;
            WideQueryKey qk(machineKernels(), source);
            QVERIFY(!std::isfinite(qk.squaredLayerNorm([] {})));
            QVERIFY(!std::isfinite(qk.squaredHeadNorms()[0].item<double>()));
            QVERIFY(std::isfinite(qk.squaredHeadNorms()[1].item<double>()));
        }
    }

    void errorBarsAreHonest() {
        const int inside = covered(200, 512, 0);
        qInfo("200 layers of 512: %.1f %% within two standard errors", inside / 2.0);
        QVERIFY(inside >= 186 && inside <= 194);
        const int often = covered(2000, 128, 0);
        qInfo("2000 layers of 128: %.2f %%", often / 20.0);
        QVERIFY(often >= 1860 && often <= 1940);
        qInfo("200 layers of 256 that few directions dominate: %.1f %%", covered(200, 256, 0.03) / 2.0);
    }
    void estimatesOfCancelledLayersAreNotMovedByRounding() {
        for (const double ratio : {1.0, 0.1, 0.03}) {
            const WideSource source = cancellingSource(ratio, 16, 16, at::kHalf);
            const Estimate estimate = WideQueryKey::estimateLayerNorm(machineKernels(), source);
            const double off = (estimate.value - Reference(source).layerNorm()) / estimate.standardError;
            qInfo("at %g of random phases: %.2f standard errors of %.2g %%", ratio, off,
                  100 * estimate.standardError / estimate.value);
            QVERIFY(std::abs(off) < 3);
        }
    }

    void estimatesComeFirstAndExactValuesAfter() {
        const TinyModel model = wideModel(3, at::kHalf);
        std::vector<int> estimated;
        std::vector<int> exact;
        const auto results =
            measure(model, parseMetricRequests("gate_norm,gate_norm_head"), {}, [&](const LayerCells& cells) {
                if (cells.request != 0)
                    return;
                if (!cells.standardErrors.empty())
                    QVERIFY(exact.empty());
                (cells.standardErrors.empty() ? exact : estimated).push_back(cells.layer);
            });
        QCOMPARE(estimated, (std::vector{0, 1, 2}));
        std::sort(exact.begin(), exact.end());
        QCOMPARE(exact, (std::vector{0, 1, 2}));
        QVERIFY(!results.front().standardError);
        const double norm = model.tensor(1, WeightName::query)
                                .to(at::kDouble)
                                .t()
                                .mm(model.tensor(1, WeightName::key).to(at::kDouble))
                                .norm()
                                .item<double>();
        QVERIFY(std::abs(results[0].values(1, 0) / norm - 1) < 1e-5);
    }
    void aCancelStopsInsideALayer() {
        const TinyModel model = wideModel(1, at::kFloat);
        std::stop_source stop;
        int reports = 0;
        const Progress progress(
            [&](double, std::string_view) {
                stop.request_stop();
                ++reports;
            },
            stop.get_token());
        QVERIFY_EXCEPTION_THROWN(measure(model, parseMetricRequests("gate_norm"), progress), Cancelled);
        QCOMPARE(reports, 1);
    }

    void aDeviceThatIsNotThereIsRefused() {
        QCOMPARE(kernelsOf("cpu")->device(), std::string("cpu"));
        if (at::hasCUDA())
            QSKIP("there is CUDA here");
        try {
            kernelsOf("cuda:1");
            QFAIL("was accepted");
        } catch (const Error& error) {
            QCOMPARE(QString(error.what()),
                     QString("cuda:1: is not available: there is no CUDA device, or libtorch was built without CUDA. Leave "
                             "out --device, or use a libtorch with CUDA"));
        }
    }

    void theMostDoubtfulLayerIsMeasuredFirst() {
        LayerOrder order(5);
        order.setEstimate(0, 10, 0.1);
        order.setEstimate(1, 5, 0.3); // the interval around 5 overlaps those of layers 2 and 3
        order.setEstimate(2, 5.5, 0.1);
        order.setEstimate(3, 4.5, 0.1);
        order.setEstimate(4, 20, 0.2);
        QCOMPARE(order.next().value(), 1U);
        order.setExact(1, 5.45); // the exact value 5.45 lies in the interval of layer 2 only
        QCOMPARE(order.next().value(), 2U);
        order.setExact(2, 5.6);
        // Of the remaining layers 0, 3 and 4, layer 4 has the largest standard error.
        QCOMPARE(order.next().value(), 4U);
        QCOMPARE(order.next().value(), 0U);
        QCOMPARE(order.next().value(), 3U);
        QVERIFY(!order.next());
    }
    void withoutEstimatesLayersComeInOrder() {
        LayerOrder order(3);
        QCOMPARE(order.next().value(), 0U);
        QCOMPARE(order.next().value(), 1U);
        QCOMPARE(order.next().value(), 2U);
    }
};

SECATEUR_SUITE(TestWideLayers)
#include "tst_wide_layers.moc"
