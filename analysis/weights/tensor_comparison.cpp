#include "analysis/weights/tensor_comparison.h"

#include "analysis/base/error.h"
#include "analysis/weights/grid_walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace secateur {

namespace {

void checkShapes(const NumberGrid& first, const NumberGrid& second) {
    if (first.rows() != second.rows() || first.columns() != second.columns())
        throw Error(fmt::format("has shape [{}, {}], but {} has [{}, {}]", second.rows(), second.columns(),
                                first.subject(), first.rows(), first.columns()),
                    second.subject());
}

class DifferenceGrid : public NumberGrid {
public:
    DifferenceGrid(std::shared_ptr<const NumberGrid> first, std::shared_ptr<const NumberGrid> second)
        : NumberGrid(first->rows(), first->columns())
        , m_first(std::move(first))
        , m_second(std::move(second)) {}

    void read(std::int64_t begin, std::span<float> target) const override {
        std::vector<float> subtracted(target.size());
        m_first->read(begin, subtracted);
        m_second->read(begin, target);
        for (std::size_t i = 0; i < target.size(); ++i)
            target[i] -= subtracted[i];
    }
    void check() const override {
        m_first->check();
        m_second->check();
    }
    std::string subject() const override { return m_second->subject(); }

private:
    std::shared_ptr<const NumberGrid> m_first;
    std::shared_ptr<const NumberGrid> m_second;
};

/// Sums over a chunk.
struct DifferenceSums {
    double squares = 0;
    double differences = 0;
    double largest = -1;
    std::int64_t place = 0; ///< of the largest difference
    std::int64_t different = 0;
    std::int64_t notFinite = 0;
};

/// Compares numbers of which some are NaN or infinite.
void addMixed(DifferenceSums& sums, float a, float b) {
    ++sums.notFinite;
    sums.different += a != b && !(std::isnan(a) && std::isnan(b)) ? 1 : 0;
}

DifferenceSums differenceOfChunk(std::span<const float> first, std::span<const float> second, std::int64_t begin) {
    DifferenceSums sums;
    for (std::size_t i = 0; i < first.size(); ++i) {
        const auto a = static_cast<double>(first[i]);
        const auto b = static_cast<double>(second[i]);
        const double difference = b - a;
        if (!std::isfinite(difference)) {
            addMixed(sums, first[i], second[i]);
            continue;
        }
        sums.squares += a * a;
        sums.differences += difference * difference;
        sums.different += difference != 0 ? 1 : 0;
        if (std::abs(difference) > sums.largest) {
            sums.largest = std::abs(difference);
            sums.place = begin + static_cast<std::int64_t>(i);
        }
    }
    return sums;
}

} // namespace

double TensorDifference::relativeError() const {
    return difference == 0 ? 0 : difference / norm;
}

double TensorDifference::signalToNoise() const {
    return difference == 0 ? std::numeric_limits<double>::infinity() : 20 * std::log10(norm / difference);
}

std::shared_ptr<const NumberGrid> differenceGrid(std::shared_ptr<const NumberGrid> first,
                                                 std::shared_ptr<const NumberGrid> second) {
    checkShapes(*first, *second);
    return std::make_shared<DifferenceGrid>(std::move(first), std::move(second));
}

TensorDifference compareGrids(const NumberGrid& first, const NumberGrid& second, const Progress& progress) {
    checkShapes(first, second);
    const std::int64_t chunks = (first.count() + chunkNumbers - 1) / chunkNumbers;
    std::vector<DifferenceSums> sums(static_cast<std::size_t>(chunks));
    std::vector<std::vector<float>> buffers(static_cast<std::size_t>(workerCount()) * 2);
    eachTask(
        chunks,
        [&](int worker, std::int64_t chunk) {
            const std::int64_t begin = chunk * chunkNumbers;
            std::vector<float>& a = buffers[static_cast<std::size_t>(worker) * 2];
            std::vector<float>& b = buffers[static_cast<std::size_t>(worker) * 2 + 1];
            a.resize(static_cast<std::size_t>(std::min(chunkNumbers, first.count() - begin)));
            b.resize(a.size());
            first.read(begin, a);
            second.read(begin, b);
            sums[static_cast<std::size_t>(chunk)] = differenceOfChunk(a, b, begin);
        },
        progress);
    first.check();
    second.check();
    DifferenceSums all;
    for (const DifferenceSums& part : sums) {
        all.squares += part.squares;
        all.differences += part.differences;
        all.different += part.different;
        all.notFinite += part.notFinite;
        if (part.largest > all.largest) {
            all.largest = part.largest;
            all.place = part.place;
        }
    }
    const std::int64_t columns = std::max<std::int64_t>(1, first.columns());
    return {.count = first.count(),
            .different = all.different,
            .notFinite = all.notFinite,
            .norm = std::sqrt(all.squares),
            .difference = std::sqrt(all.differences),
            .largest = std::max(0.0, all.largest),
            .row = all.place / columns,
            .column = all.place % columns};
}

} // namespace secateur
