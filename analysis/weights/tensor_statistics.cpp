#include "analysis/weights/tensor_statistics.h"

#include "analysis/weights/chunk_sums.h"
#include "analysis/weights/grid_walk.h"
#include "analysis/weights/wide_loops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace secateur {

namespace {

/// Tables of symbols, used in turn if there are few kinds: these often follow themselves, and one counter would wait
/// for itself.
constexpr std::size_t tablesOfFew = 4;
constexpr int fewKinds = 256;

std::size_t symbolTables(const NumberGrid& grid) {
    return grid.symbolKinds() == fewKinds ? tablesOfFew : 1;
}

constexpr std::int64_t chunksOfTask = 2; // so that threads end together in small tensors

/// Buffers and counters of one worker.
struct StatisticsWorker {
    std::vector<float> numbers = std::vector<float>(static_cast<std::size_t>(chunkNumbers));
    std::vector<std::uint16_t> symbols;
    std::vector<std::vector<std::int64_t>> kinds; ///< [symbolParts][symbolTables * symbolKinds]
    BinCounts bins;
    std::int64_t outliers = 0;
};

std::int64_t numbersOf(const NumberGrid& grid, std::int64_t chunk) {
    return std::min(chunkNumbers, grid.count() - chunk * chunkNumbers);
}

/// The numbers of a chunk, read into the worker's buffer.
std::span<float> chunkOf(const NumberGrid& grid, std::int64_t chunk, StatisticsWorker& worker) {
    const std::span<float> numbers = std::span(worker.numbers).first(static_cast<std::size_t>(numbersOf(grid, chunk)));
    grid.read(chunk * chunkNumbers, numbers);
    return numbers;
}

/// Moves the finite numbers to the front. @returns how many there are
std::size_t finiteFirst(std::span<float> numbers) {
    const auto rest = std::ranges::remove_if(numbers, [](float number) { return !std::isfinite(number); });
    return numbers.size() - rest.size();
}

/// @param tables [tablesOfFew][fewKinds]
void countFew(std::span<const std::uint16_t> symbols, std::int64_t* tables) {
    std::size_t i = 0;
    for (; i + tablesOfFew <= symbols.size(); i += tablesOfFew)
        for (std::size_t table = 0; table < tablesOfFew; ++table)
            ++tables[table * fewKinds + symbols[i + table]];
    for (; i < symbols.size(); ++i)
        ++tables[symbols[i]];
}

void countSymbols(const NumberGrid& grid, std::int64_t chunk, StatisticsWorker& worker) {
    const auto count = static_cast<std::size_t>(numbersOf(grid, chunk));
    const std::span<std::uint16_t> symbols = std::span(worker.symbols).first(worker.kinds.empty() ? 0 : count);
    for (std::size_t part = 0; part < worker.kinds.size(); ++part) {
        grid.readSymbols(chunk * chunkNumbers, static_cast<int>(part), symbols);
        std::int64_t* const kinds = worker.kinds[part].data();
        if (symbolTables(grid) == tablesOfFew)
            countFew(symbols, kinds);
        else
            for (const std::uint16_t symbol : symbols)
                ++kinds[symbol];
    }
}

/// The symbols of all workers: how often each occurs.
std::vector<std::int64_t> symbolCounts(const std::vector<StatisticsWorker>& workers, std::size_t part,
                                       std::size_t kinds) {
    std::vector<std::int64_t> all(kinds);
    for (const StatisticsWorker& worker : workers)
        for (std::size_t place = 0; place < worker.kinds[part].size(); ++place)
            all[place % kinds] += worker.kinds[part][place];
    return all;
}

/// The entropy of counts in bits.
double entropyOf(std::span<const std::int64_t> counts) {
    std::int64_t all = 0;
    for (const std::int64_t count : counts)
        all += count;
    double bits = 0;
    for (const std::int64_t count : counts) {
        if (count == 0)
            continue;
        const double share = static_cast<double>(count) / static_cast<double>(all);
        bits -= share * std::log2(share);
    }
    return bits;
}

/// The sums of numbers that occur several times. @param counts how often each number occurs
ChunkSums sumsOfCounts(std::span<const float> numbers, std::span<const std::int64_t> counts) {
    ChunkSums sums;
    double sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const float number = numbers[i];
        if (counts[i] == 0)
            continue;
        if (!std::isfinite(number)) {
            (std::isnan(number) ? sums.nan : sums.infinite) += counts[i];
            continue;
        }
        sums.finite += counts[i];
        sums.zeros += number == 0.0F ? counts[i] : 0;
        sum += static_cast<double>(number) * static_cast<double>(counts[i]);
        sums.least = std::min(sums.least, number);
        sums.largest = std::max(sums.largest, number);
    }
    if (sums.finite == 0)
        return sums;
    sums.mean = sum / static_cast<double>(sums.finite);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (counts[i] == 0 || !std::isfinite(numbers[i]))
            continue;
        const double deviation = static_cast<double>(numbers[i]) - sums.mean;
        sums.deviation += deviation * deviation * static_cast<double>(counts[i]);
    }
    return sums;
}

/// What numbers are compared with once the sums are known.
struct Limits {
    Bins bins;
    double low; ///< numbers below are outliers
    double high;

    explicit Limits(const TensorStatistics& sums)
        : bins(sums.least, sums.largest)
        , low(sums.mean - outlierDeviations * sums.sd)
        , high(sums.mean + outlierDeviations * sums.sd) {}

    bool isOutlier(double number) const { return number < low || number > high; }
};

SECATEUR_WIDE_LOOPS std::int64_t outliersIn(std::span<const float> numbers, double low, double high) {
    std::int64_t outliers = 0;
    for (const float number : numbers) {
        const auto wide = static_cast<double>(number);
        outliers += wide < low ? 1 : 0;
        outliers += wide > high ? 1 : 0;
    }
    return outliers;
}

void fillSums(TensorStatistics& statistics, const ChunkSums& all) {
    statistics.nan = all.nan;
    statistics.infinite = all.infinite;
    statistics.zeros = all.zeros;
    if (all.finite == 0)
        return;
    const auto finite = static_cast<double>(all.finite);
    statistics.mean = all.mean;
    statistics.sd = std::sqrt(all.deviation / finite);
    statistics.norm = std::sqrt(all.deviation + finite * all.mean * all.mean);
    statistics.least = static_cast<double>(all.least);
    statistics.largest = static_cast<double>(all.largest);
}

/// Bins and outliers of numbers that occur several times.
void fillBins(TensorStatistics& statistics, std::span<const float> numbers, std::span<const std::int64_t> counts) {
    const Limits limits(statistics);
    statistics.edges = limits.bins.edges();
    statistics.counts.assign(histogramBins, 0);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = static_cast<double>(numbers[i]);
        if (counts[i] == 0 || !std::isfinite(number))
            continue;
        statistics.outliers += limits.isOutlier(number) ? counts[i] : 0;
        statistics.counts[limits.bins.bin(number)] += counts[i];
    }
}

class StatisticsRun {
public:
    StatisticsRun(const NumberGrid& grid, const Progress& progress)
        : m_grid(grid)
        , m_progress(progress)
        , m_chunks((grid.count() + chunkNumbers - 1) / chunkNumbers)
        , m_sums(static_cast<std::size_t>(m_chunks))
        , m_workers(
              static_cast<std::size_t>(std::max<std::int64_t>(1, std::min<std::int64_t>(workerCount(), tasks())))) {
        const std::size_t tableSize = symbolTables(grid) * static_cast<std::size_t>(grid.symbolKinds());
        for (StatisticsWorker& worker : m_workers) {
            worker.kinds.assign(static_cast<std::size_t>(grid.symbolParts()), std::vector<std::int64_t>(tableSize));
            worker.symbols.resize(grid.symbolParts() > 0 ? static_cast<std::size_t>(chunkNumbers) : 0);
        }
    }

    TensorStatistics result() {
        TensorStatistics statistics;
        statistics.count = m_grid.count();
        if (statistics.count == 0)
            return statistics;
        if (const std::vector<float> numbers = m_grid.symbolNumbers(); !numbers.empty())
            countOnce(statistics, numbers);
        else
            readTwice(statistics);
        return statistics;
    }

private:
    std::int64_t tasks() const { return (m_chunks + chunksOfTask - 1) / chunksOfTask; }

    template <typename Work>
    void eachChunk(const Progress& progress, Work work) {
        eachTask(
            tasks(),
            [&](int worker, std::int64_t task) {
                const std::int64_t end = std::min(m_chunks, (task + 1) * chunksOfTask);
                for (std::int64_t chunk = task * chunksOfTask; chunk < end; ++chunk)
                    work(chunk, m_workers[static_cast<std::size_t>(worker)]);
            },
            progress);
    }

    std::vector<std::int64_t> symbols(std::size_t part) const {
        return symbolCounts(m_workers, part, static_cast<std::size_t>(m_grid.symbolKinds()));
    }

    /// Where a symbol determines its number, everything follows from how often each occurs.
    void countOnce(TensorStatistics& statistics, std::span<const float> numbers) {
        eachChunk(m_progress,
                  [this](std::int64_t chunk, StatisticsWorker& worker) { countSymbols(m_grid, chunk, worker); });
        m_grid.check();
        const std::vector<std::int64_t> counts = symbols(0);
        fillSums(statistics, sumsOfCounts(numbers, counts));
        statistics.effectiveBits = entropyOf(counts);
        if (statistics.finite() > 0)
            fillBins(statistics, numbers, counts);
    }

    void readTwice(TensorStatistics& statistics) {
        eachChunk(m_progress.part(0, 0.5), [this](std::int64_t chunk, StatisticsWorker& worker) {
            const std::span<const float> numbers = chunkOf(m_grid, chunk, worker);
            m_sums[static_cast<std::size_t>(chunk)] = sumsOf(numbers);
            countSymbols(m_grid, chunk, worker);
        });
        m_grid.check();
        ChunkSums all;
        for (const ChunkSums& sums : m_sums)
            all.add(sums);
        fillSums(statistics, all);
        for (std::size_t part = 0; part < m_workers.front().kinds.size(); ++part)
            statistics.effectiveBits = (part > 0 ? statistics.effectiveBits : 0) + entropyOf(symbols(part));
        if (all.finite > 0)
            countBins(statistics);
    }

    /// Reads the grid once more, now that its range is known.
    void countBins(TensorStatistics& statistics) {
        const Limits limits(statistics);
        eachChunk(m_progress.part(0.5, 1), [&](std::int64_t chunk, StatisticsWorker& worker) {
            const ChunkSums& sums = m_sums[static_cast<std::size_t>(chunk)];
            std::span<float> numbers = chunkOf(m_grid, chunk, worker);
            if (sums.nan + sums.infinite > 0)
                numbers = numbers.first(finiteFirst(numbers));
            if (limits.isOutlier(static_cast<double>(sums.least)) ||
                limits.isOutlier(static_cast<double>(sums.largest)))
                worker.outliers += outliersIn(numbers, limits.low, limits.high);
            worker.bins.add(numbers, limits.bins);
        });
        m_grid.check();
        statistics.edges = limits.bins.edges();
        statistics.counts.assign(histogramBins, 0);
        for (const StatisticsWorker& worker : m_workers) {
            statistics.outliers += worker.outliers;
            for (std::size_t bin = 0; bin < statistics.counts.size(); ++bin)
                statistics.counts[bin] += worker.bins.count(bin);
        }
    }

    const NumberGrid& m_grid;
    const Progress& m_progress;
    std::int64_t m_chunks;
    std::vector<ChunkSums> m_sums;
    std::vector<StatisticsWorker> m_workers;
};

} // namespace

double TensorStatistics::zeroShare() const {
    return count > 0 ? static_cast<double>(zeros) / static_cast<double>(count)
                     : std::numeric_limits<double>::quiet_NaN();
}

TensorStatistics statisticsOf(const NumberGrid& grid, const Progress& progress) {
    return StatisticsRun(grid, progress).result();
}

} // namespace secateur
