#include "analysis/weights/tensor_statistics.h"

#include "analysis/weights/chunk_sums.h"
#include "analysis/weights/grid_walk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace secateur {

namespace {

/// Tables of symbols, used in turn: few kinds of symbols often follow themselves, and one counter would wait for
/// itself.
std::size_t symbolTables(const NumberGrid& grid) {
    return grid.symbolKinds() <= 256 ? 4 : 1;
}
constexpr std::int64_t chunksOfTask = 8;

/// Buffers and counters of one worker.
struct StatisticsWorker {
    std::vector<float> numbers = std::vector<float>(static_cast<std::size_t>(chunkNumbers));
    std::vector<std::uint16_t> symbols;
    std::vector<std::vector<std::int64_t>> kinds; ///< [symbolParts][symbolTables * symbolKinds]
    std::array<std::array<std::int64_t, histogramBins>, 4>
        bins{}; ///< four tables, because equal bins follow each other
    std::int64_t outliers = 0;
};

/// The numbers of a chunk, read into the worker's buffer.
std::span<const float> chunkOf(const NumberGrid& grid, std::int64_t chunk, StatisticsWorker& worker) {
    const std::int64_t begin = chunk * chunkNumbers;
    const auto size = static_cast<std::size_t>(std::min(chunkNumbers, grid.count() - begin));
    const std::span<float> numbers = std::span(worker.numbers).first(size);
    grid.read(begin, numbers);
    return numbers;
}

void countSymbols(const NumberGrid& grid, std::int64_t chunk, std::size_t count, StatisticsWorker& worker) {
    for (std::size_t part = 0; part < worker.kinds.size(); ++part) {
        const std::span<std::uint16_t> symbols = std::span(worker.symbols).first(count);
        grid.readSymbols(chunk * chunkNumbers, static_cast<int>(part), symbols);
        std::int64_t* const kinds = worker.kinds[part].data();
        const auto size = static_cast<std::size_t>(grid.symbolKinds());
        const std::size_t lastTable = symbolTables(grid) - 1;
        for (std::size_t i = 0; i < symbols.size(); ++i)
            ++kinds[(i & lastTable) * size + symbols[i]];
    }
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

/// The sum of the entropies of the parts; NaN if the numbers are not stored.
double effectiveBitsOf(const std::vector<StatisticsWorker>& workers, std::size_t kinds) {
    if (workers.front().kinds.empty())
        return std::numeric_limits<double>::quiet_NaN();
    double bits = 0;
    for (std::size_t part = 0; part < workers.front().kinds.size(); ++part) {
        std::vector<std::int64_t> all(kinds);
        for (const StatisticsWorker& worker : workers)
            for (std::size_t place = 0; place < worker.kinds[part].size(); ++place)
                all[place % kinds] += worker.kinds[part][place];
        bits += entropyOf(all);
    }
    return bits;
}

/// The bins of a histogram, from the least to the largest number. A single value gets bins around it.
class Bins {
public:
    Bins(double least, double largest) {
        if (least == largest) {
            least -= 0.5;
            largest += 0.5;
        }
        for (int i = 0; i <= histogramBins; ++i)
            m_edges.push_back(i == histogramBins ? largest : least + (largest - least) * i / histogramBins);
        m_least = least;
        m_binsPerUnit = histogramBins / (largest - least);
    }

    const std::vector<double>& edges() const { return m_edges; }

    /// The bin of a number between the ends. Rounding may be off by one near an edge, so the edges decide.
    std::size_t bin(double number) const {
        const double place = (number - m_least) * m_binsPerUnit;
        auto bin = std::min(static_cast<std::int64_t>(place), std::int64_t{histogramBins - 1});
        constexpr double nearEdge = 1e-6;
        const double rest = place - static_cast<double>(bin);
        if (rest < nearEdge || rest > 1 - nearEdge) {
            const auto index = static_cast<std::size_t>(bin);
            if (bin > 0 && number < m_edges[index])
                --bin;
            else if (bin + 1 < histogramBins && number >= m_edges[index + 1])
                ++bin;
        }
        return static_cast<std::size_t>(bin);
    }

private:
    std::vector<double> m_edges;
    double m_least;
    double m_binsPerUnit;
};

void countChunk(std::span<const float> numbers, const Bins& bins, double low, double high, bool allFinite,
                StatisticsWorker& worker) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = static_cast<double>(numbers[i]);
        if (!allFinite && !std::isfinite(number))
            continue;
        worker.outliers += number < low || number > high ? 1 : 0;
        ++worker.bins[i % 4][bins.bin(number)];
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
        eachChunk(m_progress.part(0, 0.5), [this](std::int64_t chunk, StatisticsWorker& worker) {
            const std::span<const float> numbers = chunkOf(m_grid, chunk, worker);
            m_sums[static_cast<std::size_t>(chunk)] = sumsOf(numbers);
            countSymbols(m_grid, chunk, numbers.size(), worker);
        });
        m_grid.check();
        ChunkSums all;
        for (const ChunkSums& sums : m_sums)
            all.add(sums);
        fill(statistics, all);
        if (all.finite > 0)
            countBins(statistics);
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

    void fill(TensorStatistics& statistics, const ChunkSums& all) {
        statistics.nan = all.nan;
        statistics.infinite = all.infinite;
        statistics.zeros = all.zeros;
        statistics.effectiveBits = effectiveBitsOf(m_workers, static_cast<std::size_t>(m_grid.symbolKinds()));
        if (all.finite == 0)
            return;
        const auto finite = static_cast<double>(all.finite);
        statistics.mean = all.mean;
        statistics.sd = std::sqrt(all.deviation / finite);
        statistics.norm = std::sqrt(all.deviation + finite * all.mean * all.mean);
        statistics.least = static_cast<double>(all.least);
        statistics.largest = static_cast<double>(all.largest);
    }

    /// Reads the grid once more, now that its range is known.
    void countBins(TensorStatistics& statistics) {
        const Bins bins(statistics.least, statistics.largest);
        const double low = statistics.mean - outlierDeviations * statistics.sd;
        const double high = statistics.mean + outlierDeviations * statistics.sd;
        eachChunk(m_progress.part(0.5, 1), [&](std::int64_t chunk, StatisticsWorker& worker) {
            const ChunkSums& sums = m_sums[static_cast<std::size_t>(chunk)];
            countChunk(chunkOf(m_grid, chunk, worker), bins, low, high, sums.nan + sums.infinite == 0, worker);
        });
        m_grid.check();
        statistics.edges = bins.edges();
        statistics.counts.assign(histogramBins, 0);
        for (const StatisticsWorker& worker : m_workers) {
            statistics.outliers += worker.outliers;
            for (const auto& table : worker.bins)
                for (std::size_t bin = 0; bin < table.size(); ++bin)
                    statistics.counts[bin] += table[bin];
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
