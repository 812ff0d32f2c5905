#include "backends/kernels/amx_tiles.h"
#include "backends/kernels/bfloat16_rows.h"
#include "backends/kernels/layer_loops.h"
#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace secateur {

// Attention of rows with several queries: the keys of a KV group are packed in panels, once for all its heads. Each
// block of queries of one head is then a task for a free thread. For a single query without features, packing would not
// pay off. The heads of a group then read runs of keys in their original layout, and the softmaxes over the runs are
// combined.

namespace {

constexpr std::int64_t blockQueries = VectorLoops::blockQueries;
constexpr std::int64_t blockKeys = VectorLoops::blockKeys;
/// Maximum number of floats of packed keys (and values, if they are padded) at a time, so that they stay in a cache.
/// Exceeded if a single row needs more.
constexpr std::int64_t packedFloats = std::int64_t{1} << 22;

std::int64_t quotientUp(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// A row of the batch, and the range of keys that its queries see.
struct AttendedRow {
    std::int64_t number = 0;
    std::int64_t first = 0;
    std::int64_t length = 0;
    std::int64_t keyFrom = 0; ///< first key that the first query sees; rounded down to a panel if keys are packed
    std::int64_t keyEnd = 0;
    std::int64_t packed = 0; ///< offset of the row's packed keys
};

class RowAttention {
public:
    RowAttention(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
                 const at::Tensor& context, std::span<const AttentionFeature> wanted, float* features)
        : m_shape(shape)
        , m_keysAndValues(keysAndValues)
        , m_positions(queries.size(2))
        , m_columns(padded(m_loops, shape.headDim))
        , m_queries(queries.data_ptr<float>())
        , m_wanted(wanted)
        , m_features(features) {
        if (context.scalar_type() == at::kBFloat16)
            m_context.halves = static_cast<std::uint16_t*>(context.data_ptr());
        else
            m_context.floats = context.data_ptr<float>();
        if (m_context.halves && m_loops.lanes == amx::tileWidth)
            m_products = rowProducts();
    }

    void run(std::span<const int> first, std::span<const int> lengths) {
        std::vector<AttendedRow> blocked;
        std::vector<AttendedRow> single;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            const auto number = static_cast<std::int64_t>(i);
            clear(number, lengths[i]);
            const std::int64_t end = std::int64_t{first[i]} + lengths[i];
            const std::int64_t seen = m_shape.window > 0 ? std::max(0, first[i] - m_shape.window + 1) : 0;
            if (lengths[i] == 1 && m_wanted.empty())
                single.push_back({number, first[i], 1, seen, end, 0});
            else if (lengths[i] > 0)
                blocked.push_back({number, first[i], lengths[i], seen / m_loops.panelKeys * m_loops.panelKeys, end, 0});
        }
        attendSingle(single);
        for (std::span<AttendedRow> rest(blocked); !rest.empty();) {
            std::size_t count = 0;
            std::int64_t floats = 0;
            while (count < rest.size() && (count == 0 || floats + packedSize(rest[count]) <= packedFloats)) {
                rest[count].packed = floats;
                floats += packedSize(rest[count++]);
            }
            attendBlocked(rest.first(count), floats);
            rest = rest.subspan(count);
        }
    }

private:
    std::int64_t contextWidth() const { return std::int64_t{m_shape.heads} * m_shape.headDim; }
    std::int64_t firstHead(std::int64_t group) const { return m_shape.firstHead(static_cast<int>(group)); }
    std::int64_t groupHeads(std::int64_t group) const { return m_shape.groupHeads(static_cast<int>(group)); }

    Destination contextAt(std::int64_t row, std::int64_t position, std::int64_t head) const {
        const std::int64_t place = (row * m_positions + position) * contextWidth() + head * m_shape.headDim;
        return {m_context.floats ? m_context.floats + place : nullptr,
                m_context.halves ? m_context.halves + place : nullptr};
    }
    const float* queriesAt(std::int64_t row, std::int64_t head) const {
        return m_queries + (row * m_shape.heads + head) * m_positions * m_shape.headDim;
    }
    /// Keys or values of one KV group of a row, from the one at position `key` on. @param all those of all rows
    Source cachedAt(const Destination& all, std::int64_t row, std::int64_t group, std::int64_t key) const {
        const Destination here =
            all.behind(((row * m_shape.kvHeads + group) * m_keysAndValues.capacity + key) * m_shape.headDim);
        return {here.floats, here.halves};
    }

    void clear(std::int64_t row, std::int64_t length) const {
        const Destination from = contextAt(row, length, 0);
        const std::int64_t numbers = (m_positions - length) * contextWidth();
        if (from.floats)
            std::fill_n(from.floats, numbers, 0.0F);
        else
            std::fill_n(from.halves, numbers, std::uint16_t{0});
    }

    std::int64_t packedKeys(const AttendedRow& row) const {
        return quotientUp(row.keyEnd - row.keyFrom, m_loops.panelKeys) * m_loops.panelKeys;
    }
    /// Number of keys whose scores are in memory at a time. The features shifted and shiftedLog need the scores of all
    /// keys.
    std::int64_t runKeysOf(const AttendedRow& row) const {
        const bool needsAll = std::ranges::any_of(m_wanted, [](const AttentionFeature& feature) {
            return feature.kind == AttentionFeature::Kind::shifted ||
                   feature.kind == AttentionFeature::Kind::shiftedLog;
        });
        return needsAll ? packedKeys(row) : blockKeys;
    }
    bool packsValues() const { return m_columns != m_shape.headDim || m_keysAndValues.areHalves(); }
    /// Number of floats of one packed KV group of a row: panels of keys, and the values if they must be converted or
    /// padded to whole vectors.
    std::int64_t packedGroup(const AttendedRow& row) const {
        if (m_products)
            return packedKeys(row) * tileColumns();
        return packedKeys(row) * (m_shape.headDim + (packsValues() ? m_columns : 0));
    }
    /// Numbers of a key or a value in tiles: two of bfloat16 take the memory of one float.
    std::int64_t tileColumns() const { return quotientUp(m_shape.headDim, amx::stepDepth) * amx::stepDepth; }
    /// Offset of a group's value tiles behind its key tiles, in floats.
    std::int64_t valueTiles(const AttendedRow& row) const { return packedKeys(row) * tileColumns() / 2; }
    std::int64_t packedSize(const AttendedRow& row) const { return m_shape.kvHeads * packedGroup(row); }

    /// Packs keys in strips of 32 keys, and values in steps of 32 keys.
    void packTiles(const AttendedRow& row, std::int64_t group, std::int64_t begin, float* packed) const {
        constexpr std::int64_t step = amx::stepDepth;
        const std::int64_t size = m_shape.headDim;
        const std::int64_t end = std::min(begin + blockKeys, row.keyEnd - row.keyFrom);
        std::vector<std::uint16_t> rounded(static_cast<std::size_t>(step * size));
        for (std::int64_t key = begin; key < end; key += step) {
            const std::int64_t count = std::min(step, end - key);
            const auto pack = [&](const Destination& all, bool areKeys, float* place) {
                const Source from = cachedAt(all, row.number, group, row.keyFrom + key);
                if (from.floats)
                    m_loops.write(from.floats, count * size, {nullptr, rounded.data()});
                const std::uint16_t* numbers = from.floats ? rounded.data() : from.halves;
                auto* to = reinterpret_cast<std::byte*>(place);
                for (std::int64_t i = 0; i < size; i += step, to += RowProduct::pieceBytes) {
                    const std::int64_t width = std::min(step, size - i);
                    amx::pack({numbers + i, size, areKeys, areKeys ? count : width, areKeys ? width : count},
                              amx::Side::right, to);
                }
            };
            float* place = packed + key * tileColumns() / 2;
            pack(m_keysAndValues.keys, true, place);
            pack(m_keysAndValues.values, false, place + valueTiles(row));
        }
    }

    void packRun(const AttendedRow& row, std::int64_t group, std::int64_t begin, float* packed) const {
        if (m_products)
            return packTiles(row, group, begin, packed);
        const std::int64_t end = std::min(begin + blockKeys, row.keyEnd - row.keyFrom);
        std::vector<float> converted;
        for (std::int64_t key = begin; key < end; key += m_loops.panelKeys) {
            const std::int64_t count = std::min<std::int64_t>(m_loops.panelKeys, end - key);
            Source keys = cachedAt(m_keysAndValues.keys, row.number, group, row.keyFrom + key);
            if (keys.halves) {
                converted.resize(static_cast<std::size_t>(count * m_shape.headDim));
                m_loops.widen(keys, std::ssize(converted), converted.data());
                keys = {converted.data(), nullptr};
            }
            m_loops.packKeys(keys.floats, m_shape.headDim, count, m_shape.headDim, packed + key * m_shape.headDim);
        }
        if (!packsValues())
            return;
        float* to = packed + packedKeys(row) * m_shape.headDim;
        for (std::int64_t key = begin; key < end; ++key) {
            m_loops.widen(cachedAt(m_keysAndValues.values, row.number, group, row.keyFrom + key), m_shape.headDim,
                          to + key * m_columns);
            std::fill(to + key * m_columns + m_shape.headDim, to + (key + 1) * m_columns, 0.0F);
        }
    }

    void attendBlocked(std::span<const AttendedRow> rows, std::int64_t floats) const {
        const at::Tensor packed = at::empty({floats}, at::kFloat);
        struct Task {
            const AttendedRow* row;
            std::int64_t group;
            std::int64_t begin; // first query, or first key counted from keyFrom
            std::int64_t head = 0;
        };
        std::vector<Task> packing;
        std::vector<Task> blocks;
        for (const AttendedRow& row : rows) {
            for (std::int64_t group = 0; group < m_shape.kvHeads; ++group) {
                for (std::int64_t key = 0; key < row.keyEnd - row.keyFrom; key += blockKeys)
                    packing.push_back({&row, group, key});
                // The last blocks see the most keys. They run first, so that all threads end at about the same time.
                for (std::int64_t block = quotientUp(row.length, blockQueries) - 1; block >= 0; --block)
                    for (std::int64_t head = firstHead(group); head < firstHead(group + 1); ++head)
                        blocks.push_back({&row, group, block * blockQueries, head});
            }
        }
        const auto packedOf = [&](const Task& task) {
            return packed.data_ptr<float>() + task.row->packed + task.group * packedGroup(*task.row);
        };
        forEachTask(static_cast<std::int64_t>(packing.size()), 0, [&](std::int64_t i, float*) {
            const Task& task = packing[static_cast<std::size_t>(i)];
            packRun(*task.row, task.group, task.begin, packedOf(task));
        });
        std::int64_t runKeys = 0;
        for (const AttendedRow& row : rows)
            runKeys = std::max(runKeys, runKeysOf(row));
        const std::int64_t size = scratchFloats(m_loops, m_shape, runKeys);
        forEachTask(static_cast<std::int64_t>(blocks.size()), size, [&](std::int64_t i, float* scratch) {
            const Task& task = blocks[static_cast<std::size_t>(i)];
            attendBlock(*task.row, task.group, task.head, task.begin, packedOf(task), scratch);
        });
    }

    void attendBlock(const AttendedRow& row, std::int64_t group, std::int64_t head, std::int64_t begin,
                     const float* packed, float* scratch) const {
        QueryBlock block;
        block.queries = queriesAt(row.number, head) + begin * m_shape.headDim;
        block.count = static_cast<int>(std::min(blockQueries, row.length - begin));
        block.first = row.first + begin;
        block.keyFrom = row.keyFrom;
        block.keyEnd = row.keyEnd;
        if (m_products) {
            block.multiply = m_products->multiplyPieces;
            block.keyTiles = reinterpret_cast<const std::byte*>(packed);
            block.valueTiles = reinterpret_cast<const std::byte*>(packed + valueTiles(row));
        } else {
            block.panels = packed;
            block.values = packsValues() ? packed + packedKeys(row) * m_shape.headDim
                                         : cachedAt(m_keysAndValues.values, row.number, group, row.keyFrom).floats;
            block.valueStride = m_columns;
        }
        block.context = contextAt(row.number, begin, head);
        block.contextStride = contextWidth();
        block.runKeys = runKeysOf(row);
        if (!m_wanted.empty())
            block.features = {m_wanted.data(), static_cast<int>(m_wanted.size()),
                              m_features + (row.number * m_shape.heads + head) * std::ssize(m_wanted) * m_positions +
                                  begin,
                              m_positions};
        m_loops.attendBlock(block, m_shape, scratch);
    }

    /// Number of floats of the results of a run of keys for all heads of a group: largest scores, sums and contexts.
    std::int64_t partialSize(std::int64_t group) const { return groupHeads(group) * (2 + m_shape.headDim); }

    /// Number of keys that a single query sees at once: few, so that there is work for all threads.
    static constexpr std::int64_t singleKeys = 128;

    void attendSingle(std::span<const AttendedRow> rows) const {
        struct Task {
            const AttendedRow* row;
            std::int64_t group;
            std::int64_t runs;
            std::int64_t partial; ///< offset of the first run's results
        };
        std::vector<Task> groups;
        std::vector<std::pair<Task, std::int64_t>> runs;
        std::int64_t size = 0;
        for (const AttendedRow& row : rows) {
            for (std::int64_t group = 0; group < m_shape.kvHeads; ++group) {
                groups.push_back({&row, group, quotientUp(row.keyEnd - row.keyFrom, singleKeys), size});
                for (std::int64_t run = 0; run < groups.back().runs; ++run)
                    runs.emplace_back(groups.back(), run);
                size += groups.back().runs * partialSize(group);
            }
        }
        const auto count = static_cast<std::int64_t>(runs.size());
        const at::Tensor partials = at::empty({size}, at::kFloat);
        auto* floats = partials.data_ptr<float>();
        forEachTask(count, scratchFloats(m_loops, m_shape, 0), [&](std::int64_t i, float* scratch) {
            const auto& [task, run] = runs[static_cast<std::size_t>(i)];
            attendRun(*task.row, task.group, run, floats + task.partial + run * partialSize(task.group), scratch);
        });
        for (const Task& task : groups)
            for (std::int64_t head = 0; head < groupHeads(task.group); ++head)
                combine(*task.row, task.group, head, task.runs, floats + task.partial);
    }

    void attendRun(const AttendedRow& row, std::int64_t group, std::int64_t run, float* partial, float* scratch) const {
        const std::int64_t begin = row.keyFrom + run * singleKeys;
        QueryGroup work;
        work.heads = m_shape.groupHeads(static_cast<int>(group));
        work.queries = queriesAt(row.number, firstHead(group));
        work.queryStride = m_positions * m_shape.headDim;
        work.keys = cachedAt(m_keysAndValues.keys, row.number, group, begin);
        work.values = cachedAt(m_keysAndValues.values, row.number, group, begin);
        work.count = std::min(singleKeys, row.keyEnd - begin);
        work.largest = partial;
        work.sums = partial + work.heads;
        work.context = partial + std::int64_t{2} * work.heads;
        m_loops.attendGroup(work, m_shape, scratch);
    }

    void combine(const AttendedRow& row, std::int64_t group, std::int64_t head, std::int64_t runs,
                 float* partials) const {
        const auto partial = [&](std::int64_t run) { return partials + run * partialSize(group); };
        float largest = -std::numeric_limits<float>::infinity();
        for (std::int64_t run = 0; run < runs; ++run)
            largest = std::max(largest, partial(run)[head]);
        float sum = 0;
        std::vector<float> context(static_cast<std::size_t>(m_shape.headDim));
        for (std::int64_t run = 0; run < runs; ++run) {
            const float factor = std::exp(partial(run)[head] - largest);
            sum += factor * partial(run)[groupHeads(group) + head];
            const float* own = partial(run) + 2 * groupHeads(group) + head * m_shape.headDim;
            for (std::size_t i = 0; i < context.size(); ++i)
                context[i] += factor * own[i];
        }
        for (float& number : context)
            number /= sum;
        m_loops.write(context.data(), m_shape.headDim, contextAt(row.number, 0, firstHead(group) + head));
    }

    const VectorLoops& m_loops = vectorLoops();
    const AttentionShape& m_shape;
    const KeyValueViews& m_keysAndValues;
    std::int64_t m_positions;
    std::int64_t m_columns;                  ///< headDim rounded up to whole vectors
    const RowProducts* m_products = nullptr; ///< products of bfloat16 numbers; null = products are in float32
    const float* m_queries;
    std::span<const AttentionFeature> m_wanted;
    float* m_features;
    Destination m_context;
};

} // namespace

void attend(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
            std::span<const int> first, std::span<const int> lengths, const at::Tensor& context) {
    RowAttention(queries, keysAndValues, shape, context, {}, nullptr).run(first, lengths);
}

void attendWithFeatures(const at::Tensor& queries, const KeyValueViews& keysAndValues, const AttentionShape& shape,
                        std::span<const int> first, std::span<const int> lengths, const at::Tensor& context,
                        std::span<const AttentionFeature> wanted, const at::Tensor& features) {
    RowAttention(queries, keysAndValues, shape, context, wanted, features.data_ptr<float>()).run(first, lengths);
}

} // namespace secateur
