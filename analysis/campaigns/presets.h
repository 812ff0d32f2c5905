#pragma once

#include "analysis/campaigns/campaign.h"
#include "analysis/model/model_spec.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

enum class SweepSize { quick, paper };
/// @throws UsageError for other names than quick and paper
SweepSize sweepSizeOf(std::string_view name);

/// The points of a preset in one size.
struct PresetPoints {
    /// Series separated by ";". A series is "STRATEGY[,STRATEGY...] @ BUDGET[,BUDGET...]", with "N x " in front for N
    /// repetitions. The budget "N levels" stands for N equal steps up to 100 %. HEADS/N in an option stands for that
    /// share of the model's heads, at least 1.
    std::string_view series;
    std::int64_t calibrationTokens = 8192; ///< maximum of the calibration text
};

/// How budgets in units are adapted to models of other depths than the paper's.
enum class PresetScale {
    none,
    ifNeeded, ///< in proportion to the layers, if the largest budget is more than half of them
    always,   ///< in proportion to the layers
};

/// A row of the table of presets: a sweep of a paper.
struct SweepPreset {
    std::string_view id;
    std::string_view summary;
    std::string_view source;
    PresetPoints quick;
    PresetPoints paper;
    PresetScale scale = PresetScale::none;
    int paperLayers = 0; ///< layers of the paper's model, for PresetScale
    std::string_view protect = "none";

    const PresetPoints& points(SweepSize size) const { return size == SweepSize::quick ? quick : paper; }
};

std::span<const SweepPreset> allPresets();
/// @throws UsageError that lists the known presets
const SweepPreset& preset(std::string_view id);

/// The series of a preset for a model. @throws UsageError for strategies that this version does not know
std::vector<SweepSeries> presetSeries(const SweepPreset& preset, SweepSize size, const ModelSpec& spec);

/// Series of these strategies, with the same budgets and repetitions. @param strategies "id[:key=value]..." separated
/// by commas @param budgets budgets separated by commas @throws UsageError
std::vector<SweepSeries> seriesOf(std::string_view strategies, std::string_view budgets, int repetitions);

} // namespace secateur
