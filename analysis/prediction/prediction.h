#pragma once

#include "analysis/evaluation/change_scale.h"
#include "analysis/metrics/gate_effects.h"
#include "analysis/masks/pruning_mask.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// What masks of a model are predicted from, and where that comes from.
struct PredictionBasis {
    GateEffects effects; ///< of the dense model
    std::string source;  ///< of the text: file or folder, or "built-in"
    std::string digest;  ///< of the token ids of all sequences
    std::int64_t sequenceLength = 0;
    std::string dtype = {};
    std::string device = {};
    std::string created = {}; ///< ISO 8601, UTC
};

/// Predicts what a mask does to the loss before it is measured (methods.md 4.5): to second order from the gates of all
/// that it cuts, corrected by what was measured so far. A layer of which all heads are cut is its attention sublayer,
/// one of which attention and MLP go is its block, neurons count one by one. Within a millisecond or two; not
/// thread-safe while it learns.
class Predictor {
public:
    /// @param singles measured changes, by gate, of cutting it alone: they replace the estimates of single cuts; NaN =
    /// not measured; empty = none is @throws Error when the basis is not of this model
    Predictor(const ModelSpec& spec, std::shared_ptr<const PredictionBasis> basis, std::vector<double> singles = {});

    const PredictionBasis& basis() const { return *m_basis; }
    const ChangeScale& scale() const { return m_scale; }

    /// Why there is no prediction of a mask, in a sentence without its full stop; empty where there is one.
    std::string refusal(const PruningMask& mask) const;
    /// Nothing where refusal() says why. A mask that cuts nothing changes nothing.
    std::optional<Prediction> predict(const PruningMask& mask) const;
    /// Before anything learnt. @throws Error with the refusal
    RawChange raw(const PruningMask& mask) const;
    /// First order alone, which does not predict: for comparison. @throws Error with the refusal
    double firstOrder(const PruningMask& mask) const;

    /// Takes an exact evaluation; of masks that are refused nothing is learnt.
    void learn(const PruningMask& mask, double measuredNats);

private:
    struct Cuts {
        std::vector<double> gates; ///< as GateEffects::change()
        std::array<double, cutKinds> sizes{};
        double replaced = 0; ///< measured single cuts less their estimates
        double neuronSlope = 0;
        double neuronFisher = 0;
        std::string refusal;
    };
    struct Places {
        std::vector<std::ptrdiff_t> heads; ///< -1 = no gate
        std::array<std::ptrdiff_t, cutKinds> others{-1, -1, -1, -1, -1};
    };
    Cuts cutsOf(const PruningMask& mask) const;
    void cutLayer(int layer, const LayerMask& mask, Cuts& cuts) const;
    void cutHeads(int layer, const LayerMask& mask, Cuts& cuts) const;
    void cutNeurons(int layer, const LayerMask& mask, Cuts& cuts) const;
    void bypass(int layer, double alpha, Cuts& cuts) const;
    void close(int layer, Gate::Of of, std::ptrdiff_t place, Cuts& cuts) const;
    double ownEstimate(std::size_t gate) const;
    Cuts checked(const PruningMask& mask) const;

    ModelSpec m_spec;
    std::shared_ptr<const PredictionBasis> m_basis;
    std::vector<double> m_singles;
    std::vector<double> m_diagonal; ///< F_uu
    std::vector<Places> m_places;   ///< by layer
    ChangeScale m_scale;
};

} // namespace secateur
