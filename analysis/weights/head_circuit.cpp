#include "analysis/weights/head_circuit.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/metrics/weight_metrics.h"
#include "analysis/model/head_check.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

/// The factors of a circuit in float64, [rank, rows] and [rank, columns].
struct CircuitFactors {
    at::Tensor left;
    at::Tensor right;
};

/// Consecutive rows of a weight in float64. Only these rows of a quantised weight are converted.
at::Tensor rowsOf(const Model& model, int layer, WeightName weight, std::int64_t begin, std::int64_t count) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), begin);
    return model.rows(layer, weight, indices).to(at::kDouble);
}

/// Consecutive columns of a weight in float64, some rows at a time: [count, rows]
at::Tensor columnsOf(const Model& model, int layer, WeightName weight, std::int64_t begin, std::int64_t count,
                     const Progress& progress) {
    constexpr std::int64_t rowsAtOnce = 4096;
    const std::int64_t rows = model.spec().hidden;
    std::vector<at::Tensor> parts;
    for (std::int64_t first = 0; first < rows; first += rowsAtOnce) {
        progress.check();
        std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(rowsAtOnce, rows - first)));
        std::iota(indices.begin(), indices.end(), first);
        parts.push_back(model.rows(layer, weight, indices).narrow(1, begin, count).to(at::kDouble));
    }
    return at::cat(parts).t().contiguous();
}

/// A bias as one more column of a head's rows; zeros if the model has none.
at::Tensor withBias(const Model& model, HeadId head, WeightName bias, bool isPresent, const at::Tensor& rows,
                    std::int64_t begin) {
    const at::Tensor column =
        isPresent ? model.tensor(head.layer, bias).narrow(0, begin, rows.size(0)).to(at::kDouble).unsqueeze(1)
                  : at::zeros({rows.size(0), 1}, rows.options());
    return at::cat({rows, column}, 1);
}

/// A head's rows divided by their root mean square norm, times the weights of the norm of queries or keys.
at::Tensor normedHead(const at::Tensor& rows, const at::Tensor& gain) {
    const double scale = std::sqrt(static_cast<double>(rows.size(0))) / rows.norm().item<double>();
    return rows * gain.unsqueeze(1) * scale;
}

/// As LayerWeights::queryKey() for one head.
CircuitFactors queryKeyFactors(const Model& model, HeadId head, const CircuitOptions& options,
                               const Progress& progress) {
    const LayerSpec& layer = model.spec().layers[static_cast<std::size_t>(head.layer)];
    const std::int64_t size = layer.headDim;
    const std::int64_t queryRow = head.head * size;
    const std::int64_t keyRow = layer.kvGroup(head.head) * size;
    CircuitFactors factors{rowsOf(model, head.layer, WeightName::query, queryRow, size),
                           rowsOf(model, head.layer, WeightName::key, keyRow, size)};
    if (options.foldNorm) {
        const at::Tensor gain = LayerWeights(model, head.layer, progress).inputGain();
        factors = {factors.left * gain, factors.right * gain};
    }
    if (options.augmented) {
        const bool keyBias = layer.keyBias && layer.rotary.dims > 0; // softmax removes it otherwise
        factors = {withBias(model, head, WeightName::queryBias, layer.queryBias, factors.left, queryRow),
                   withBias(model, head, WeightName::keyBias, keyBias, factors.right, keyRow)};
    }
    if (options.normedHeads && layer.normsHeads) {
        const double offset = model.spec().normWeightOffset;
        const auto gain = [&](WeightName norm) { return model.tensor(head.layer, norm).to(at::kDouble) + offset; };
        factors = {normedHead(factors.left, gain(WeightName::queryNorm)),
                   normedHead(factors.right, gain(WeightName::keyNorm))};
    }
    return factors;
}

CircuitFactors outputValueFactors(const Model& model, HeadId head, const CircuitOptions& options,
                                  const Progress& progress) {
    const LayerSpec& layer = model.spec().layers[static_cast<std::size_t>(head.layer)];
    const std::int64_t size = layer.headDim;
    CircuitFactors factors{columnsOf(model, head.layer, WeightName::output, head.head * size, size, progress),
                           rowsOf(model, head.layer, WeightName::value, layer.kvGroup(head.head) * size, size)};
    if (options.foldNorm)
        factors.right = factors.right * LayerWeights(model, head.layer, progress).inputGain();
    return factors;
}

/// The triangular factor R of factor^T = Q R.
at::Tensor triangle(const at::Tensor& factor) {
    return std::get<1>(at::linalg_qr(factor.t(), "r"));
}

std::vector<float> floats(const at::Tensor& values) {
    const at::Tensor rounded = values.to(at::kFloat).contiguous();
    return {rounded.data_ptr<float>(), rounded.data_ptr<float>() + rounded.numel()};
}

/// left^T right = Q_l (R_l R_r^T) Q_r^T, so the small matrix in the middle has the map's singular values.
void fillSpectrum(HeadCircuit& circuit, const CircuitFactors& factors) {
    const at::Tensor values = at::linalg_svdvals(triangle(factors.left).mm(triangle(factors.right).t())).contiguous();
    circuit.singularValues.assign(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
    circuit.singularValues.resize(static_cast<std::size_t>(circuit.rank), 0);
    double squares = 0;
    for (const double value : circuit.singularValues)
        squares += value * value;
    circuit.norm = std::sqrt(squares);
    const double largest = circuit.singularValues.empty() ? 0 : circuit.singularValues.front();
    if (largest > 0)
        circuit.stableRank = squares / (largest * largest);
}

/// The squared norm for each rotary pair, averaged over the phases: then the pairs do not interact, and only the norms
/// of their rows matter (resources/manual/metrics.md, Gate-norm).
void fillRotaryShares(HeadCircuit& circuit, const CircuitFactors& factors, int dims) {
    const std::int64_t pairs = dims / 2;
    const auto squares = [&](const at::Tensor& factor) {
        return factor.narrow(0, 0, pairs).square().sum(1) + factor.narrow(0, pairs, pairs).square().sum(1);
    };
    const at::Tensor ofPairs = (squares(factors.left) * squares(factors.right) / 2).contiguous();
    const std::int64_t rest = circuit.rank - dims;
    const at::Tensor left = factors.left.narrow(0, dims, rest);
    const at::Tensor right = factors.right.narrow(0, dims, rest);
    const double unrotated = (left.mm(left.t()) * right.mm(right.t())).sum().item<double>();
    const double all = ofPairs.sum().item<double>() + unrotated;
    circuit.averagedNorm = std::sqrt(all);
    circuit.unrotatedShare = all > 0 ? unrotated / all : 0;
    for (std::int64_t pair = 0; pair < pairs; ++pair)
        circuit.rotaryShares.push_back(all > 0 ? ofPairs.data_ptr<double>()[pair] / all : 0);
}

class CircuitGrid : public NumberGrid {
public:
    explicit CircuitGrid(std::shared_ptr<const HeadCircuit> circuit)
        : NumberGrid(circuit->rows, circuit->columns)
        , m_circuit(std::move(circuit)) {}

    void read(std::int64_t begin, std::span<float> target) const override {
        std::size_t done = 0;
        while (done < target.size()) {
            const std::int64_t place = begin + static_cast<std::int64_t>(done);
            const std::int64_t row = place / columns();
            const std::int64_t column = place % columns();
            const auto left = static_cast<std::int64_t>(target.size() - done);
            // Whole rows together, or a part of one row.
            const std::int64_t height = column == 0 ? std::max<std::int64_t>(1, left / columns()) : 1;
            const std::int64_t width = height > 1 ? columns() : std::min(left, columns() - column);
            multiply(row, height, column, width, target.data() + done);
            done += static_cast<std::size_t>(height * width);
        }
    }

    std::string subject() const override {
        return fmt::format("{} of {}", title(m_circuit->kind), headName(m_circuit->head.layer, m_circuit->head.head));
    }

private:
    void multiply(std::int64_t row, std::int64_t height, std::int64_t column, std::int64_t width, float* target) const {
        const auto view = [this](const std::vector<float>& values, std::int64_t size) {
            return at::from_blob(const_cast<float*>(values.data()), {m_circuit->rank, size}, at::kFloat);
        };
        at::Tensor product = at::from_blob(target, {height, width}, at::kFloat);
        at::mm_out(product, view(m_circuit->left, rows()).narrow(1, row, height).t(),
                   view(m_circuit->right, columns()).narrow(1, column, width));
    }

    std::shared_ptr<const HeadCircuit> m_circuit;
};

} // namespace

std::string_view name(CircuitKind kind) {
    return kind == CircuitKind::queryKey ? "qk" : "ov";
}

std::string_view title(CircuitKind kind) {
    return kind == CircuitKind::queryKey ? "query-key circuit" : "output-value circuit";
}

bool hasCircuit(const LayerSpec& layer, CircuitKind kind) {
    const bool hasValues = layer.heads > 0 && layer.kvHeads > 0;
    return hasValues && (layer.attention == AttentionKind::full ||
                         (kind == CircuitKind::outputValue && layer.attention == AttentionKind::valueOnly));
}

HeadCircuit headCircuit(const Model& model, HeadId head, CircuitKind kind, const CircuitOptions& options,
                        const Progress& progress) {
    checkHead(model.spec(), head);
    const LayerSpec& layer = model.spec().layers[static_cast<std::size_t>(head.layer)];
    if (!hasCircuit(layer, kind))
        throw Error(fmt::format("has no {}: its attention is of kind {}", title(kind), name(layer.attention)),
                    headName(head.layer, head.head));
    progress.check();
    const CircuitFactors factors = kind == CircuitKind::queryKey ? queryKeyFactors(model, head, options, progress)
                                                                 : outputValueFactors(model, head, options, progress);
    model.checkFiles();
    progress.check();
    HeadCircuit circuit{.kind = kind,
                        .head = head,
                        .options = options,
                        .rank = factors.left.size(0),
                        .rows = factors.left.size(1),
                        .columns = factors.right.size(1),
                        .left = floats(factors.left),
                        .right = floats(factors.right)};
    if (!factors.left.isfinite().all().item<bool>() || !factors.right.isfinite().all().item<bool>())
        return circuit;
    fillSpectrum(circuit, factors);
    if (kind == CircuitKind::queryKey && layer.rotary.dims > 0)
        fillRotaryShares(circuit, factors, layer.rotary.dims);
    return circuit;
}

std::shared_ptr<const NumberGrid> circuitGrid(std::shared_ptr<const HeadCircuit> circuit) {
    return std::make_shared<CircuitGrid>(std::move(circuit));
}

} // namespace secateur
