#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A reader of ONNX files and a runtime for their operations. Both are independent of the product, which only writes
/// them.
namespace secateur::test::onnx {

/// A field of a Protocol Buffers message: a number, or bytes.
struct Field {
    int number = 0;
    std::uint64_t value = 0;
    std::string_view bytes;
};

inline std::uint64_t takeVarint(std::string_view& rest) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (rest.empty() || shift > 63)
            throw std::runtime_error("a number is cut off");
        const auto byte = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80)
            return value;
    }
}

inline std::vector<Field> fieldsOf(std::string_view rest) {
    std::vector<Field> fields;
    while (!rest.empty()) {
        const std::uint64_t tag = takeVarint(rest);
        Field field{static_cast<int>(tag >> 3), 0, {}};
        const auto type = tag & 7U;
        if (type == 0) {
            field.value = takeVarint(rest);
        } else {
            const std::uint64_t length = type == 5 ? 4 : type == 2 ? takeVarint(rest) : rest.size() + 1;
            if (length > rest.size())
                throw std::runtime_error("a field is cut off or has an unknown type");
            field.bytes = rest.substr(0, length);
            rest.remove_prefix(length);
        }
        fields.push_back(field);
    }
    return fields;
}

/// All fields of this number.
inline std::vector<Field> fieldsOf(std::string_view message, int number) {
    std::vector<Field> found;
    for (const Field& field : fieldsOf(message))
        if (field.number == number)
            found.push_back(field);
    return found;
}

inline Field fieldOf(std::string_view message, int number) {
    const auto found = fieldsOf(message, number);
    return found.empty() ? Field() : found.back();
}

inline std::string textOf(std::string_view message, int number) {
    return std::string(fieldOf(message, number).bytes);
}

struct Node {
    std::string operation;
    std::vector<std::string> inputs;
    std::string output;
    std::map<std::string, std::vector<std::int64_t>> integers;
    std::map<std::string, float> numbers;

    std::int64_t integer(const std::string& name, std::int64_t fallback) const {
        const auto found = integers.find(name);
        return found == integers.end() ? fallback : found->second.at(0);
    }
};

struct Value {
    std::string name;
    std::int64_t type = 0;
    std::vector<std::string> shape; ///< sizes as text, or their names
    bool operator==(const Value&) const = default;
};

struct File {
    std::int64_t irVersion = 0;
    std::int64_t opset = 0;
    std::vector<Node> nodes;
    std::vector<Value> inputs;
    std::vector<Value> outputs;
    std::map<std::string, at::Tensor> tensors;
    std::map<std::string, std::int64_t> offsets; ///< of the tensors in another file
};

inline std::string wholeFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline Node nodeOf(std::string_view message) {
    Node node;
    for (const Field& input : fieldsOf(message, 1))
        node.inputs.emplace_back(input.bytes);
    node.output = textOf(message, 2);
    node.operation = textOf(message, 4);
    for (const Field& field : fieldsOf(message, 5)) {
        const std::string name = textOf(field.bytes, 1);
        const auto type = fieldOf(field.bytes, 20).value;
        if (type == 1) {
            float number = 0;
            std::memcpy(&number, fieldOf(field.bytes, 2).bytes.data(), sizeof number);
            node.numbers[name] = number;
        } else { // 2: an integer in field 3; 7: integers in field 8
            for (const Field& integer : fieldsOf(field.bytes, type == 2 ? 3 : 8))
                node.integers[name].push_back(static_cast<std::int64_t>(integer.value));
        }
    }
    return node;
}

inline Value valueOf(std::string_view message) {
    const auto tensor = fieldOf(fieldOf(message, 2).bytes, 1).bytes;
    Value value{textOf(message, 1), static_cast<std::int64_t>(fieldOf(tensor, 1).value), {}};
    for (const Field& size : fieldsOf(fieldOf(tensor, 2).bytes, 1)) {
        const std::string named = textOf(size.bytes, 2);
        value.shape.push_back(named.empty() ? std::to_string(fieldOf(size.bytes, 1).value) : named);
    }
    return value;
}

inline void readTensor(File& file, std::string_view message, const std::string& folder) {
    std::vector<std::int64_t> shape;
    for (const Field& size : fieldsOf(message, 1))
        shape.push_back(static_cast<std::int64_t>(size.value));
    const bool isFloat = fieldOf(message, 2).value == 1;
    const std::string name = textOf(message, 8);
    std::string other;
    std::string_view bytes = fieldOf(message, 9).bytes;
    if (fieldOf(message, 14).value == 1) {
        std::map<std::string, std::string> place;
        for (const Field& pair : fieldsOf(message, 13))
            place[textOf(pair.bytes, 1)] = textOf(pair.bytes, 2);
        other = wholeFile(folder + "/" + place.at("location"));
        file.offsets[name] = std::stoll(place.at("offset"));
        bytes = std::string_view(other).substr(static_cast<std::size_t>(file.offsets[name]),
                                               static_cast<std::size_t>(std::stoll(place.at("length"))));
    }
    at::Tensor tensor = at::empty(shape, isFloat ? at::kFloat : at::kLong);
    if (bytes.size() != static_cast<std::size_t>(tensor.numel() * tensor.element_size()))
        throw std::runtime_error(name + " has another size than its shape");
    if (!bytes.empty())
        std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
    if (!file.tensors.emplace(name, tensor).second)
        throw std::runtime_error(name + " occurs twice");
}

inline File read(const std::string& path) {
    const std::string bytes = wholeFile(path);
    const std::string folder = path.substr(0, path.rfind('/'));
    File file;
    file.irVersion = static_cast<std::int64_t>(fieldOf(bytes, 1).value);
    file.opset = static_cast<std::int64_t>(fieldOf(fieldOf(bytes, 8).bytes, 2).value);
    for (const Field& field : fieldsOf(fieldOf(bytes, 7).bytes)) {
        if (field.number == 1)
            file.nodes.push_back(nodeOf(field.bytes));
        else if (field.number == 5)
            readTensor(file, field.bytes, folder);
        else if (field.number == 11)
            file.inputs.push_back(valueOf(field.bytes));
        else if (field.number == 12)
            file.outputs.push_back(valueOf(field.bytes));
    }
    return file;
}

inline at::Tensor gathered(const at::Tensor& table, const at::Tensor& indices, std::int64_t axis) {
    std::vector<std::int64_t> shape(table.sizes().begin(), table.sizes().begin() + axis);
    shape.insert(shape.end(), indices.sizes().begin(), indices.sizes().end());
    shape.insert(shape.end(), table.sizes().begin() + axis + 1, table.sizes().end());
    return table.index_select(axis, indices.flatten()).reshape(shape);
}

inline at::Tensor reshaped(const at::Tensor& values, const at::Tensor& wanted) {
    std::vector<std::int64_t> shape;
    for (std::int64_t i = 0; i < wanted.numel(); ++i) {
        const auto size = wanted[i].item<std::int64_t>();
        shape.push_back(size == 0 ? values.size(i) : size);
    }
    return values.reshape(shape);
}

/// The result of a node, as the specification of its operation defines it.
inline at::Tensor resultOf(const Node& node, const std::vector<at::Tensor>& in) {
    const std::string& operation = node.operation;
    if (operation == "Add")
        return in.at(0) + in.at(1);
    if (operation == "Sub")
        return in.at(0) - in.at(1);
    if (operation == "Mul")
        return in.at(0) * in.at(1);
    if (operation == "Div")
        return in.at(0) / in.at(1);
    if (operation == "MatMul")
        return at::matmul(in.at(0), in.at(1));
    if (operation == "Identity")
        return in.at(0);
    if (operation == "Erf")
        return in.at(0).erf();
    if (operation == "Tanh")
        return in.at(0).tanh();
    if (operation == "Relu")
        return in.at(0).relu();
    if (operation == "Softmax")
        return in.at(0).softmax(node.integer("axis", -1));
    if (operation == "Gather")
        return gathered(in.at(0), in.at(1), node.integer("axis", 0));
    if (operation == "Shape")
        return at::tensor(in.at(0).sizes(), at::kLong);
    if (operation == "Range")
        return at::arange(in.at(0).item<std::int64_t>(), in.at(1).item<std::int64_t>(), in.at(2).item<std::int64_t>(),
                          at::kLong);
    if (operation == "CumSum")
        return in.at(0).cumsum(in.at(1).item<std::int64_t>());
    if (operation == "Cast")
        return in.at(0).to(node.integer("to", 0) == 1 ? at::kFloat : at::kLong);
    if (operation == "Reshape")
        return reshaped(in.at(0), in.at(1));
    if (operation == "Transpose")
        return in.at(0).permute(node.integers.at("perm"));
    if (operation == "LayerNormalization")
        return at::layer_norm(in.at(0), {in.at(0).size(-1)}, in.at(1), in.at(2), node.numbers.at("epsilon"));
    if (operation == "Unsqueeze") {
        at::Tensor out = in.at(0);
        for (std::int64_t i = 0; i < in.at(1).numel(); ++i)
            out = out.unsqueeze(in.at(1)[i].item<std::int64_t>());
        return out;
    }
    throw std::runtime_error("unknown operation " + operation);
}

/// The results of all nodes. @param values the inputs
inline std::map<std::string, at::Tensor> resultsOf(const File& file, std::map<std::string, at::Tensor> values) {
    values.insert(file.tensors.begin(), file.tensors.end());
    for (const Node& node : file.nodes) {
        std::vector<at::Tensor> inputs;
        for (const std::string& input : node.inputs)
            inputs.push_back(values.at(input));
        values[node.output] = resultOf(node, inputs);
    }
    return values;
}

/// The outputs of a graph.
inline std::map<std::string, at::Tensor> run(const File& file, const std::map<std::string, at::Tensor>& inputs) {
    const std::map<std::string, at::Tensor> results = resultsOf(file, inputs);
    std::map<std::string, at::Tensor> outputs;
    for (const Value& output : file.outputs)
        outputs[output.name] = results.at(output.name);
    return outputs;
}

} // namespace secateur::test::onnx
