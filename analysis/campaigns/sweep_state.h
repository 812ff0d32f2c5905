#pragma once

#include "analysis/base/progress.h"
#include "analysis/campaigns/campaign.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

/// The arguments of a sweep that runs, and what it has found so far.
class SweepState {
public:
    SweepState(const Model& openModel, const SweepRequest& wanted, const SweepInputs& texts, const SweepKnown& earlier,
               const SweepPlan& planned, const SweepSink& receiver);

    const Model& model;
    const SweepRequest& request;
    const SweepInputs& inputs;
    const SweepKnown& known;
    const SweepPlan& plan;

    const Curves& curves() const { return m_curves; }
    const std::string& strategyOf(const PlannedPoint& point) const { return m_strategies.at(point.series); }
    /// The point as it is known so far.
    CurvePoint pointOf(const PlannedPoint& point) const;
    /// The mask with a digest; null if neither this sweep nor an earlier one has it.
    const PruningMask* maskOf(const std::string& digest) const;

    /// Remembers a mask. @returns whether it is new, so that it has to be stored
    bool remember(const std::string& digest, const PruningMask& mask);
    void addWarnings(const std::vector<std::string>& warnings);
    void setDense(CurvePoint dense) { m_curves.dense = std::move(dense); }

    /// A point and its strategy.
    using NamedPoint = std::pair<std::string, CurvePoint>;
    /// Adds points to the curves and passes them on. @param news further news
    void store(const std::vector<NamedPoint>& points, SweepNews news = {});
    /// Passes on news that contain no point.
    void tell(SweepNews news);

    /// Shares out items of work among inputs.ranks. The news of an item reach all ranks, and are passed on there.
    void share(std::size_t count, const std::function<void(std::size_t item, const Progress& progress)>& work,
               const Progress& progress);

private:
    Curves withoutPoints() const;
    void take(SweepNews news);

    const SweepSink& m_sink;
    std::vector<std::string> m_strategies; ///< result ids, by series
    Curves m_curves;
    std::map<std::string, PruningMask> m_masks;       ///< masks that this sweep chose, by digest
    std::set<std::string> m_takenMasks;               ///< digests of masks in the news of items that ranks shared
    std::optional<std::vector<SweepNews>> m_itemNews; ///< news of the item that runs, if ranks share items
};

/// The expected passes over the calibration text of a strategy that reads the text itself, for the mask of a point; 0
/// if the strategy cannot choose it.
double choosingPasses(const ModelSpec& spec, const SweepRequest& request, const PlannedPoint& point);

/// Chooses the masks of all points of the plan that have none. Points that fail get an error.
void chooseMasks(SweepState& state, const Progress& progress);

/// Scores the masks of all points of the plan, then trains and scores those of recovered points. Points that fail get
/// an error. @param recoveryShare expected share of the second part in the duration
/// @throws Error if the dense model cannot be scored; Cancelled
void scoreMasks(SweepState& state, double recoveryShare, const Progress& progress);

} // namespace secateur
