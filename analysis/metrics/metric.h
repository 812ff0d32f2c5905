#pragma once

#include "analysis/base/matrix.h"
#include "analysis/base/options.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/metrics/computation.h"
#include "analysis/model/model_spec.h"

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

/// One row of the metric table: what lists, tooltips and the manual say of a metric, and how it is computed.
struct MetricInfo {
    std::string_view id;
    std::string_view title;
    std::string_view summary;
    std::string_view formula;
    std::string_view unit; ///< of the values; empty = a pure number
    std::string_view source;
    Scope scope;
    Needs needs; ///< as its computation
    PruneFirst pruneFirst;
    std::optional<CutUnit> ranks; ///< the unit that its values rank for cutting; none = no strategy can cut by it
    std::span<const OptionInfo> options;
    /// Checks options of the right type that make no sense. @throws UsageError
    void (*check)(const MetricRequest& request) = nullptr;
    MetricComputation computation = {};
    std::span<const std::string_view> classes = {}; ///< names of the values where these are classes, counted from 0
    bool isSlow = false;                            ///< far slower than others: `all` leaves it out
};

/// Rows by which requests are read. A row outlives all requests and results that point to it.
using MetricTable = std::span<const MetricInfo* const>;

/// All metrics of this version, in the order of the manual.
MetricTable allMetrics();
/// nullptr when there is none of that id
const MetricInfo* findMetric(std::string_view id, MetricTable table = allMetrics());

/// The unit that a column of the matrix belongs to; none for values of layers, whose rows name a unit of their own.
std::optional<CutUnit> unitOfColumns(Scope scope);

/// A metric with its options. Holds only options that differ from their defaults.
struct MetricRequest {
    const MetricInfo* info = nullptr;
    std::map<std::string, std::string> options;

    /// "gate_norm:fold_norm=true": the key of a result everywhere (resources/manual/formats.md, Result ids).
    std::string resultId() const;
    /// The option's value, or its default; empty where the metric has no such option.
    std::string option(std::string_view name) const;
    bool flag(std::string_view name) const;
    /// Of an option that is a whole number. @throws UsageError when it is out of range
    int whole(std::string_view name) const;
};

/// How a metric with these options is described: by its row, or for ablations with of=accuracy by the row that has
/// another title and unit.
const MetricInfo* describedBy(const MetricInfo* info, const std::map<std::string, std::string>& options);

/// The row's own check of a request's options. @throws UsageError
void checkOptions(const MetricRequest& request);

/// The result id as HDF5 links and file names spell it: ':', '=' and '/' become '.', '-' and '_'.
std::string fileForm(std::string_view resultId);

/// Reads "id[:key=value]...", separated by commas; `weights`, `forward`, `gradient`, `ablation` and `all` stand for
/// their groups without slow metrics (`ablation`: with them).
/// Each request comes once, in the order first named. @throws UsageError (usage_error.h) listing the known ones
std::vector<MetricRequest> parseMetricRequests(std::string_view text, MetricTable table = allMetrics());

/// The manual's table of metrics as Markdown, a line for each row.
std::string markdownTable(MetricTable table = allMetrics());

/// What identifies a measurement together with its result id (resources/manual/formats.md).
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
    std::string split; ///< rule by which it was split into documents
    std::string bos;   ///< rule by which sequences begin with BOS
    bool operator==(const MeasuredData&) const = default;
};

/// Further values of a metric for the same cells.
struct MetricFeature {
    std::string name;
    Matrix values;
};

struct MetricResult {
    MetricRequest request;
    Matrix values; ///< rows = layers, columns by scope; NaN = no such cell or not measured yet
    /// Of each value, where any is an estimate: 0 = this value is exact, NaN = no value. Absent = all are exact.
    std::optional<Matrix> standardError;
    Measurement measurement;
    double seconds = 0;
    std::vector<std::string> warnings;
    std::optional<MeasuredData> data = {};  ///< absent for metrics that need none
    std::vector<std::int64_t> lengths = {}; ///< tokens of the prefixes with values of their own
    std::vector<Matrix> overLengths = {};   ///< for each prefix; `values` are those of the last
    std::vector<MetricFeature> features = {};
    bool isWhole = true;    ///< false where the run was stopped before all layers and tokens were seen
    std::string label = {}; ///< distinguishes it from others of the same id in one view; not saved

    /// Whether it covers less of the model or text than another one, measured in the same way.
    bool isLessThan(const MetricResult& other) const;
    /// Of one value; 0 where it is exact or missing.
    double errorAt(std::size_t row, std::size_t column) const;
};

/// Columns of a metric's matrix for this model.
std::size_t columnsFor(Scope scope, const ModelSpec& spec);
/// Cells in a layer: heads, KV groups, neurons or 1.
std::size_t cellsInLayer(Scope scope, const LayerSpec& layer);

} // namespace secateur
