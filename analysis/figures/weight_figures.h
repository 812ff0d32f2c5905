#pragma once

#include "analysis/figures/figure.h"
#include "analysis/weights/block_pyramid.h"
#include "analysis/weights/checkpoint_statistics.h"
#include "analysis/weights/head_circuit.h"
#include "analysis/weights/stored_tensors.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace secateur {

// Figures of weights. The window and `plot` draw the same figures.

inline constexpr int weightSide = 256; ///< maximum number of cells along an edge of a figure of weights

/// How a tensor or a circuit is drawn.
struct WeightLook {
    BlockValue value = BlockValue::largest;
    double clipPercent = 1; ///< per cent of the magnitudes beyond the ends of the colour range
};

/// Heat map of a grid, or of a window of it, reduced to at most weightSide cells along an edge. If there are numbers of
/// both signs, the colours are diverging with zero in the middle. Reads the window; can take seconds.
/// @param label of the colour bar @throws Error if the file was truncated; Cancelled
Figure gridMap(const BlockPyramid& pyramid, GridWindow window, const WeightLook& look, const std::string& label,
               const Progress& progress = {});

/// One or two circuits of a head: a heat map of each, their singular values and the share of each rotary pair.
/// @param circuits at least one, of the same head
Figure circuitFigure(const ModelCard& model, const std::vector<std::shared_ptr<const HeadCircuit>>& circuits,
                     const WeightLook& look, const Progress& progress = {});

/// A tensor, its scales or its minima. @param name of the model, for the caption
Figure tensorFigure(const std::string& name, const StoredTensors& tensors, std::size_t tensor, TensorPlane plane,
                    const WeightLook& look, const Progress& progress = {});

/// The difference of a weight in two checkpoints. @throws Error if the pair has an obstacle
Figure differenceFigure(const StoredTensors& first, const StoredTensors& second, const TensorPair& pair,
                        const WeightLook& look, const Progress& progress = {});

/// Signal to noise in dB over the layers, one line for each weight of a layer. Equal tensors have no value.
Figure signalToNoiseFigure(const StoredTensors& first, const StoredTensors& second,
                           std::span<const PairReport> differences);

} // namespace secateur
