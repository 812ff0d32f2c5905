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
        QTest::addColumn<int>("terms");
        QTest::addColumn<int>("columns");
        for (const auto& [rows, terms, columns] :
             {std::tuple{128, 128, 128}, {129, 131, 130}, {159, 1055, 161}, {700, 2100, 600}, {1041, 1024, 145}})
            QTest::addRow("%d x %d x %d", rows, terms, columns) << rows << terms << columns;
    }
    void factorsMayBeOfAnySize() {
        QFETCH(int, rows);
        QFETCH(int, terms);
        QFETCH(int, columns);
        double error = 0;
        for (const bool turnedA : {false, true})
            for (const bool turnedB : {false, true}) {
                const at::Tensor a = turnedA ? drawn({terms, rows}).t() : drawn({rows, terms});
                const at::Tensor b = turnedB ? drawn({columns, terms}).t() : drawn({terms, columns});
                QVERIFY(amx::suits(a, b));
                error = std::max(error, worst(amx::product(a, b), wide(a).mm(wide(b))));
            }
        qInfo("worst %.1e", error);
        QVERIFY(error < 1e-5);
    }

    void onesOfABatchMayLieApart_data() {
        QTest::addColumn<int>("count");
        QTest::newRow("for every thread") << 9;
        QTest::newRow("fewer than threads") << 1;
    }
    void onesOfABatchMayLieApart() {
        QFETCH(int, count);
        const at::Tensor rows = drawn({count * 150, 400}).narrow(1, 3, 333);
        const at::Tensor blocks = rows.view({count, 150, 333});
        const at::Tensor others = drawn({count, 333, 140});
        const double error = worst(amx::product(blocks, others), wide(blocks).bmm(wide(others)));
        qInfo("worst %.1e", error);
        QVERIFY(error < 1e-5);
    }

    void rowsByThemselvesAreMirrored_data() {
        QTest::addColumn<int>("count");
        for (const int count : {128, 150, 1000})
            QTest::addRow("%d rows", count) << count;
    }
    void rowsByThemselvesAreMirrored() {
        QFETCH(int, count);
        const at::Tensor rows = drawn({3, count, 200});
        const at::Tensor grams = amx::product(rows, rows.transpose(1, 2));
        const double error = worst(grams, wide(rows).bmm(wide(rows).transpose(1, 2)));
        qInfo("worst %.1e", error);
        QVERIFY(error < 1e-5);
        QVERIFY(at::equal(grams, grams.transpose(1, 2)));
        QVERIFY(at::equal(grams[1], amx::product(rows[1], rows[1].t())));
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
        const at::Tensor small = drawn({64, 64});
        const at::Tensor apart = drawn({300, 600}).slice(1, 0, 600, 2);
        QVERIFY(!amx::suits(small, small));
        QVERIFY(!amx::suits(apart, apart.t()));
        QVERIFY(!amx::suits(drawn({200, 200}).to(at::kFloat), drawn({200, 200})));
    }
};

QTEST_GUILESS_MAIN(TestAmxProducts)
#include "tst_amx_products.moc"
