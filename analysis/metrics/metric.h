#pragma once

#include "analysis/base/matrix.h"
#include "analysis/model/model_spec.h"
#include "analysis/base/options.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

enum class Scope { layer, head, kvGroup, neuron };
enum class Needs { weights, forward, gradient, ablation };
enum class PruneFirst { low, high, neither };

std::string_view name(Scope scope);
std::string_view name(Needs needs);
std::string_view name(PruneFirst end);

/// One row of the metric table: everything the lists, the tooltips and the documentation say of a metric.
struct MetricInfo {
    std::string_view id;
    std::string_view title;
    std::string_view summary;
    std::string_view formula;
    std::string_view unit; ///< empty = a pure number
    std::string_view source;
    Scope scope;
    Needs needs;
    PruneFirst pruneFirst;
    std::span<const OptionInfo> options;
    std::span<const std::string_view> classes = {}; ///< where a value is a class, counted from 0: their names
    bool isSlow = false;                            ///< far slower than others: groups leave it out
};

/// All metrics this build knows, in the order of the contract.
std::span<const MetricInfo* const> allMetrics();
/// nullptr when there is none of that id
const MetricInfo* findMetric(std::string_view id);

/// A metric with its options. Holds only options that differ from their defaults.
struct MetricRequest {
    const MetricInfo* info = nullptr;
    std::map<std::string, std::string> options;

    /// "gate_norm:fold_norm=true": the key of a result everywhere (contract.md).
    std::string resultId() const;
    /// The option's value, or its default.
    std::string option(std::string_view name) const;
    bool flag(std::string_view name) const;
};

/// The result id as HDF5 links and file names spell it: ':', '=' and '/' become '.', '-' and '_'.
std::string fileForm(std::string_view resultId);

/// Reads "id[:key=value]..." by comma; `weights`, `forward`, `gradient`, `ablation` and `all` stand for their groups,
/// without what is slow.
/// Each request comes once, in the order first named. @throws UsageError (usage_error.h) listing what is known
std::vector<MetricRequest> parseMetricRequests(std::string_view text);

/// What a measurement was made of; with the result id it tells measurements apart (contract.md).
struct Measurement {
    std::string fingerprint;
    std::string maskDigest = "dense";
    std::string dataDigest; ///< empty for metrics that need no data
    std::string dtype = "float32";
    std::string device = "cpu";
    std::string created; ///< ISO 8601, UTC
    bool operator==(const Measurement&) const = default;
};

/// The text that a model was measured on.
struct MeasuredData {
    std::string source; ///< file or folder, or "built-in"
    std::int64_t sequences = 0;
    std::int64_t tokens = 0;
    std::int64_t allTokens = 0; ///< of the data; more than `tokens` where the run was stopped
    std::int64_t sequenceLength = 0;
    std::string split; ///< what a document was
    std::string bos;   ///< which sequences begin with it
    bool operator==(const MeasuredData&) const = default;
};

/// Something else that a metric tells of the same cells.
struct MetricFeature {
    std::string name;
    Matrix values;
};

struct MetricResult {
    MetricRequest request;
    Matrix values; ///< rows = layers, columns by scope; NaN = no such cell or not measured yet
    /// Of each value, where any is an estimate: 0 = this one is exact, NaN = there is no value. Absent = all are exact.
    std::optional<Matrix> standardError;
    Measurement measurement;
    double seconds = 0;
    std::vector<std::string> warnings;
    std::optional<MeasuredData> data = {};  ///< absent for metrics that need none
    std::vector<std::int64_t> lengths = {}; ///< tokens of the prefixes that it was measured over, where it was
    std::vector<Matrix> overLengths = {};   ///< for each of them; `values` are those of the last
    std::vector<MetricFeature> features = {};
    bool isWhole = true;    ///< false where the run was stopped before all layers and tokens were seen
    std::string label = {}; ///< what tells it from others of the same id that are shown beside it; not saved

    /// Whether it saw less than another, measured in the same way.
    bool isLessThan(const MetricResult& other) const;
    /// Of one value; 0 where it is exact or missing.
    double errorAt(std::size_t row, std::size_t column) const;
};

/// Columns of a metric's matrix for this model.
std::size_t columnsFor(Scope scope, const ModelSpec& spec);
/// Cells in a layer: heads, KV groups, neurons or 1.
std::size_t cellsInLayer(Scope scope, const LayerSpec& layer);

} // namespace secateur
