// Products of bfloat16 inputs with weights in panels, and what is computed from them in the cache, against the same in
// float64: on matrix tiles and in vectors, as far as the processor has them.

#include "tests/support/loop_tests.h"

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/kernels/layer_loops.h"
#include "backends/kernels/packed_matrix.h"
#endif

#include "backends/base/runtime.h"
#include "tests/support/suite.h"

using namespace secateur;

namespace {

/// Sets the number of threads as long as it exists.
struct Threads {
    explicit Threads(int count) { at::set_num_threads(count); }
    ~Threads() { at::set_num_threads(before); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    int before = at::get_num_threads();
};

/// A packed weight, and its numbers.
struct Panels {
    Panels(std::int64_t in, std::int64_t out)
        : weight(normalHalves({out, in}))
        , packed(weight)
        , bias(normal({out})) {}

    WeightPanels panels() const { return packed.panels().value(); }
    at::Tensor judged(const at::Tensor& input) const { return wide(input).mm(wide(weight).t()); }

    at::Tensor weight;
    PackedMatrix packed;
    at::Tensor bias;
};

} // namespace

class TestPanelProducts : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(0); }
    void init() { at::manual_seed(5); }
    void cleanup() { useBestRowProducts(); }

    void panelsMayBeOfAnySize_data() {
        QTest::addColumn<int>("in");
        QTest::addColumn<int>("out");
        addRowProducts([](const char* products) {
            for (const auto& [in, out] :
                 {std::pair{32, 64}, {33, 65}, {64, 16}, {100, 130}, {577, 961}, {1153, 47}, {7, 5}})
                QTest::addRow("%d to %d, %s", in, out, products) << in << out << QString(products);
        });
    }
    void panelsMayBeOfAnySize() {
        useRowProductsOfTest();
        QFETCH(int, in);
        QFETCH(int, out);
        const Panels weight(in, out);
        if (!weight.packed.panels())
            QSKIP("oneDNN packs this matrix otherwise");
        double error = 0;
        const at::Tensor most = normalHalves({300, in});
        const at::Tensor before = normal({300, out});
        const at::Tensor whole = at::empty({300, out}, at::kFloat);
        multiplyPanels(weight.panels(), most, whole, false);
        for (const int rows : {1, 9, 16, 31, 129, 300}) {
            const at::Tensor input = most.narrow(0, 0, rows);
            const at::Tensor sums = before.narrow(0, 0, rows).clone();
            multiplyPanels(weight.panels(), input, sums, true);
            error = std::max(error, worst(sums, weight.judged(input) + wide(before.narrow(0, 0, rows))));
            const Threads one(1);
            const at::Tensor alone = at::empty({rows, out}, at::kFloat);
            multiplyPanels(weight.panels(), input, alone, false);
            QVERIFY(at::equal(alone, whole.narrow(0, 0, rows))); // neither rows nor threads matter
        }
        qInfo("worst %.1e", error);
        QVERIFY(error < 3e-6);
    }

    void hiddenUnitsAreThoseOfTheProduct_data() {
        QTest::addColumn<int>("width");
        QTest::addColumn<bool>("gated");
        addRowProducts([](const char* products) {
            for (const int width : {16, 64, 100, 333, 1000})
                for (const bool gated : {true, false})
                    QTest::addRow("%d%s, %s", width, gated ? " gated" : "", products)
                        << width << gated << QString(products);
        });
    }
    void hiddenUnitsAreThoseOfTheProduct() {
        useRowProductsOfTest();
        QFETCH(int, width);
        QFETCH(bool, gated);
        const Panels weight(96, gated ? 2 * width : width);
        if (!weight.packed.panels())
            QSKIP("oneDNN packs this matrix otherwise");
        const at::Tensor input = normalHalves({150, 96}) / 10;
        double error = 0;
        for (const Activation activation : {Activation::silu, Activation::geluTanh, Activation::relu})
            for (const bool biased : {false, true}) {
                at::Tensor projected = weight.judged(input);
                projected = biased ? projected + wide(weight.bias) : projected;
                const at::Tensor expected = at::empty({150, width}, at::kFloat);
                activateRows(projected.to(at::kFloat).contiguous(), activation, gated, expected);
                const at::Tensor found = at::empty_like(expected);
                const float* bias = biased ? weight.bias.data_ptr<float>() : nullptr;
                activatePanels(weight.panels(), input, bias, activation, gated, found);
                error = std::max(error, worst(found, wide(expected)));
                const at::Tensor halves = at::empty({150, width}, at::kBFloat16);
                activatePanels(weight.panels(), input, bias, activation, gated, halves);
                QVERIFY(at::equal(halves, found.to(at::kBFloat16)));
            }
        qInfo("worst %.1e", error);
        QVERIFY(error < 1e-5);
    }

    void lossesAreThoseOfTheLogits_data() {
        QTest::addColumn<int>("vocab");
        addRowProducts([](const char* products) {
            for (const int vocab : {100, 512, 1025, 5000})
                QTest::addRow("%d, %s", vocab, products) << vocab << QString(products);
        });
    }
    void lossesAreThoseOfTheLogits() {
        useRowProductsOfTest();
        QFETCH(int, vocab);
        const Panels weight(64, vocab);
        if (!weight.packed.panels())
            QSKIP("oneDNN packs this matrix otherwise");
        const at::Tensor input = normalHalves({200, 64}) / 4;
        std::vector<int> targets;
        for (int row = 0; row < 200; ++row)
            targets.push_back(row % 7 == 0 ? -1 : row * 31 % vocab);
        double error = 0;
        for (const float softcap : {0.0F, 3.0F})
            for (const bool biased : {false, true}) {
                at::Tensor logits = weight.judged(input);
                logits = (biased ? logits + wide(weight.bias) : logits).to(at::kFloat).contiguous();
                for (int row = 1; row < 200; row += 3) // of some rows the target is the largest
                    if (targets[static_cast<std::size_t>(row)] >= 0)
                        targets[static_cast<std::size_t>(row)] = logits[row].argmax().item<int>();
                std::vector<float> expected(200);
                std::vector<float> found(200);
                std::vector<std::uint8_t> expectedGreedy(200);
                std::vector<std::uint8_t> greedy(200);
                crossEntropyRows(logits, targets, softcap, expected, expectedGreedy);
                crossEntropyOfPanels(weight.panels(), input, biased ? weight.bias.data_ptr<float>() : nullptr, targets,
                                     softcap, found, greedy);
                for (std::size_t i = 0; i < 200; ++i)
                    error = std::max(error, std::abs(static_cast<double>(expected[i]) - found[i]));
                QCOMPARE(greedy, expectedGreedy);
                QVERIFY(std::ranges::count(greedy, 1) > 30);
            }
        qInfo("worst %.1e", error);
        QVERIFY(error < 1e-5);
    }

    /// As crossEntropyRows(): the first of equal largest logits counts, and NaN is never the largest.
    void equalLogitsAndNanAreCounted_data() {
        addRowProducts([](const char* products) { QTest::newRow(products) << QString(products); });
    }
    void equalLogitsAndNanAreCounted() {
        useRowProductsOfTest();
        const Panels weight(32, 1200);
        at::Tensor rows = weight.weight.clone();
        rows[700].copy_(rows[3]);
        const PackedMatrix packed(rows);
        if (!packed.panels())
            QSKIP("oneDNN packs this matrix otherwise");
        const at::Tensor input = (rows[3] * 4).expand({12, 32}).contiguous();
        std::vector<int> targets(12, 700);
        targets[1] = 3;
        std::vector<float> losses(12);
        std::vector<std::uint8_t> greedy(12);
        crossEntropyOfPanels(packed.panels().value(), input, nullptr, targets, 0, losses, greedy);
        QVERIFY(!greedy[0] && greedy[1] && losses[0] == losses[1]);
        const at::Tensor undefined = at::full({12, 32}, std::numeric_limits<float>::quiet_NaN()).to(at::kBFloat16);
        crossEntropyOfPanels(packed.panels().value(), undefined, nullptr, targets, 0, losses, greedy);
        QVERIFY(std::isnan(losses[0]) && !greedy[0]);
    }
};

SECATEUR_SUITE(TestPanelProducts)
#include "tst_panel_products.moc"
