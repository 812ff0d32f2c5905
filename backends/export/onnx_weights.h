#pragma once

#include "analysis/masks/compensation.h"
#include "analysis/model/model.h"
#include "backends/export/onnx_graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// The kept part of a projection, with the changes by a mask.
struct OnnxProjection {
    int layer = -1;
    WeightName weight;
    WeightName bias;
    std::vector<std::int64_t> rows = {};    ///< kept outputs; empty = all
    std::vector<std::int64_t> columns = {}; ///< kept inputs; empty = all
    std::vector<float> factors = {};        ///< of the kept columns; empty = 1
    double scale = 1;                       ///< factor of the weight and of the model's bias
    std::vector<float> added = {};          ///< added to the bias; empty = 0
    SharedWeight replacement = {};          ///< weight of a compensation in place of the model's; null = none
};

// Constants of a graph with the weights of a model, as float32. The model must outlive them.

/// A matrix or vector of the model, unchanged. Matrices are read a few rows at a time, so that the embedding of a large
/// vocabulary needs little memory.
OnnxTensor onnxTable(const Model& model, std::string name, int layer, WeightName weight);

/// The transposed weight of a projection [in, out], by which MatMul multiplies its inputs.
OnnxTensor onnxWeight(const Model& model, std::string name, const OnnxProjection& projection);

/// Whether a projection has a bias, by the model or by the mask.
bool hasOnnxBias(const Model& model, const OnnxProjection& projection);
OnnxTensor onnxBias(const Model& model, std::string name, const OnnxProjection& projection);

/// A single number.
OnnxTensor onnxNumber(std::string name, float value);
OnnxTensor onnxNumber(std::string name, std::int64_t value);
/// A vector of integers, such as the shape for Reshape.
OnnxTensor onnxIntegers(std::string name, std::vector<std::int64_t> values);

} // namespace secateur
