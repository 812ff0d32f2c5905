#pragma once

#include "analysis/base/head_id.h"
#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace secateur {

/// Attention probabilities of one head on one text, or the maxima of several: a cell covers `cells` queries and as many
/// keys. Queries are rows, keys are columns. The value is 0 for a key that the query does not see.
struct AttentionMap {
    HeadId head;
    int tokens = 0;
    int cells = 1;             ///< more than 1 only for texts with more than AttentionRules::mapSide tokens
    std::vector<float> values; ///< [side(), side()]

    int side() const { return (tokens + cells - 1) / cells; }
    float at(int row, int column) const {
        return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(side()) +
                      static_cast<std::size_t>(column)];
    }
};

/// An attention map that was reduced by maximum pooling, so that a column of one token stays visible.
struct AttentionThumbnail {
    HeadId head;
    int side = 0;              ///< number of cells along an edge, at most the number of tokens
    std::vector<float> values; ///< [side, side]
};

/// Attention maps of one layer.
struct LayerAttention {
    std::optional<AttentionMap> map; ///< map of the requested head; empty if the head is cut or bypassed
    /// Thumbnails of the heads that are neither cut nor bypassed, in order. With a map of a long text, only that of its
    /// head.
    std::vector<AttentionThumbnail> thumbnails;
};

/// A part of an attention map: some queries and keys, at a resolution. A cell is the maximum over `cells` x `cells`
/// probabilities, so that a column of one token stays visible.
struct MapWindow {
    int firstQuery = 0;
    int queries = 0;
    int firstKey = 0;
    int keys = 0;
    int cells = 1;

    int rows() const { return (queries + cells - 1) / cells; }
    int columns() const { return (keys + cells - 1) / cells; }
    bool operator==(const MapWindow&) const = default;
};

/// A part of the map of one head.
struct AttentionPart {
    HeadId head;
    MapWindow window;
    std::vector<float> values; ///< [window.rows(), window.columns()]
};

struct AttentionRules {
    ComputeType type = ComputeType::automatic;
    std::int64_t streamBudget = std::int64_t{1} << 30; ///< maximum bytes of residual streams to store
    int thumbnailSide = 96;                            ///< maximum number of cells along an edge
    int mapSide = 4096; ///< maximum number of cells along an edge of a map; longer texts are reduced
};

/// Computes attention maps of one text. Runs the model from the nearest stored input at or below a layer, and stores
/// the input of every k-th layer, with k as small as the budget allows.
///
/// Memory is bounded for any length of the text: the streams, one layer's keys and values, and a map of mapSide x
/// mapSide cells.
///
/// Not thread-safe.
class AttentionReader {
public:
    /// @param ids token ids of the text, including special tokens
    /// @throws Error for an empty text and a text longer than the model's context
    AttentionReader(std::shared_ptr<const Model> model, const PruningMask& mask, const std::vector<int>& ids,
                    const AttentionRules& rules = {});
    ~AttentionReader();

    int tokens() const;
    /// @param head the head whose map is computed; none = thumbnails only @throws Error as Runner; Cancelled
    LayerAttention layer(int layer, std::optional<int> head = {}, const Progress& progress = {}) const;
    /// A part of a head's map. Empty if the head is cut or bypassed. In decoders, only the queries of the window run.
    /// @throws as layer()
    std::optional<AttentionPart> part(HeadId head, const MapWindow& window, const Progress& progress = {}) const;

private:
    class State;
    std::unique_ptr<State> m_state;
};

} // namespace secateur
