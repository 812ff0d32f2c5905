#pragma once

#include "analysis/base/head_id.h"
#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/weights/number_grid.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace secateur {

/// The two circuits of a head (Elhage et al., A Mathematical Framework for Transformer Circuits). `queryKey`: the
/// bilinear form W_q^T W_k of the scores, [hidden of the query, hidden of the key]. `outputValue`: W_o W_v, [hidden of
/// the output, hidden of the input].
enum class CircuitKind { queryKey, outputValue };
std::string_view name(CircuitKind kind);  ///< "qk", "ov"
std::string_view title(CircuitKind kind); ///< "query-key circuit"

/// Options of the metric gate_norm_head, with the same meaning. `augmented` and `normedHeads` concern query-key only.
struct CircuitOptions {
    bool foldNorm = false;    ///< multiply the columns of W_q, W_k and W_v by the input norm's weight
    bool augmented = false;   ///< append the query and key biases to the weights as one more column
    bool normedHeads = false; ///< qk_norm: divide out the scale of W_q and W_k and fold in the weights of their norms
    bool operator==(const CircuitOptions&) const = default;
};

/// A circuit of rank at most headDim, kept as its two factors: the map is left^T right.
struct HeadCircuit {
    CircuitKind kind = CircuitKind::queryKey;
    HeadId head;
    CircuitOptions options;
    std::int64_t rank = 0; ///< rows of the factors: headDim
    std::int64_t rows = 0; ///< rows of the map: columns of `left`
    std::int64_t columns = 0;
    std::vector<float> left;  ///< [rank, rows]
    std::vector<float> right; ///< [rank, columns]
    /// Singular values of the map, largest first, [rank]; empty if a weight contains NaN or infinite numbers.
    std::vector<double> singularValues{};
    double norm = std::numeric_limits<double>::quiet_NaN(); ///< Frobenius norm; for queryKey, gate_norm_head with these
                                                            ///< options
    double stableRank = std::numeric_limits<double>::quiet_NaN(); ///< norm^2 / largest singular value^2; NaN if 0
    /// queryKey with rotary positions: gate_norm_head with rope_averaged, the root mean square of the norm over all
    /// rotary phases. NaN otherwise.
    double averagedNorm = std::numeric_limits<double>::quiet_NaN();
    /// queryKey with rotary positions: the share of averagedNorm^2 that each rotary pair contributes, [dims / 2]. Pair
    /// 0 rotates fastest. Empty otherwise.
    std::vector<double> rotaryShares{};
    double unrotatedShare = 0; ///< the share of the dimensions that are not rotated; all shares add up to 1
};

/// Whether a layer has the circuit: query-key needs queries and keys, output-value heads with an output projection.
bool hasCircuit(const LayerSpec& layer, CircuitKind kind);

/// Computes a circuit from the head's rows and columns only. The map itself is not formed.
/// @throws UsageError if there is no such head; Error if the layer has no such circuit, or a file was truncated;
/// Cancelled
HeadCircuit headCircuit(const Model& model, HeadId head, CircuitKind kind, const CircuitOptions& options = {},
                        const Progress& progress = {});

/// The map of a circuit as a grid for BlockPyramid and statisticsOf(). Numbers are computed from the factors when they
/// are read.
std::shared_ptr<const NumberGrid> circuitGrid(std::shared_ptr<const HeadCircuit> circuit);

} // namespace secateur
