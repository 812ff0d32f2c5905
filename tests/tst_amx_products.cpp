// Products on the matrix tiles of Intel's processors, judged by float64.

#include "tests/support/loop_tests.h"

#ifndef Q_MOC_RUN // moc cannot read it
#include "backends/kernels/amx_products.h"
#include "backends/kernels/amx_tiles.h"
#endif

#include "backends/runtime.h"

using namespace secateur;

namespace {

at::Tensor drawn(std::vector<std::int64_t> sizes) {
    return normal(std::move(sizes)).to(at::kBFloat16);
}

double squaredNorm(const at::Tensor& product) {
    return product.square().sum().item<double>();
}

} // namespace

class TestAmxProducts : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        initialiseRuntime(0);
        if (!amx::isHere())
            QSKIP("this processor has no matrix tiles");
    }
    void init() { at::manual_seed(5); }

    void factorsMayBeOfAnySize_data() {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("left");
        QTest::addColumn<int>("right");
        for (const auto& [rows, left, right] :
             {std::tuple{128, 128, 128}, {131, 129, 130}, {1055, 159, 161}, {2100, 700, 600}, {1024, 1041, 145}})
            QTest::addRow("%d x %d, %d", rows, left, right) << rows << left << right;
    }
    void factorsMayBeOfAnySize() {
        QFETCH(int, rows);
        QFETCH(int, left);
        QFETCH(int, right);
        double error = 0;
        for (const bool turnedA : {false, true})
            for (const bool turnedB : {false, true}) {
                const at::Tensor a = turnedA ? drawn({left, rows}).t() : drawn({rows, left});
                const at::Tensor b = turnedB ? drawn({right, rows}).t() : drawn({rows, right});
                QVERIFY(amx::suitsNorm(a, b));
                const double square = amx::squaredNorm(std::vector{std::pair{a, b}}, [] {});
                error = std::max(error, std::abs(square / squaredNorm(wide(a).t().mm(wide(b))) - 1));
            }
        qInfo("worst %.1e", error);
        QVERIFY(error < 1e-8);
    }

    void gramsAreThoseOfEachBlock_data() {
        QTest::addColumn<int>("blocks");
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("columns");
        for (const auto& [blocks, size, columns] :
             {std::tuple{9, 64, 128}, {1, 128, 1600}, {3, 150, 333}, {2, 257, 700}, {1, 1000, 200}})
            QTest::addRow("%d of %d x %d", blocks, size, columns) << blocks << size << columns;
    }
    void gramsAreThoseOfEachBlock() {
        QFETCH(int, blocks);
        QFETCH(int, size);
        QFETCH(int, columns);
        const at::Tensor high = drawn({blocks * size, columns + 7}).narrow(1, 3, columns);
        const at::Tensor low = drawn({blocks * size, columns}) / 256;
        const auto judged = [&](const at::Tensor& values, const at::Tensor& leftOut) {
            const at::Tensor rows = values.view({blocks, size, columns});
            return rows.bmm(rows.transpose(1, 2)) - leftOut;
        };
        QVERIFY(amx::suitsGrams(high, blocks));
        const at::Tensor one = amx::grams(high, {}, blocks);
        const at::Tensor two = amx::grams(high, low, blocks);
        const at::Tensor zero = at::zeros({}, at::kDouble);
        const double oneError = worst(one, judged(wide(high).contiguous(), zero));
        const double twoError = worst(two, judged(wide(high) + wide(low), judged(wide(low), zero)));
        qInfo("worst %.1e, with halves %.1e", oneError, twoError);
        QVERIFY(oneError < 1e-5 && twoError < 1e-5);
        QVERIFY(at::equal(one, one.transpose(1, 2)) && at::equal(two, two.transpose(1, 2)));
    }

    void squaresOfAllPairsAreSummed() {
        const at::Tensor a = drawn({1100, 530});
        const at::Tensor b = drawn({1100, 1300});
        const at::Tensor low = drawn({1100, 530}) / 256;
        int pauses = 0;
        const double one = amx::squaredNorm(std::vector{std::pair{a, b}}, [&] { ++pauses; });
        const double two = amx::squaredNorm(std::vector{std::pair{a, b}, {low, b}}, [] {});
        const double oneError = one / squaredNorm(wide(a).t().mm(wide(b))) - 1;
        const double twoError = two / squaredNorm((wide(a) + wide(low)).t().mm(wide(b))) - 1;
        qInfo("one pair %.1e, two %.1e", oneError, twoError);
        QVERIFY(std::abs(oneError) < 1e-8 && std::abs(twoError) < 1e-8);
        QVERIFY(pauses > 0);
    }

    void smallOrScatteredFactorsAreLeftToOthers() {
        const at::Tensor small = drawn({64, 200});
        const at::Tensor apart = drawn({300, 600}).slice(1, 0, 600, 2);
        QVERIFY(!amx::suitsNorm(small, small));
        QVERIFY(!amx::suitsNorm(drawn({300, 300}), apart));
        QVERIFY(!amx::suitsNorm(drawn({200, 200}).to(at::kFloat), drawn({200, 200})));
        QVERIFY(!amx::suitsGrams(small, 2));
        QVERIFY(!amx::suitsGrams(apart, 1));
    }
};

QTEST_GUILESS_MAIN(TestAmxProducts)
#include "tst_amx_products.moc"
