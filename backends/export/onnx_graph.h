#pragma once

#include "analysis/base/progress.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace secateur {

enum class OnnxType { float32 = 1, int64 = 7 }; ///< the codes of onnx.TensorProto.DataType

/// Receives the numbers of a tensor in order, in one or more parts.
using OnnxSink = std::function<void(std::span<const std::byte>)>;

/// A constant of a graph, such as a weight. Its numbers are made only when they are written.
struct OnnxTensor {
    std::string name;
    OnnxType type = OnnxType::float32;
    std::vector<std::int64_t> shape; ///< empty = a single number
    std::function<void(const OnnxSink&)> write;

    std::int64_t bytes() const;
};

struct OnnxAttribute {
    std::string name;
    std::variant<std::int64_t, float, std::vector<std::int64_t>> value;
};

/// An operation with one output. Its output has the name of the node.
struct OnnxNode {
    std::string operation; ///< "MatMul", "Softmax"
    std::vector<std::string> inputs;
    std::string output;
    std::vector<OnnxAttribute> attributes = {};
};

/// An input or output of a graph.
struct OnnxValue {
    std::string name;
    OnnxType type;
    std::vector<std::variant<std::int64_t, std::string>> shape; ///< a size, or the name of a size that may vary
};

struct OnnxGraph {
    std::string name;
    std::vector<OnnxValue> inputs;
    std::vector<OnnxValue> outputs;
    std::vector<OnnxNode> nodes; ///< each after the nodes whose outputs it reads
    std::vector<OnnxTensor> tensors;
    std::vector<std::pair<std::string, std::string>> metadata; ///< keys and values for programs that show them
};

/// The version of ONNX's operations that the graphs use. It is the first with LayerNormalization.
inline constexpr int onnxOpset = 17;
/// The version of the file format that belongs to this opset.
inline constexpr int onnxIrVersion = 8;
/// Largest message that programs read with libprotobuf.
inline constexpr std::int64_t mostProtobufBytes = (std::int64_t{1} << 31) - 1;

/// The sizes in bytes of the files that writeOnnxGraph() writes.
struct OnnxSizes {
    std::int64_t model = 0;
    std::int64_t data = 0; ///< of the file beside it; 0 = there is none
};

/// @param mostBytes the largest model file. If it would be larger, large tensors are written to a file beside it
OnnxSizes sizesOf(const OnnxGraph& graph, const std::string& dataName, std::int64_t mostBytes = mostProtobufBytes);

/// Writes a graph as an ONNX file. Only one tensor is in memory at a time.
/// @param path of the file to create @param dataName name of the file beside it; sizesOf() says whether it is written
/// @throws Error if a file cannot be written or a tensor has another size than its shape; Cancelled; incomplete files
/// may be left
void writeOnnxGraph(const OnnxGraph& graph, const std::string& path, const std::string& dataName,
                    const Progress& progress = {}, std::int64_t mostBytes = mostProtobufBytes);

} // namespace secateur
