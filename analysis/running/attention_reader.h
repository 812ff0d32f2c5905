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

/// Attention probabilities of one head on one text. Queries are rows, keys are columns. The value is 0 for a key that
/// the query does not see.
struct AttentionMap {
    HeadId head;
    int tokens = 0;
    std::vector<float> values; ///< [tokens, tokens]

    float at(int query, int key) const {
        return values[static_cast<std::size_t>(query) * static_cast<std::size_t>(tokens) +
                      static_cast<std::size_t>(key)];
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
    std::optional<AttentionMap> map;            ///< map of the requested head; empty if the head is cut or bypassed
    std::vector<AttentionThumbnail> thumbnails; ///< thumbnails of the heads that are neither cut nor bypassed, in order
};

struct AttentionRules {
    ComputeType type = ComputeType::automatic;
    std::int64_t streamBudget = std::int64_t{1} << 30; ///< maximum bytes of residual streams to store
    int thumbnailSide = 96;                            ///< maximum number of cells along an edge
};

/// Computes attention maps of one text. The constructor runs the model and stores the input of every k-th layer, with k
/// as small as the budget allows. layer() runs the model from the nearest stored input at or below that layer.
///
/// Not thread-safe.
class AttentionReader {
public:
    /// @param ids token ids of the text, including special tokens
    /// @throws Error for an empty text, a text longer than the model's context, and as Runner; Cancelled
    AttentionReader(std::shared_ptr<const Model> model, const PruningMask& mask, const std::vector<int>& ids,
                    const AttentionRules& rules = {}, const Progress& progress = {});
    ~AttentionReader();

    int tokens() const;
    /// @param head the head whose full map is computed; none = thumbnails only @throws Cancelled
    LayerAttention layer(int layer, std::optional<int> head = {}, const Progress& progress = {}) const;

private:
    class State;
    std::unique_ptr<State> m_state;
};

} // namespace secateur
