#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/change_scale.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/gate_effects.h"
#include "analysis/model/model.h"
#include "analysis/text/scored_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

struct Session;

/// The gradients that masks of a model are predicted from, and the text that they were measured on.
struct PredictionBasis {
    GateEffects effects; ///< of the dense model
    std::string source;  ///< of the text: file or folder, or "built-in"
    std::string digest;  ///< of the token ids of all sequences
    std::int64_t sequenceLength = 0;
    std::string dtype = {};
    std::string device = {};
    std::string created = {}; ///< ISO 8601, UTC
};

/// Predicts the change of the loss under a mask before it is measured (resources/manual/metrics.md, Prediction of a
/// mask): to second order from the gates of the cut units, corrected by measured changes. A layer of which all heads
/// are cut counts as its attention sublayer, a layer without attention and MLP as its block; neurons count one by one.
/// Takes a millisecond or two. Not thread-safe while it learns.
class Predictor {
public:
    /// @param singles measured changes, by gate, of single cuts, which replace the estimates; NaN = not measured; empty
    /// = none is measured @throws Error when the basis belongs to another model
    Predictor(const ModelSpec& spec, std::shared_ptr<const PredictionBasis> basis, std::vector<double> singles = {});

    const PredictionBasis& basis() const { return *m_basis; }
    const ChangeScale& scale() const { return m_scale; }

    /// Why a mask cannot be predicted, as a sentence without its full stop; empty where it can.
    std::string refusal(const PruningMask& mask) const;
    /// Nothing where there is a refusal(). A mask that cuts nothing has the change 0.
    std::optional<Prediction> predict(const PruningMask& mask) const;
    /// Without the corrections that were learnt. @throws Error with the refusal
    RawChange raw(const PruningMask& mask) const;
    /// First order alone, for comparison: it does not predict. @throws Error with the refusal
    double firstOrder(const PruningMask& mask) const;

    /// Learns from a measured change. Masks with a refusal are ignored.
    void learn(const PruningMask& mask, double measuredNats);

private:
    struct Cuts {
        std::vector<double> gates; ///< as GateEffects::change()
        std::array<double, cutKinds> sizes{};
        double replaced = 0; ///< measured single cuts minus their estimates
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

/// How much of a text the gradients are measured on.
struct PredictionRules {
    std::int64_t tokens = 1024;
    std::int64_t sequenceLength = sampledLength;
    int passes = fewestSignPasses;
};

/// Why masks of a model cannot be predicted, as a sentence without its full stop; empty where they can.
std::string predictionRefusal(const ModelSpec& spec);

/// Measured on the beginning of a text, in float32, with the dense model.
/// @throws Error where there is a predictionRefusal(), or the text is too short; as gateEffects()
std::shared_ptr<const PredictionBasis> predictionBasis(const Model& model, const EvaluationText& text,
                                                       const PredictionRules& rules, const Progress& progress);

/// The predictor of a session's model: from the gradients, ablations and token-level evaluations that the session
/// holds. Nothing where it holds no gradients.
std::optional<Predictor> predictorOf(const Session& session);

} // namespace secateur
