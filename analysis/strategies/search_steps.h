#pragma once

#include "analysis/compensation/layer_fits.h"
#include "analysis/masks/protection.h"
#include "analysis/strategies/prune.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// The kinds of steps of the strategy `search`, in the order of its option `units`.
enum class StepKind { heads, neurons, attention, mlps, blocks, bypass };
inline constexpr std::array<std::string_view, 6> stepKindNames{"heads", "neurons", "attention",
                                                               "mlps",  "blocks",  "bypass"};

/// The order in which heads and neurons of a layer are cut.
enum class StepOrder { wanda, obs };

/// Rules for the steps of the strategy `search` (resources/manual/strategies.md).
struct StepRules {
    std::vector<StepKind> kinds;
    double neuronShare = 0.17; ///< share of the layer's own neurons that a step cuts
    StepOrder order = StepOrder::wanda;
    bool restores = true;  ///< whether the kept weights of the projection are fitted again
    double mu = 0.3;       ///< in multiples of the mean diagonal
    bool byGroups = false; ///< whether heads are cut in whole KV groups
    Protection protection;
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
    /// is nothing left to cut. @param mask that of the plan of the fits @throws Cancelled
    std::optional<PruningMask> next(const PruningMask& mask, int layer, StepKind kind, const Progress& progress);

private:
    std::optional<PruningMask> withoutUnits(const PruningMask& mask, int layer, CutUnit unit, const Progress& progress);
    std::optional<PruningMask> withoutSublayer(const PruningMask& mask, int layer, CutUnit unit) const;
    std::optional<PruningMask> bypassed(const PruningMask& mask, int layer, const Progress& progress);
    std::vector<int> candidates(const PruningMask& mask, int layer, CutUnit unit) const;
    std::vector<int> chosen(const PruningMask& mask, int layer, CutUnit unit, const FitSums& sums) const;
    void restore(PruningMask& mask, int layer, Projection which, const FitSums& sums) const;

    const Model& m_model;
    LayerFits& m_fits;
    StepRules m_rules;
};

} // namespace secateur
