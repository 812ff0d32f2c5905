#include "analysis/base/statistics.h"
#include "tests/support/suite.h"

#include <QElapsedTimer>
#include <QTest>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace secateur;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// Random integers from 0 to limit - 1, from a linear congruential generator that a Python script can reproduce.
std::vector<double> drawn(std::size_t count, std::uint64_t seed, std::uint64_t limit) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
        seed = (seed * 1103515245 + 12345) % (std::uint64_t(1) << 31);
        values.push_back(static_cast<double>((seed >> 8) % limit));
    }
    return values;
}

} // namespace

class TestRankCorrelation : public QObject {
    Q_OBJECT

private slots:
    void equalValuesShareTheirRank() {
        const std::vector<double> ranks = averageRanks(std::vector<double>{3, 1, missing, 3, 2, 3});
        QCOMPARE(ranks[0], 4.0);
        QCOMPARE(ranks[1], 1.0);
        QVERIFY(std::isnan(ranks[2]));
        QCOMPARE(ranks[3], 4.0);
        QCOMPARE(ranks[4], 2.0);
        QVERIFY(averageRanks({}).empty());
    }

    void smallOnesComeOutAsByHand() {
        const std::vector<double> x{1, 2, 3, 4};
        // Of the six pairs, five are in the same order and one is reversed: tau = (5 - 1) / 6. The squared rank
        // differences add up to 2: rho = 1 - 6 * 2 / (4 * 15).
        const RankCorrelation one = rankCorrelation(x, std::vector<double>{1, 3, 2, 4});
        QCOMPARE(one.count, std::size_t(4));
        QCOMPARE(one.kendall, 4.0 / 6);
        QCOMPARE(one.spearman, 0.8);
        const RankCorrelation reversed = rankCorrelation(x, std::vector<double>{9, 7, 5, 3});
        QCOMPARE(reversed.kendall, -1.0);
        QCOMPARE(reversed.spearman, -1.0);
        // y has one tie. Five pairs are in the same order and none is reversed. 6 pairs are untied in x and 5 in y, so
        // tau = 5 / sqrt(6 * 5).
        QCOMPARE(rankCorrelation(x, std::vector<double>{1, 2, 2, 3}).kendall, 5 / std::sqrt(30.0));
        // Only the order of the values matters, not their size.
        QCOMPARE(rankCorrelation(x, std::vector<double>{-1e300, 0, 1e-300, 1e300}).spearman, 1.0);
    }

    void whatIsMissingOnOneSideIsLeftOut() {
        const double infinite = std::numeric_limits<double>::infinity();
        const RankCorrelation result =
            rankCorrelation(std::vector<double>{1, missing, 2, 3, infinite, 4}, std::vector<double>{1, 7, 3, 2, 1, 4});
        QCOMPARE(result.count, std::size_t(4));
        QCOMPARE(result.spearman, 0.8);
    }

    void nothingIsSaidOfTooFewOrConstantValues() {
        for (const auto& [x, y] : {std::pair(std::vector<double>{}, std::vector<double>{}),
                                   {std::vector<double>{1.0}, std::vector<double>{2.0}},
                                   {std::vector<double>{1, missing}, std::vector<double>{2, 3}},
                                   {std::vector<double>{1, 2, 3}, std::vector<double>{5, 5, 5}},
                                   {std::vector<double>{5, 5}, std::vector<double>{5, 5}}}) {
            const RankCorrelation result = rankCorrelation(x, y);
            QVERIFY(std::isnan(result.spearman) && std::isnan(result.kendall));
        }
    }

    void largeOnesComeOutAsElsewhere_data() {
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("limitX");
        QTest::addColumn<int>("limitY");
        QTest::addColumn<int>("pairs");
        QTest::addColumn<double>("spearman");
        QTest::addColumn<double>("kendall");
        // The expected values were computed with spearmanr and kendalltau of scipy 1.17.1.
        QTest::newRow("many ties") << 40 << 7 << 5 << 33 << 0.5936478823248809 << 0.45230077537057306;
        QTest::newRow("no ties") << 270 << 1000000 << 1000000 << 226 << 0.3739939963354255 << 0.2608062930186824;
        QTest::newRow("ties in x") << 1000 << 30 << 1000000 << 839 << 0.4076440891871539 << 0.2839164589887786;
        QTest::newRow("20,000") << 20000 << 100 << 5000 << 16782 << 0.419888373368927 << 0.28961097135090236;
        QTest::newRow("200,000") << 200000 << 1000000 << 300 << 167832 << 0.42648778038548557 << 0.2926123389379291;
    }
    void largeOnesComeOutAsElsewhere() {
        QFETCH(int, count);
        QFETCH(int, limitX);
        QFETCH(int, limitY);
        QFETCH(double, spearman);
        QFETCH(double, kendall);
        std::vector<double> x = drawn(static_cast<std::size_t>(count), 1, static_cast<std::uint64_t>(limitX));
        std::vector<double> y = drawn(static_cast<std::size_t>(count), 99, static_cast<std::uint64_t>(limitY));
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] += x[i] * (double(limitY) / limitX) * 0.5;
        for (std::size_t i = 0; i < x.size(); i += 11)
            x[i] = missing;
        for (std::size_t i = 0; i < y.size(); i += 13)
            y[i] = missing;
        QElapsedTimer timer;
        timer.start();
        const RankCorrelation result = rankCorrelation(x, y);
        qInfo("%lld ms, errors %.1e and %.1e", static_cast<long long>(timer.elapsed()),
              std::abs(result.spearman - spearman), std::abs(result.kendall - kendall));
        QTEST(static_cast<int>(result.count), "pairs");
        QVERIFY(std::abs(result.spearman - spearman) < 1e-12);
        QVERIFY(std::abs(result.kendall - kendall) < 1e-12);
    }
};

SECATEUR_SUITE(TestRankCorrelation)
#include "tst_rank_correlation.moc"
