#include "backends/export/onnx_weights.h"

#include "analysis/masks/projection_weight.h"
#include "backends/base/memory_error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t numbersAtOnce = std::int64_t{1} << 20;

at::Tensor contiguousFloats(const at::Tensor& values) {
    return values.to(at::kCPU, at::kFloat).contiguous();
}

void passNumbers(const at::Tensor& values, const OnnxSink& sink) {
    const at::Tensor numbers = contiguousFloats(values);
    sink(std::as_bytes(std::span(numbers.data_ptr<float>(), static_cast<std::size_t>(numbers.numel()))));
}

at::Tensor keptPart(const at::Tensor& values, std::int64_t axis, const std::vector<std::int64_t>& kept) {
    return kept.empty() ? values : values.index_select(axis, at::tensor(kept, at::kLong).to(values.device()));
}

std::int64_t keptCount(const std::vector<std::int64_t>& kept, std::int64_t all) {
    return kept.empty() ? all : std::ssize(kept);
}

at::Tensor projectionWeight(const Model& model, const OnnxProjection& part) {
    at::Tensor whole =
        part.replacement ? tensorOf(part.replacement, model.spec().hidden) : model.tensor(part.layer, part.weight);
    if (const at::Tensor update = model.update(part.layer, part.weight); part.replacement && update.defined())
        whole = whole + update;
    at::Tensor weight = keptPart(keptPart(whole, 0, part.rows), 1, part.columns);
    weight = weight.to(at::kCPU, at::kFloat);
    if (!part.factors.empty())
        weight = weight * at::tensor(part.factors);
    return part.scale == 1 ? weight : weight * part.scale;
}

at::Tensor projectionBias(const Model& model, const OnnxProjection& part) {
    at::Tensor bias;
    if (model.has(part.layer, part.bias))
        bias = keptPart(model.tensor(part.layer, part.bias), 0, part.rows).to(at::kCPU, at::kFloat) * part.scale;
    if (part.added.empty())
        return bias;
    const at::Tensor added = at::tensor(part.added);
    return bias.defined() ? bias + added : added;
}

/// The function of OnnxTensor for a weight of the model. @param work passes the numbers to a sink
template <typename Work>
std::function<void(const OnnxSink&)> writerOf(const Model& model, int layer, WeightName weight, Work work) {
    return [&model, layer, weight, work](const OnnxSink& sink) {
        try {
            work(sink);
        } catch (const c10::Error& error) {
            throw torchError(error, model.place(layer, weight));
        }
        model.release(layer, weight);
    };
}

template <typename Number>
OnnxTensor onnxConstant(std::string name, OnnxType type, std::vector<std::int64_t> shape, std::vector<Number> values) {
    return {std::move(name), type, std::move(shape),
            [values = std::move(values)](const OnnxSink& sink) { sink(std::as_bytes(std::span(values))); }};
}

} // namespace

OnnxTensor onnxTable(const Model& model, std::string name, int layer, WeightName weight) {
    const std::vector<std::int64_t> shape = expectedShape(model.spec(), layer, weight);
    const auto write = [&model, layer, weight, shape](const OnnxSink& sink) {
        if (shape.size() == 1)
            return passNumbers(model.tensor(layer, weight), sink);
        const std::int64_t step = std::max<std::int64_t>(1, numbersAtOnce / std::max<std::int64_t>(1, shape[1]));
        for (std::int64_t begin = 0; begin < shape[0]; begin += step) {
            std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(step, shape[0] - begin)));
            std::iota(rows.begin(), rows.end(), begin);
            passNumbers(model.rows(layer, weight, rows), sink);
        }
    };
    return {std::move(name), OnnxType::float32, shape, writerOf(model, layer, weight, write)};
}

OnnxTensor onnxWeight(const Model& model, std::string name, const OnnxProjection& projection) {
    const std::vector<std::int64_t> all = expectedShape(model.spec(), projection.layer, projection.weight);
    const auto write = [&model, projection](const OnnxSink& sink) {
        passNumbers(projectionWeight(model, projection).t(), sink);
    };
    return {std::move(name),
            OnnxType::float32,
            {keptCount(projection.columns, all[1]), keptCount(projection.rows, all[0])},
            writerOf(model, projection.layer, projection.weight, write)};
}

bool hasOnnxBias(const Model& model, const OnnxProjection& projection) {
    return model.has(projection.layer, projection.bias) || !projection.added.empty();
}

OnnxTensor onnxBias(const Model& model, std::string name, const OnnxProjection& projection) {
    const std::vector<std::int64_t> all = expectedShape(model.spec(), projection.layer, projection.weight);
    const auto write = [&model, projection](const OnnxSink& sink) {
        passNumbers(projectionBias(model, projection), sink);
    };
    return {std::move(name),
            OnnxType::float32,
            {keptCount(projection.rows, all[0])},
            writerOf(model, projection.layer, projection.bias, write)};
}

OnnxTensor onnxNumber(std::string name, float value) {
    return onnxConstant(std::move(name), OnnxType::float32, {}, std::vector{value});
}

OnnxTensor onnxNumber(std::string name, std::int64_t value) {
    return onnxConstant(std::move(name), OnnxType::int64, {}, std::vector{value});
}

OnnxTensor onnxIntegers(std::string name, std::vector<std::int64_t> values) {
    std::vector<std::int64_t> shape{std::ssize(values)};
    return onnxConstant(std::move(name), OnnxType::int64, std::move(shape), std::move(values));
}

} // namespace secateur
