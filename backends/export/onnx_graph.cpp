#include "backends/export/onnx_graph.h"

#include "analysis/base/error.h"
#include "backends/base/file_output.h"
#include "backends/export/protobuf_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>

namespace secateur {

namespace {

// Numbers of the fields in onnx.proto, by message.
namespace onnxModelField {
constexpr int irVersion = 1, producer = 2, producerVersion = 3, graph = 7, opset = 8, metadata = 14;
}
namespace onnxGraphField {
constexpr int node = 1, name = 2, tensor = 5, input = 11, output = 12;
}
namespace onnxNodeField {
constexpr int input = 1, output = 2, name = 3, operation = 4, attribute = 5;
}
namespace onnxAttributeField {
constexpr int name = 1, number = 2, integer = 3, integers = 8, type = 20;
constexpr std::int64_t numberType = 1, integerType = 2, integersType = 7;
} // namespace onnxAttributeField
namespace onnxTensorField {
constexpr int size = 1, type = 2, name = 8, data = 9, external = 13, location = 14;
constexpr std::int64_t inOtherFile = 1;
} // namespace onnxTensorField

/// Tensors below this size stay in the model's file, because programs read shapes from them before they open the other
/// file. It is the threshold of the onnx package.
constexpr std::int64_t leastExternalBytes = 1024;
constexpr std::int64_t externalAlignment = 4096; ///< programs map the tensors of the other file

ProtobufMessage encodedPair(const std::string& key, const std::string& value) {
    ProtobufMessage message;
    message.add(1, key);
    message.add(2, value);
    return message;
}

ProtobufMessage encoded(const OnnxAttribute& attribute) {
    ProtobufMessage message;
    message.add(onnxAttributeField::name, attribute.name);
    if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
        message.add(onnxAttributeField::integer, *integer);
        message.add(onnxAttributeField::type, onnxAttributeField::integerType);
    } else if (const auto* number = std::get_if<float>(&attribute.value)) {
        message.add(onnxAttributeField::number, *number);
        message.add(onnxAttributeField::type, onnxAttributeField::numberType);
    } else {
        for (const std::int64_t value : std::get<std::vector<std::int64_t>>(attribute.value))
            message.add(onnxAttributeField::integers, value);
        message.add(onnxAttributeField::type, onnxAttributeField::integersType);
    }
    return message;
}

ProtobufMessage encoded(const OnnxNode& node) {
    ProtobufMessage message;
    for (const std::string& input : node.inputs)
        message.add(onnxNodeField::input, input);
    message.add(onnxNodeField::output, node.output);
    message.add(onnxNodeField::name, node.output);
    message.add(onnxNodeField::operation, node.operation);
    for (const OnnxAttribute& attribute : node.attributes)
        message.add(onnxNodeField::attribute, encoded(attribute));
    return message;
}

ProtobufMessage encoded(const OnnxValue& value) {
    ProtobufMessage shape;
    for (const auto& size : value.shape) {
        ProtobufMessage dimension;
        if (const auto* number = std::get_if<std::int64_t>(&size))
            dimension.add(1, *number);
        else
            dimension.add(2, std::get<std::string>(size));
        shape.add(1, dimension);
    }
    ProtobufMessage tensor, type, message;
    tensor.add(1, static_cast<std::int64_t>(value.type));
    tensor.add(2, shape);
    type.add(1, tensor);
    message.add(1, value.name);
    message.add(2, type);
    return message;
}

/// A tensor without its numbers.
ProtobufMessage encoded(const OnnxTensor& tensor) {
    ProtobufMessage message;
    for (const std::int64_t size : tensor.shape)
        message.add(onnxTensorField::size, size);
    message.add(onnxTensorField::type, static_cast<std::int64_t>(tensor.type));
    message.add(onnxTensorField::name, tensor.name);
    return message;
}

/// A file as it will be written: the places of the tensors and all bytes before and between them. Each message begins
/// with its length, so all sizes are known before anything is written.
class OnnxLayout {
public:
    OnnxLayout(const OnnxGraph& graph, const std::string& dataName, std::int64_t mostBytes)
        : m_graph(graph) {
        place({});
        if (m_sizes.model > mostBytes)
            place(dataName);
    }

    struct Place {
        std::string before; ///< the fields of the tensor that precede its numbers
        bool isExternal;
        std::int64_t offset; ///< in the other file, for an external tensor
    };
    const std::vector<Place>& places() const { return m_places; }
    const OnnxSizes& sizes() const { return m_sizes; }
    const std::string& head() const { return m_head; } ///< the bytes before the first tensor

private:
    /// @param dataName empty = all numbers are in the model's file
    void place(const std::string& dataName) {
        m_places.clear();
        m_sizes = {};
        ProtobufMessage inner = beforeTensors();
        std::int64_t graphBytes = std::ssize(inner.bytes());
        for (const OnnxTensor& tensor : m_graph.tensors) {
            m_places.push_back(placeOf(tensor, dataName));
            graphBytes += std::ssize(m_places.back().before) + (m_places.back().isExternal ? 0 : tensor.bytes());
        }
        ProtobufMessage outer = beforeGraph();
        outer.addBegin(onnxModelField::graph, static_cast<std::uint64_t>(graphBytes));
        m_sizes.model = std::ssize(outer.bytes()) + graphBytes;
        m_head = outer.bytes() + inner.bytes();
    }

    Place placeOf(const OnnxTensor& tensor, const std::string& dataName) {
        Place place{{}, !dataName.empty() && tensor.bytes() >= leastExternalBytes, 0};
        ProtobufMessage message = encoded(tensor);
        ProtobufMessage field;
        if (place.isExternal) {
            place.offset = (m_sizes.data + externalAlignment - 1) / externalAlignment * externalAlignment;
            m_sizes.data = place.offset + tensor.bytes();
            message.add(onnxTensorField::external, encodedPair("location", dataName));
            message.add(onnxTensorField::external, encodedPair("offset", std::to_string(place.offset)));
            message.add(onnxTensorField::external, encodedPair("length", std::to_string(tensor.bytes())));
            message.add(onnxTensorField::location, onnxTensorField::inOtherFile);
            field.add(onnxGraphField::tensor, message);
        } else {
            const auto bytes = static_cast<std::uint64_t>(tensor.bytes());
            message.addBegin(onnxTensorField::data, bytes);
            field.addBegin(onnxGraphField::tensor, message.bytes().size() + bytes);
        }
        place.before = place.isExternal ? field.bytes() : field.bytes() + message.bytes();
        return place;
    }

    ProtobufMessage beforeGraph() const {
        ProtobufMessage opset, message;
        opset.add(1, std::string_view());
        opset.add(2, std::int64_t{onnxOpset});
        message.add(onnxModelField::irVersion, std::int64_t{onnxIrVersion});
        message.add(onnxModelField::producer, std::string_view("Secateur"));
        message.add(onnxModelField::producerVersion, std::string_view(SECATEUR_VERSION));
        message.add(onnxModelField::opset, opset);
        for (const auto& [key, value] : m_graph.metadata)
            message.add(onnxModelField::metadata, encodedPair(key, value));
        return message;
    }

    ProtobufMessage beforeTensors() const {
        ProtobufMessage message;
        message.add(onnxGraphField::name, m_graph.name);
        for (const OnnxNode& node : m_graph.nodes)
            message.add(onnxGraphField::node, encoded(node));
        for (const OnnxValue& value : m_graph.inputs)
            message.add(onnxGraphField::input, encoded(value));
        for (const OnnxValue& value : m_graph.outputs)
            message.add(onnxGraphField::output, encoded(value));
        return message;
    }

    const OnnxGraph& m_graph;
    std::string m_head;
    std::vector<Place> m_places; ///< [tensors]
    OnnxSizes m_sizes;
};

void writeOnnxBytes(FileOutput& file, const std::string& bytes) {
    file.write(std::as_bytes(std::span(bytes)));
}

/// Writes the numbers of a tensor.
void writeOnnxNumbers(const OnnxTensor& tensor, FileOutput& file) {
    std::int64_t written = 0;
    tensor.write([&](std::span<const std::byte> part) {
        file.write(part);
        written += std::ssize(part);
    });
    if (written != tensor.bytes())
        throw Error(fmt::format("has {} bytes, but its shape needs {}", written, tensor.bytes()), tensor.name);
}

} // namespace

std::int64_t OnnxTensor::bytes() const {
    const std::int64_t size = type == OnnxType::float32 ? 4 : 8;
    return std::accumulate(shape.begin(), shape.end(), size, std::multiplies());
}

OnnxSizes sizesOf(const OnnxGraph& graph, const std::string& dataName, std::int64_t mostBytes) {
    return OnnxLayout(graph, dataName, mostBytes).sizes();
}

void writeOnnxGraph(const OnnxGraph& graph, const std::string& path, const std::string& dataName,
                    const Progress& progress, std::int64_t mostBytes) {
    const OnnxLayout layout(graph, dataName, mostBytes);
    const std::string dataPath = (std::filesystem::path(path).parent_path() / dataName).string();
    FileOutput file(path, std::filesystem::path(path).filename().string());
    std::optional<FileOutput> data;
    if (layout.sizes().data > 0)
        data.emplace(dataPath, dataName);
    const auto all = static_cast<double>(layout.sizes().model + layout.sizes().data);
    double done = 0;
    std::int64_t dataEnd = 0;
    writeOnnxBytes(file, layout.head());
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
        const OnnxTensor& tensor = graph.tensors[i];
        const OnnxLayout::Place& place = layout.places()[i];
        progress.report(std::min(1.0, done / all), "writing " + tensor.name);
        writeOnnxBytes(file, place.before);
        if (place.isExternal) {
            writeOnnxBytes(*data, std::string(static_cast<std::size_t>(place.offset - dataEnd), '\0'));
            dataEnd = place.offset + tensor.bytes();
        }
        writeOnnxNumbers(tensor, place.isExternal ? *data : file);
        done += static_cast<double>(tensor.bytes());
    }
    progress.report(1, "written");
}

} // namespace secateur
