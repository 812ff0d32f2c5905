// Matrix products on Intel AMX tiles against the same products in float64.

#include "tests/support/loop_tests.h"

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/kernels/amx_products.h"
#include "backends/kernels/amx_tiles.h"
#endif

#include "backends/base/runtime.h"
#include "tests/support/suite.h"

using namespace secateur;

namespace {

double squaredNorm(const at::Tensor& product) {
    return product.square().sum().item<double>();
}

/// The inner products of the Gram matrices of `query` and `key`, computed in float64: one for each block of rows, and
/// at the end one for all rows.
at::Tensor judgedGramProducts(const at::Tensor& query, const at::Tensor& key, std::int64_t blocks) {
    const auto grams = [](const at::Tensor& rows, std::int64_t count) {
        const at::Tensor apart = rows.view({count, -1, rows.size(1)});
        return apart.bmm(apart.transpose(1, 2));
    };
    const auto products = [&](std::int64_t count) { return (grams(query, count) * grams(key, count)).sum({1, 2}); };
    return at::cat({products(blocks), products(1)});
}

GramInnerProducts gramProducts(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gain, int blocks) {
    return amx::gramInnerProducts(query, key, gain, blocks, [] {});
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
                const at::Tensor a = turnedA ? normalHalves({left, rows}).t() : normalHalves({rows, left});
                const at::Tensor b = turnedB ? normalHalves({right, rows}).t() : normalHalves({rows, right});
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
        const at::Tensor high = normalHalves({blocks * size, columns + 7}).narrow(1, 3, columns);
        const at::Tensor low = normalHalves({blocks * size, columns}) / 256;
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
        const at::Tensor a = normalHalves({1100, 530});
        const at::Tensor b = normalHalves({1100, 1300});
        const at::Tensor low = normalHalves({1100, 530}) / 256;
        int pauses = 0;
        const double one = amx::squaredNorm(std::vector{std::pair{a, b}}, [&] { ++pauses; });
        const double two = amx::squaredNorm(std::vector{std::pair{a, b}, {low, b}}, [] {});
        const double oneError = one / squaredNorm(wide(a).t().mm(wide(b))) - 1;
        const double twoError = two / squaredNorm((wide(a) + wide(low)).t().mm(wide(b))) - 1;
        qInfo("one pair %.1e, two %.1e", oneError, twoError);
        QVERIFY(std::abs(oneError) < 1e-8 && std::abs(twoError) < 1e-8);
        QVERIFY(pauses > 0);
    }

    void gramsAreMultipliedInEveryType_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<bool>("multiplied");
        for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat})
            for (const bool multiplied : {false, true})
                QTest::addRow("%s%s", at::toString(type), multiplied ? ", multiplied" : "")
                    << static_cast<int>(type) << multiplied;
    }
    void gramsAreMultipliedInEveryType() {
        QFETCH(int, type);
        QFETCH(bool, multiplied);
        const at::Tensor gain = multiplied ? at::empty({1500}, at::kFloat).uniform_(0.5, 2) : at::Tensor();
        for (const auto& [blocks, size] : {std::pair{13, 80}, {65, 16}, {9, 128}}) {
            const auto drawnRows = [&, rows = blocks * size] {
                return normal({rows, 1500}).to(static_cast<at::ScalarType>(type));
            };
            const at::Tensor query = drawnRows();
            const at::Tensor key = drawnRows();
            QVERIFY(amx::suitsGramInnerProducts(query, key, blocks));
            const GramInnerProducts products = gramProducts(query, key, gain, blocks);
            const at::Tensor by = multiplied ? wide(gain) : at::ones({}, at::kDouble);
            const at::Tensor wanted = judgedGramProducts(wide(query) * by, wide(key) * by, blocks);
            const at::Tensor off = products.values - wanted;
            const at::Tensor deviations = products.variances.sqrt() + 1e-7 * wanted;
            qInfo("%d of %d: worst %.1e, %.1f deviations", blocks, size, (off / wanted).abs().max().item<double>(),
                  (off / deviations).abs().max().item<double>());
            QVERIFY((off / deviations).abs().max().item<double>() < 4);
            QVERIFY((off / wanted).abs().max().item<double>() < 2e-5);
            const at::Tensor independent = (wide(query) * by).square().sum(1) * (wide(key) * by).square().sum(1);
            QVERIFY(worst(products.independent.narrow(0, 0, blocks), independent.view({blocks, -1}).sum(1)) < 1e-7);
        }
    }

    void roundingIsForeseen_data() {
        QTest::addColumn<double>("shared"); // size of the component that all rows draw from the same 32 directions
        QTest::addColumn<double>("uneven"); // standard deviation of the logarithm of the columns' scales
        QTest::addRow("alike") << 0.0 << 0.0;
        QTest::addRow("few directions") << 3.0 << 0.0;
        QTest::addRow("columns that stand out") << 0.0 << 1.0;
        QTest::addRow("both") << 1.0 << 1.0;
    }
    /// The product predicts the standard deviation of its own rounding error. The test computes many random products
    /// and divides each error by its predicted deviation. The quotients must have mean 0 and standard deviation about
    /// 1.
    void roundingIsForeseen() {
        QFETCH(double, shared);
        QFETCH(double, uneven);
        constexpr int blocks = 16;
        const at::Tensor sizes = at::exp(normal({1024}) * uneven);
        const at::Tensor directions = normal({32, 1024}) / std::sqrt(32.0);
        std::vector<at::Tensor> errors;
        for (int draw = 0; draw < 6; ++draw) {
            const auto drawnRows = [&] {
                return ((normal({1024, 1024}) + normal({1024, 32}).mm(directions) * shared) * sizes).to(at::kHalf);
            };
            const at::Tensor query = drawnRows();
            const at::Tensor key = drawnRows();
            const GramInnerProducts products = gramProducts(query, key, {}, blocks);
            const at::Tensor wanted = judgedGramProducts(wide(query), wide(key), blocks);
            errors.push_back((products.values - wanted) / products.variances.sqrt());
        }
        const at::Tensor all = at::cat(errors);
        const double size = all.square().mean().sqrt().item<double>();
        const double mean = all.mean().item<double>();
        qInfo("%.2f deviations, mean %.2f", size, mean);
        QVERIFY(size > 0.4 && size < 1.2); // the predicted deviation may be somewhat too large
        QVERIFY(std::abs(mean) < 0.5);
    }

    void smallOrScatteredFactorsAreLeftToOthers() {
        const at::Tensor small = normalHalves({64, 200});
        const at::Tensor apart = normalHalves({300, 600}).slice(1, 0, 600, 2);
        QVERIFY(!amx::suitsNorm(small, small));
        QVERIFY(!amx::suitsNorm(normalHalves({300, 300}), apart));
        QVERIFY(!amx::suitsNorm(normalHalves({200, 200}).to(at::kFloat), normalHalves({200, 200})));
        QVERIFY(!amx::suitsGrams(small, 2));
        QVERIFY(!amx::suitsGrams(apart, 1));
        const at::Tensor square = normalHalves({1040, 1040});
        QVERIFY(amx::suitsGramInnerProducts(square, square, 65));
        // 52 blocks have 1040 / 52 = 20 rows each, which is not a multiple of a tile's 16 rows.
        QVERIFY(!amx::suitsGramInnerProducts(square, square, 52));
        QVERIFY(!amx::suitsGramInnerProducts(square, square.to(at::kDouble), 65));
        QVERIFY(!amx::suitsGramInnerProducts(square, square.narrow(0, 0, 1024), 16));
    }
};

SECATEUR_SUITE(TestAmxProducts)
#include "tst_amx_products.moc"
