#pragma once

#include "analysis/base/matrix.h"
#include "analysis/compensation/layer_fits.h"
#include "analysis/masks/protection.h"
#include "analysis/metrics/metric.h"
#include "analysis/strategies/prune.h"

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// The kinds of steps of the strategy `search`. The first six are the values of its option `units`, in this order. The
/// others take the place of single heads where those save nothing or cannot be exported: a KV group with all its heads,
/// and one head of each KV group.
enum class StepKind { heads, neurons, attention, mlps, blocks, bypass, groups, headsOfGroups };
inline constexpr std::array<std::string_view, 6> stepKindNames{"heads", "neurons", "attention",
                                                               "mlps",  "blocks",  "bypass"};

/// The unit that a kind of step cuts.
CutUnit unitOf(StepKind kind);

/// The order in which heads and neurons of a layer are cut, unless a metric decides.
enum class StepOrder { wanda, obs };

/// Rules for the steps of the strategy `search` (resources/manual/strategies.md).
struct StepRules {
    std::vector<StepKind> kinds;
    double share = 0.17; ///< share of the layer's own heads or neurons that a step cuts, at least one
    StepOrder order = StepOrder::wanda;
    std::vector<MetricRequest> metrics = {}; ///< of heads or neurons, which order these units instead
    /// Values of these metrics by layer and unit, with signs by which the lowest are cut first.
    std::map<CutUnit, Matrix> values = {};
    bool restores = true; ///< whether the kept weights of the projection are fitted again
    double mu = 0.3;      ///< in multiples of the mean diagonal
    Protection protection;
    /// Whether a mask may be the result of a step. Empty = any.
    std::function<bool(const PruningMask& mask)> allows = {};
    /// Whether a step cuts the same number of heads or neurons in all layers.
    bool isUniform = false;
    double divergence = 1; ///< weight of the divergence from the dense model in prices, 1 - that of the loss
    bool swaps = true;     ///< whether last steps are exchanged when the budget is reached
    bool refit = true;     ///< whether all restored weights are then fitted again
};

/// Makes the steps that cut a little more in one layer.
class SearchSteps {
public:
    /// All arguments must outlive this object.
    SearchSteps(const Model& model, LayerFits& fits, StepRules rules)
        : m_model(model)
        , m_fits(fits)
        , m_rules(std::move(rules)) {}

    const StepRules& rules() const { return m_rules; }
    /// The mask after the next step of a kind in a layer, with the restored weights of its projection. Empty if there
    /// is nothing left to cut, or StepRules::allows refuses the mask.
    /// @param mask that of the plan of the fits @param layer allLayers = in all layers
    /// @param most number of heads, neurons or groups that the step may cut in a layer @throws Cancelled
    std::optional<PruningMask> next(const PruningMask& mask, int layer, StepKind kind, const Progress& progress,
                                    std::size_t most = unlimited);

    static constexpr int allLayers = -1;

private:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    std::optional<PruningMask> inLayer(const PruningMask& mask, int layer, StepKind kind, std::size_t most,
                                       const Progress& progress);
    std::optional<PruningMask> inAllLayers(PruningMask mask, StepKind kind, std::size_t most, const Progress& progress);
    std::optional<PruningMask> withoutUnits(const PruningMask& mask, int layer, StepKind kind, std::size_t most,
                                            const Progress& progress);
    std::optional<PruningMask> withoutSublayer(const PruningMask& mask, int layer, CutUnit unit) const;
    std::optional<PruningMask> bypassed(const PruningMask& mask, int layer, const Progress& progress);
    double bestAlpha(const PruningMask& mask, int layer, const FitSums& sums, const at::Tensor& bias) const;
    std::vector<int> candidates(const PruningMask& mask, int layer, CutUnit unit) const;
    std::vector<double> scoresOfKept(const PruningMask& mask, int layer, CutUnit unit, const FitSums& sums) const;
    std::map<int, double> scores(const PruningMask& mask, int layer, CutUnit unit, const FitSums& sums) const;
    std::vector<int> chosen(const PruningMask& mask, int layer, StepKind kind, std::size_t most,
                            const FitSums& sums) const;
    std::size_t unitsOfStep(int layer, CutUnit unit) const;
    void restore(PruningMask& mask, int layer, Projection which, const FitSums& sums) const;

    const Model& m_model;
    LayerFits& m_fits;
    StepRules m_rules;
};

} // namespace secateur
