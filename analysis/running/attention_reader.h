#pragma once

#include "analysis/base/head_id.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace secateur {

/// Attention probabilities of one head over one text: queries are rows, keys columns; 0 where a key is not visible.
struct AttentionMap {
    HeadId head;
    int tokens = 0;
    std::vector<float> values; ///< [tokens, tokens]

    float at(int query, int key) const {
        return values[static_cast<std::size_t>(query) * static_cast<std::size_t>(tokens) +
                      static_cast<std::size_t>(key)];
    }
};

/// A map made small: each cell is the largest of those it stands for, so that a single column stays visible.
struct AttentionThumbnail {
    HeadId head;
    int side = 0;              ///< cells along an edge: the text's tokens, or fewer
    std::vector<float> values; ///< [side, side]
};

/// What one run of a layer gave.
struct LayerAttention {
    std::optional<AttentionMap> map;            ///< of the head that was asked for, unless it is cut
    std::vector<AttentionThumbnail> thumbnails; ///< of the heads that the mask keeps, in order
};

struct AttentionRules {
    ComputeType type = ComputeType::automatic;
    std::int64_t streamBudget = std::int64_t{1} << 30; ///< most bytes to keep of the residual stream between layers
    int thumbnailSide = 96;                            ///< most cells along an edge
};

/// Reads attention maps of one text: the model runs once, and a layer again whenever its maps are asked for. Streams
/// are kept of every k-th layer, as the budget allows.
///
/// Not thread-safe: one thread at a time.
class AttentionReader {
public:
    /// @param ids the text, special tokens included
    /// @throws Error for an empty text, one that is longer than the model can see, and as the runner; Cancelled
    AttentionReader(std::shared_ptr<const Model> model, const PruningMask& mask, const std::vector<int>& ids,
                    const AttentionRules& rules = {}, const Progress& progress = {});
    ~AttentionReader();

    int tokens() const;
    /// @param head whose map is wanted as a whole; none = thumbnails alone @throws Cancelled
    LayerAttention layer(int layer, std::optional<int> head = {}, const Progress& progress = {}) const;

private:
    class State;
    std::unique_ptr<State> m_state;
};

} // namespace secateur
