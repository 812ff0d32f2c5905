// Tensors of every stored type and of odd shapes: statistics, pictures, scales and single numbers, as numpy computes
// them (data/make_weights.py).

#ifndef Q_MOC_RUN
#include "analysis/weights/bin_counts.h"
#include "analysis/weights/block_pyramid.h"
#include "analysis/weights/checkpoint_statistics.h"
#include "analysis/weights/stored_tensors.h"
#include "backends/base/runtime.h"
#include "backends/weights/open_tensors.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <stop_token>

using namespace secateur;
using namespace secateur::test;

namespace {

std::string weightsPath(const QString& name) {
    return data().filePath("weights/" + name).toStdString();
}

/// The number of a JSON field; NaN for null.
double numberOf(const nlohmann::json& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// Relative to the larger of the magnitudes; absolute below 1e-30.
double errorOf(double value, double wanted) {
    if (std::isnan(value) && std::isnan(wanted))
        return 0;
    const double error = std::abs(value - wanted) / std::max({std::abs(value), std::abs(wanted), 1e-30});
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

/// The checkpoint and the index of a tensor of types.json.
struct Opened {
    std::shared_ptr<const StoredTensors> tensors;
    std::size_t index = 0;
    const StoredTensor& tensor() const { return tensors->tensors()[index]; }
};

Opened opened(const std::string& name) {
    static const auto quantised = openTensors(weightsPath("types.gguf"));
    static const auto plain = openTensors(weightsPath("plain/model.safetensors"));
    for (const auto& tensors : {quantised, plain})
        if (const auto index = tensors->find(name))
            return {tensors, *index};
    throw std::runtime_error("no tensor " + name);
}

const nlohmann::json& expectedTypes() {
    static const nlohmann::json expected = readJson(data().filePath("weights/types.json"));
    return expected;
}

void addTensorRows() {
    QTest::addColumn<QString>("name");
    for (const auto& item : expectedTypes().items())
        QTest::newRow(item.key().c_str()) << QString::fromStdString(item.key());
}

/// The largest error of a picture's cells.
double pictureError(const BlockPicture& picture, const nlohmann::json& blocks) {
    const nlohmann::json& means = blocks.at("means");
    const nlohmann::json& largest = blocks.at("largest");
    if (picture.means.size() != means.size())
        return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t cell = 0; cell < picture.means.size(); ++cell) {
        // Means can be close to 0, where the rounding of the numbers matters.
        const double scale = std::abs(numberOf(largest[cell]));
        const double mean = static_cast<double>(picture.means[cell]);
        const double wanted = numberOf(means[cell]);
        const double error =
            std::isnan(wanted) && std::isnan(mean) ? 0 : std::abs(mean - wanted) / std::max(scale, 1e-30);
        worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
        const auto exact = static_cast<float>(numberOf(largest[cell]));
        if (picture.largest[cell] != exact && !(std::isnan(exact) && std::isnan(picture.largest[cell])))
            return std::numeric_limits<double>::infinity();
    }
    return worst;
}

/// Numbers that are computed from their place.
class DrawnGrid : public NumberGrid {
public:
    DrawnGrid(std::int64_t rows, std::int64_t columns)
        : NumberGrid(rows, columns) {}

    void read(std::int64_t begin, std::span<float> target) const override {
        for (std::size_t i = 0; i < target.size(); ++i) {
            const auto place = static_cast<std::uint64_t>(begin) + i;
            target[i] = static_cast<float>((place * 2654435761U >> 7U) % 2001) / 1000 - 1;
        }
    }
    std::string subject() const override { return "drawn"; }
};

/// A grid whose file was truncated.
class TruncatedGrid : public DrawnGrid {
public:
    using DrawnGrid::DrawnGrid;
    void check() const override { throw Error("was truncated while it was open", "model.gguf"); }
};

} // namespace

class TestStoredWeights : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(2); }

    void everyTypeThatIsReadIsCompared() {
        std::map<std::string, int> types;
        for (const auto& item : expectedTypes().items())
            ++types[opened(item.key()).tensor().type];
        for (const char* type :
             {"F64",  "F32",  "F16",  "BF16", "I64",  "I32",  "I16",  "I8",   "U8",   "BOOL",   "Q4_0",
              "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"})
            QVERIFY2(types.contains(type), type);
    }

    void statisticsAreThoseOfNumpy_data() { addTensorRows(); }
    void statisticsAreThoseOfNumpy() {
        QFETCH(QString, name);
        const Opened one = opened(name.toStdString());
        const nlohmann::json& wanted = expectedTypes().at(name.toStdString()).at("statistics");
        const TensorStatistics found = statisticsOf(*one.tensors->grid(one.index));
        QCOMPARE(found.count, wanted.at("count").get<std::int64_t>());
        QCOMPARE(found.nan, wanted.at("nan").get<std::int64_t>());
        QCOMPARE(found.infinite, wanted.at("infinite").get<std::int64_t>());
        QCOMPARE(found.zeros, wanted.at("zeros").get<std::int64_t>());
        QCOMPARE(found.outliers, wanted.at("outliers").get<std::int64_t>());
        double worst = found.count > 0 ? std::abs(found.effectiveBits - wanted.at("bits").get<double>()) : 0;
        if (!wanted.contains("mean")) {
            QVERIFY(std::isnan(found.mean) && std::isnan(found.norm) && found.counts.empty());
            return;
        }
        const double scale = std::max(std::abs(found.largest), std::abs(found.least));
        worst = std::max(worst, std::abs(found.mean - wanted.at("mean").get<double>()) / std::max(scale, 1e-30));
        worst = std::max(worst, errorOf(found.sd, wanted.at("sd").get<double>()));
        worst = std::max(worst, errorOf(found.norm, wanted.at("norm").get<double>()));
        qInfo("worst error %.2g", worst);
        QVERIFY2(worst < 1e-12, qPrintable(QString::number(worst)));
        QVERIFY(found.least == wanted.at("least").get<double>());
        QVERIFY(found.largest == wanted.at("largest").get<double>());
        QCOMPARE(found.counts, wanted.at("counts").get<std::vector<std::int64_t>>());
        QVERIFY(errorOf(found.edges.at(1) - found.edges[0],
                        wanted.at("edges")[1].get<double>() - wanted.at("edges")[0].get<double>()) < 1e-9);
    }

    void picturesAreThoseOfNumpy_data() { addTensorRows(); }
    void picturesAreThoseOfNumpy() {
        QFETCH(QString, name);
        const Opened one = opened(name.toStdString());
        BlockPyramid pyramid(one.tensors->grid(one.index));
        const GridWindow whole{0, 0, pyramid.grid().rows(), pyramid.grid().columns()};
        double worst = 0;
        for (const bool isBuilt : {false, true}) {
            if (isBuilt)
                pyramid.build();
            for (const nlohmann::json& blocks : expectedTypes().at(name.toStdString()).at("blocks")) {
                const auto down = blocks.at("down").get<std::int64_t>();
                const auto right = blocks.at("right").get<std::int64_t>();
                QCOMPARE(pyramid.isInMemory(down, right), isBuilt);
                worst = std::max(worst, pictureError(pyramid.picture(whole, down, right), blocks));
            }
        }
        qInfo("worst error %.2g", worst);
        QVERIFY2(worst < 1e-6, qPrintable(QString::number(worst)));
    }

    void zoomedCellsAreTheStoredNumbers_data() { addTensorRows(); }
    void zoomedCellsAreTheStoredNumbers() {
        QFETCH(QString, name);
        const Opened one = opened(name.toStdString());
        const BlockPyramid pyramid(one.tensors->grid(one.index));
        for (const nlohmann::json& wanted : expectedTypes().at(name.toStdString()).at("numbers")) {
            const auto row = wanted.at("row").get<std::int64_t>();
            const auto column = wanted.at("column").get<std::int64_t>();
            const StoredNumber found = one.tensors->number(one.index, row, column);
            if (!wanted.at("value").is_null())
                QVERIFY(found.value == wanted.at("value").get<double>());
            const float shown = pyramid.picture({row, column, 1, 1}, 1, 1).means.at(0);
            if (std::isfinite(found.value))
                QVERIFY(shown == static_cast<float>(found.value));
            if (wanted.contains("bits")) {
                QCOMPARE(found.bits, wanted.at("bits").get<std::string>());
                QCOMPARE(storedText(one.tensor(), found), found.bits);
                continue;
            }
            QCOMPARE(found.code, wanted.at("code").get<int>());
            QVERIFY(found.scale == wanted.at("scale").get<double>());
            QVERIFY(found.minimum == wanted.at("minimum").get<double>());
            QCOMPARE(found.block, column / one.tensor().scaleElements);
            QVERIFY(storedText(one.tensor(), found).starts_with("code "));
        }
    }

    void scalesAreAPictureOfTheirOwn_data() { addTensorRows(); }
    void scalesAreAPictureOfTheirOwn() {
        QFETCH(QString, name);
        const Opened one = opened(name.toStdString());
        const nlohmann::json& wanted = expectedTypes().at(name.toStdString());
        QCOMPARE(one.tensor().hasScales, wanted.contains("scales"));
        QCOMPARE(one.tensor().hasMinima, wanted.contains("minima"));
        for (const auto& [plane, field] :
             {std::pair(TensorPlane::scales, "scales"), std::pair(TensorPlane::minima, "minima")}) {
            if (!wanted.contains(field)) {
                QVERIFY_THROWS_EXCEPTION(Error, one.tensors->grid(one.index, plane));
                continue;
            }
            const auto grid = one.tensors->grid(one.index, plane);
            QCOMPARE(grid->columns(), one.tensor().columns() / one.tensor().scaleElements);
            std::vector<float> scales(static_cast<std::size_t>(grid->count()));
            grid->read(0, scales);
            const auto numbers = wanted.at(field).get<std::vector<double>>();
            QCOMPARE(scales.size(), numbers.size());
            for (std::size_t i = 0; i < scales.size(); ++i)
                QVERIFY(scales[i] == static_cast<float>(numbers[i]));
        }
    }

    void aTypeThatCannotBeDecodedIsListed() {
        const Opened one = opened("F8.unreadable");
        QVERIFY(!one.tensor().isReadable);
        QCOMPARE(Scratch().refusal([&] { one.tensors->grid(one.index); }).section(':', 1).trimmed().section(". ", 0, 0),
                 QString("F8.unreadable: is stored as F8_E4M3, which is not supported"));
        const std::vector<TensorReport> reports = checkpointStatistics(*one.tensors);
        QCOMPARE(reports.at(one.index).obstacle, std::string("is stored as F8_E4M3, which is not supported"));
        QVERIFY(statisticsCsv(*one.tensors, reports).find("F8.unreadable,F8_E4M3,4 x 4,16,,,") != std::string::npos);
    }

    void anUnknownArchitectureIsAWarning() {
        const Opened one = opened("Q4_0.6x512");
        QVERIFY(!one.tensors->spec());
        QCOMPARE(one.tensors->warnings().size(), std::size_t{1});
        QVERIFY(one.tensor().parts.empty());
    }

    /// Large enough for several chunks, tasks, and a base of larger blocks.
    void largeGridsAreReadInPieces() {
        const auto grid = std::make_shared<DrawnGrid>(3001, 1237);
        BlockPyramid pyramid(grid);
        const GridWindow window{100, 60, 1500, 700};
        const BlockPicture read = pyramid.picture(window, 32, 16);
        pyramid.build();
        QVERIFY(pyramid.isInMemory(32, 16) && !pyramid.isInMemory(1, 1));
        const BlockPicture kept = pyramid.picture(window, 32, 16);
        QCOMPARE(read.window, (GridWindow{96, 48, 1504, 720}));
        QVERIFY(kept.window == read.window && kept.largest == read.largest);
        for (std::size_t cell = 0; cell < read.means.size(); ++cell)
            QVERIFY(std::abs(read.means[cell] - kept.means[cell]) < 1e-7F);
        const BlockPicture sampled = pyramid.sampled({0, 0, 3001, 1237}, 2, 1);
        QVERIFY(sampled.isSampled || sampled.height == 1501);
        // Sums do not depend on the number of threads, and the histogram has every number.
        const TensorStatistics two = statisticsOf(*grid);
        initialiseRuntime(1);
        const TensorStatistics one = statisticsOf(*grid);
        initialiseRuntime(2);
        QVERIFY(one.mean == two.mean);
        QVERIFY(one.sd == two.sd);
        QCOMPARE(one.counts, two.counts);
        std::int64_t counted = 0;
        for (const std::int64_t count : one.counts)
            counted += count;
        QCOMPARE(counted, grid->count());
        QVERIFY(std::isnan(one.effectiveBits)); // computed, not stored
    }

    /// Bins are found in float32, away from the edges; at the edges the edges decide.
    void numbersNearEdgesAreInTheRightBin() {
        for (const auto& [least, largest] : {std::pair(-1.0F, 1.0F), std::pair(-0.3F, 0.7F), std::pair(0.0F, 1e-38F),
                                             std::pair(-3e38F, 3e38F), std::pair(1e6F, 1.0001e6F)}) {
            const Bins bins(static_cast<double>(least), static_cast<double>(largest));
            std::vector<float> numbers;
            for (const double edge : bins.edges()) {
                const auto near = static_cast<float>(edge);
                for (const float number : {std::nextafter(near, least), near, std::nextafter(near, largest)})
                    numbers.push_back(std::clamp(number, least, largest));
            }
            std::vector<std::int32_t> found(numbers.size());
            bins.find(numbers, found);
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                const auto above = std::ranges::upper_bound(bins.edges(), static_cast<double>(numbers[i]));
                const auto wanted = std::min<std::ptrdiff_t>(above - bins.edges().begin(), histogramBins) - 1;
                QCOMPARE(std::ptrdiff_t{found[i]}, wanted);
            }
        }
    }

    void onlyTheWantedValueTakesMemory() {
        const auto grid = std::make_shared<DrawnGrid>(300, 200);
        BlockPyramid pyramid(grid);
        for (const bool isBuilt : {false, true}) {
            if (isBuilt)
                pyramid.build();
            const BlockPicture both = pyramid.picture({0, 0, 300, 200}, 4, 4);
            const BlockPicture means = pyramid.picture({0, 0, 300, 200}, 4, 4, {}, BlockValue::mean);
            const BlockPicture largest = pyramid.picture({0, 0, 300, 200}, 4, 4, {}, BlockValue::largest);
            QVERIFY(means.means == both.means && means.largest.empty());
            QVERIFY(largest.largest == both.largest && largest.means.empty());
            QVERIFY(pyramid.sampled({0, 0, 300, 200}, 4, 4, BlockValue::mean).largest.empty());
        }
    }

    void aTruncatedFileIsAnError() {
        const auto grid = std::make_shared<TruncatedGrid>(40, 50);
        BlockPyramid pyramid(grid);
        QVERIFY_THROWS_EXCEPTION(Error, statisticsOf(*grid));
        QVERIFY_THROWS_EXCEPTION(Error, pyramid.picture({0, 0, 40, 50}, 4, 4));
        QVERIFY_THROWS_EXCEPTION(Error, pyramid.sampled({0, 0, 40, 50}, 4, 4));
        QVERIFY_THROWS_EXCEPTION(Error, pyramid.build());
        QVERIFY(!pyramid.isInMemory(64, 64));
    }

    void workStopsWhenItIsCancelled() {
        std::stop_source stop;
        stop.request_stop();
        const Progress progress([](double, std::string_view) {}, stop.get_token());
        const auto grid = std::make_shared<DrawnGrid>(40, 50);
        QVERIFY_THROWS_EXCEPTION(Cancelled, statisticsOf(*grid, progress));
        QVERIFY_THROWS_EXCEPTION(Cancelled, BlockPyramid(grid).picture({0, 0, 40, 50}, 4, 4, progress));
    }

    void blocksArePowersOfTwo() {
        QCOMPARE(blockSize(0, 10), std::int64_t{1});
        QCOMPARE(blockSize(10, 10), std::int64_t{1});
        QCOMPARE(blockSize(11, 10), std::int64_t{2});
        QCOMPARE(blockSize(32000, 256), std::int64_t{128});
    }
};

SECATEUR_SUITE(TestStoredWeights)
#include "tst_stored_weights.moc"
