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

/// A row of the metric table. It contains the texts about a metric for lists, tooltips and the manual, and its
/// computation.
struct MetricInfo {
    std::string_view id;
    std::string_view title;
    std::string_view summary;
    std::string_view formula;
    std::string_view unit; ///< unit of the values; empty = a pure number
    std::string_view source;
    Scope scope;
    Needs needs; ///< must agree with the type of `computation`
    PruneFirst pruneFirst;
    std::optional<CutUnit> ranks; ///< the unit that the values rank for cutting; empty = no strategy can cut by them
    std::span<const OptionInfo> options;
    /// Checks options beyond their types. @throws UsageError
    void (*check)(const MetricRequest& request) = nullptr;
    MetricComputation computation = {};
    std::span<const std::string_view> classes = {}; ///< names of the classes, if values are indices of classes
    bool isSlow = false; ///< far slower than others: left out of `all` and of its group (but not of `ablation`)
};

/// The rows among which requests are looked up. A row must outlive all requests and results that point to it.
using MetricTable = std::span<const MetricInfo* const>;

/// All metrics of this version, in the order of the manual.
MetricTable allMetrics();
/// The row with this id; nullptr if there is none.
const MetricInfo* findMetric(std::string_view id, MetricTable table = allMetrics());

/// The unit of a matrix column; none for metrics of layers, whose unit is MetricInfo::ranks.
std::optional<CutUnit> unitOfColumns(Scope scope);

/// A metric with its options. Holds only options that differ from their defaults.
struct MetricRequest {
    const MetricInfo* info = nullptr;
    std::map<std::string, std::string> options;

    /// "gate_norm:fold_norm=true": identifies results in sessions, files and commands (resources/manual/formats.md,
    /// Result ids).
    std::string resultId() const;
    /// The option's value, or its default; empty if the metric has no such option.
    std::string option(std::string_view name) const;
    bool flag(std::string_view name) const;
    /// The value of an option that is a whole number. @throws UsageError if it does not fit an int
    int whole(std::string_view name) const;
};

/// The row that describes a metric with these options: its own, or AblationMetric::ofAccuracy for ablations with
/// of=accuracy.
const MetricInfo* describedBy(const MetricInfo* info, const std::map<std::string, std::string>& options);

/// Applies MetricInfo::check, if the row has one. @throws UsageError
void checkOptions(const MetricRequest& request);

/// The result id in the form for HDF5 links and file names, with '.', '-' and '_' instead of ':', '=' and '/'.
std::string fileForm(std::string_view resultId);

/// Reads a list of "id[:key=value]...", separated by commas. `weights`, `forward`, `gradient`, `ablation` and `all`
/// stand for all metrics of that group, without slow ones except for `ablation`. Repeated requests are dropped.
/// @throws UsageError; for an unknown id it lists the known ones
std::vector<MetricRequest> parseMetricRequests(std::string_view text, MetricTable table = allMetrics());

/// The manual's table of metrics in Markdown.
std::string markdownTable(MetricTable table = allMetrics());

/// The conditions of a measurement, which together with its result id identify it (resources/manual/formats.md).
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
    std::int64_t allTokens = 0; ///< tokens of the whole data; `tokens` is less if the run was stopped
    std::int64_t sequenceLength = 0;
    std::string split; ///< name of the TextSplit that divided it into documents
    std::string bos;   ///< name of the BosRule
    int part = 0;  ///< which of the disjoint parts of the sequences was read, from 1; 0 = all sequences
    int parts = 0; ///< number of parts

    bool isPart() const { return parts > 0; }
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
    /// Standard error of each value: 0 = this value is exact, NaN = there is no value. Absent = all values are exact.
    std::optional<Matrix> standardError;
    Measurement measurement;
    double seconds = 0;
    std::vector<std::string> warnings;
    std::optional<MeasuredData> data = {};  ///< absent for metrics that need none
    std::vector<std::int64_t> lengths = {}; ///< lengths in tokens of the prefixes that have separate values
    std::vector<Matrix> overLengths = {};   ///< values for each prefix; `values` are those for the last
    std::vector<MetricFeature> features = {};
    bool isWhole = true;    ///< false if the run was stopped before it covered all layers and tokens
    std::string label = {}; ///< distinguishes results with the same id in a view; not saved

    /// Whether this result covers less of the model or text than another one, measured in the same way.
    bool isLessThan(const MetricResult& other) const;
    /// The standard error of one value; 0 if it is exact or missing.
    double errorAt(std::size_t row, std::size_t column) const;
};

/// Columns of a metric's matrix for this model.
std::size_t columnsFor(Scope scope, const ModelSpec& spec);
/// Cells in a layer: heads, KV groups, neurons or 1.
std::size_t cellsInLayer(Scope scope, const LayerSpec& layer);

} // namespace secateur
