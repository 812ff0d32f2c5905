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

/// The gradients from which changes of the loss are predicted, and the text on which they were measured.
struct PredictionBasis {
    GateEffects effects; ///< derivatives for the dense model
    std::string source;  ///< file or folder of the text, or "built-in"
    std::string digest;  ///< digest of the token ids of all sequences
    std::int64_t sequenceLength = 0;
    std::string dtype = {};
    std::string device = {};
    std::string created = {}; ///< time in UTC as ISO 8601
};

/// Predicts the change of the loss under a mask before it is measured (resources/manual/metrics.md, Prediction of a
/// mask). The prediction is a second-order estimate from the gates of the cut units, corrected by measured changes. If
/// all heads of a layer are cut, the gate of its attention is closed instead of the gates of the heads. If attention
/// and MLP are cut, the gate of the block is closed. Neurons are added one by one. A prediction takes one or two
/// milliseconds. Thread-safe except for learn().
class Predictor {
public:
    /// @param singles for each gate, the measured change of the loss if only this gate is closed. It replaces the
    /// estimate. NaN = not measured; empty = none is measured @throws Error if the basis belongs to another model
    Predictor(const ModelSpec& spec, std::shared_ptr<const PredictionBasis> basis, std::vector<double> singles = {});

    const PredictionBasis& basis() const { return *m_basis; }
    const ChangeScale& scale() const { return m_scale; }

    /// The reason why a mask cannot be predicted, as a sentence without full stop. Empty if it can be predicted.
    std::string refusal(const PruningMask& mask) const;
    /// The predicted change; 0 for a mask that cuts nothing. Empty if there is a refusal().
    std::optional<Prediction> predict(const PruningMask& mask) const;
    /// The estimate without the correction by measured changes. @throws Error with the text of refusal()
    RawChange raw(const PruningMask& mask) const;
    /// The first-order term alone, for comparison only. @throws Error with the text of refusal()
    double firstOrder(const PruningMask& mask) const;

    /// Corrects later predictions by a measured change. Masks with a refusal() are ignored.
    void learn(const PruningMask& mask, double measuredNats);

private:
    struct Cuts {
        std::vector<double> gates;            ///< argument of GateEffects::change()
        std::array<double, cutKinds> sizes{}; ///< second-order term of each kind of cut
        double replaced = 0;                  ///< sum of measured minus estimated change over the measured gates
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
    std::vector<double> m_diagonal; ///< [gates] F_uu
    std::vector<Places> m_places;   ///< gates of each layer
    ChangeScale m_scale;
};

/// The amount of text and the number of passes with which the gradients are measured.
struct PredictionRules {
    std::int64_t tokens = 1024;
    std::int64_t sequenceLength = sampledLength;
    int passes = fewestSignPasses;
};

/// The reason why no mask of a model can be predicted, as a sentence without full stop. Empty if masks can be
/// predicted.
std::string predictionRefusal(const ModelSpec& spec);

/// Measures the gradients on the beginning of a text, in float32, with the dense model.
/// @throws Error if there is a predictionRefusal(), or the text is too short; also as gateEffects()
std::shared_ptr<const PredictionBasis> predictionBasis(const Model& model, const EvaluationText& text,
                                                       const PredictionRules& rules, const Progress& progress);

/// The predictor for a session's model, made from the gradients, ablations and token_ppl evaluations in the session.
/// Empty if the session has no gradients.
std::optional<Predictor> predictorOf(const Session& session);

} // namespace secateur
