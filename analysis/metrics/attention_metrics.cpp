#include "analysis/metrics/attention_metrics.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

constexpr double notDefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<std::string_view, 4> classNames{"sink", "diagonal", "uniform", "other"};
constexpr std::size_t measured = 4; ///< number of features, from the first one on, that are means over queries

template <typename Number>
Number numberOf(const MetricRequest& request, std::string_view option, Number least, Number most) {
    const std::string text = request.option(option);
    Number value{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
        throw UsageError(fmt::format("option {}={} should be from {} to {}", option, text, least, most),
                         std::string(request.info->id));
    return value;
}

int integerOf(const MetricRequest& request, std::string_view option, int least) {
    return numberOf<int>(request, option, least, 1 << 24);
}

AttentionFeature entropyOf(const MetricRequest& request) {
    const std::string variant = request.option("variant");
    constexpr std::array kinds{AttentionFeature::Kind::entropy, AttentionFeature::Kind::shiftedLog,
                               AttentionFeature::Kind::shifted};
    if (variant == "A")
        return {AttentionFeature::Kind::entropy};
    if (variant != "B" && variant != "C")
        throw UsageError(fmt::format("option variant={} should be A, B or C", variant), std::string(request.info->id));
    const auto epsilon = static_cast<float>(numberOf<double>(request, "epsilon", 1e-30, 1));
    return {kinds[static_cast<std::size_t>(variant[0] - 'A')], 0, 0, epsilon};
}

std::vector<std::int64_t> lengthsOf(const MetricRequest& request, const std::string& text) {
    std::vector<std::int64_t> lengths;
    for (const std::string& part : split(text, '/')) {
        std::int64_t length = 0;
        const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), length);
        const bool isNext = length > (lengths.empty() ? 1 : lengths.back());
        if (failure != std::errc() || end != part.data() + part.size() || !isNext)
            throw UsageError(fmt::format("option lengths={} should be numbers of tokens from 2 on, the smallest first, "
                                         "as 64/128",
                                         text),
                             std::string(request.info->id));
        lengths.push_back(length);
    }
    return lengths;
}

/// Whether the causal mask and the window allow a query to see a key.
bool sees(const AttentionMetric::Row& row, std::int64_t query, std::int64_t key) {
    const bool isNear = row.window == 0 || std::abs(query - key) < row.window;
    return isNear && (!row.causal || key <= query);
}

std::int64_t keysSeen(const AttentionMetric::Row& row, std::int64_t query) {
    const std::int64_t window = row.window > 0 ? row.window : row.length;
    const std::int64_t behind = std::min(query + 1, window);
    const std::int64_t ahead = row.causal ? 0 : std::min(row.length - 1 - query, window - 1);
    return behind + ahead;
}

std::size_t placeOf(std::size_t quantity, int heads, int head) {
    return 1 + quantity * static_cast<std::size_t>(heads) + static_cast<std::size_t>(head);
}

void grow(std::vector<double>& sums, std::size_t blocks, std::size_t quantities, int heads) {
    sums.resize(std::max(sums.size(), blocks * (1 + quantities * static_cast<std::size_t>(heads))));
}

int firstQueryOf(const MetricRequest& request) {
    return request.flag("exclude_first") ? 1 : 0;
}

/// Mean attention on one key, over whole sequences or over prefixes of several lengths.
class SinkMetric : public AttentionMetric {
public:
    enum class Of { heads, layer, variation };

    SinkMetric(Of of, const MetricRequest& request, std::int64_t longest, bool causal)
        : AttentionMetric(firstQueryOf(request))
        , m_of(of)
        , m_wantedLengths(request.option("lengths"))
        , m_key(integerOf(request, "key", -(1 << 24)))
        , m_visibleOnly(request.flag("visible_only")) {
        if (!m_wantedLengths.empty() && m_wantedLengths != "natural")
            m_lengths = lengthsOf(request, m_wantedLengths);
        if (m_wantedLengths == "natural" && m_of != Of::variation)
            throw UsageError("option lengths=natural is for sink_cv; without it whole sequences count",
                             std::string(request.info->id));
        if (!causal && !m_lengths.empty() && request.options.contains("lengths"))
            throw UsageError("option lengths needs a decoder: in an encoder the attention of a prefix depends on the "
                             "tokens behind it",
                             std::string(request.info->id));
        chooseLengths(longest, causal);
        chooseFeatures();
    }

    std::vector<std::int64_t> lengths() const override {
        return m_of == Of::variation ? std::vector<std::int64_t>() : m_lengths;
    }
    void add(const Row& row, std::vector<double>& sums) const override;
    AttentionValues values(const std::vector<double>& sums, int heads) const override;

private:
    void chooseLengths(std::int64_t longest, bool causal);
    void chooseFeatures();
    double sink(const Row& row, int head, std::size_t prefix, std::int64_t length) const;
    AttentionValues variation(const std::vector<double>& sums, int heads) const;
    std::vector<std::int64_t> prefixes(int length) const {
        return m_lengths.empty() ? std::vector<std::int64_t>{length} : m_lengths;
    }

    Of m_of;
    std::string m_wantedLengths;
    int m_key;
    bool m_visibleOnly;
    std::vector<std::int64_t> m_lengths;
};

void SinkMetric::chooseLengths(std::int64_t longest, bool causal) {
    if (m_lengths.empty() || longest == 0)
        return;
    const std::size_t asked = m_lengths.size();
    std::erase_if(m_lengths, [&](std::int64_t length) { return length > longest || !causal; });
    if (m_of == Of::variation) {
        if (m_lengths.empty())
            m_warnings.emplace_back("counts whole sequences, not prefixes of them");
        return;
    }
    if (m_lengths.empty())
        throw UsageError(
            fmt::format("the longest sequence has {} tokens, fewer than lengths={}", longest, m_wantedLengths),
            "lengths");
    if (m_lengths.size() < asked)
        m_warnings.push_back(fmt::format("no sequence has more than {} tokens: longer prefixes are left out", longest));
}

void SinkMetric::chooseFeatures() {
    m_features = {{AttentionFeature::Kind::key, m_key}};
    if (m_key >= 0 || m_lengths.empty())
        return;
    m_features.clear(); // a key that is counted from the end has another position in each prefix
    for (const std::int64_t length : m_lengths)
        m_features.push_back(
            {AttentionFeature::Kind::key, static_cast<int>(std::max<std::int64_t>(0, length + m_key))});
}

/// Mean attention on the key over the queries of a prefix. NaN if the row is shorter than the prefix, or the prefix
/// does not contain the key.
double SinkMetric::sink(const Row& row, int head, std::size_t prefix, std::int64_t length) const {
    const std::int64_t key = m_key < 0 ? length + m_key : m_key;
    if (length > row.length || key < 0 || key >= length)
        return notDefined;
    const float* shares = row.numbers(head, m_features.size() > 1 ? prefix : 0);
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t query = m_firstQuery; query < length; ++query)
        if (!m_visibleOnly || sees(row, query, key)) {
            sum += static_cast<double>(shares[query]);
            ++count;
        }
    return count > 0 ? sum / static_cast<double>(count) : notDefined;
}

void SinkMetric::add(const Row& row, std::vector<double>& sums) const {
    const bool isVariation = m_of == Of::variation;
    const std::size_t quantities = isVariation ? 2 : 1;
    const std::vector<std::int64_t> all = prefixes(row.length);
    const std::size_t size = 1 + quantities * static_cast<std::size_t>(row.heads);
    grow(sums, isVariation ? 1 : all.size(), quantities, row.heads);
    for (std::size_t prefix = 0; prefix < all.size(); ++prefix) {
        double* own = sums.data() + (isVariation ? 0 : prefix * size);
        for (int head = 0; head < row.heads; ++head) {
            const double value = sink(row, head, prefix, all[prefix]);
            if (std::isnan(value))
                break; // the row is shorter than this prefix
            own[0] += head == 0 ? 1 : 0;
            own[placeOf(0, row.heads, head)] += value;
            if (isVariation)
                own[placeOf(1, row.heads, head)] += value * value;
        }
    }
}

AttentionValues SinkMetric::values(const std::vector<double>& sums, int heads) const {
    if (m_of == Of::variation)
        return variation(sums, heads);
    AttentionValues found;
    const auto width = static_cast<std::size_t>(heads);
    for (std::size_t prefix = 0; prefix < std::max<std::size_t>(1, m_lengths.size()); ++prefix) {
        std::vector<double> own(width, notDefined);
        const double* from = sums.data() + prefix * (1 + width);
        if (!sums.empty() && from[0] > 0)
            std::transform(from + 1, from + 1 + width, own.begin(), [&](double sum) { return sum / from[0]; });
        if (m_of == Of::layer)
            own = {std::accumulate(own.begin(), own.end(), 0.0) / (heads > 0 ? heads : notDefined)};
        found.values.push_back(std::move(own));
    }
    return found;
}

AttentionValues SinkMetric::variation(const std::vector<double>& sums, int heads) const {
    std::vector<double> own(static_cast<std::size_t>(heads), notDefined);
    for (int head = 0; head < heads && !sums.empty() && sums[0] > 1; ++head) {
        const double mean = sums[placeOf(0, heads, head)] / sums[0];
        const double variance = std::max(0.0, sums[placeOf(1, heads, head)] / sums[0] - mean * mean);
        own[static_cast<std::size_t>(head)] = mean > 0 ? std::sqrt(variance) / mean : notDefined;
    }
    return {{std::move(own)}, {}};
}

class EntropyMetric : public AttentionMetric {
public:
    explicit EntropyMetric(const MetricRequest& request)
        : AttentionMetric(firstQueryOf(request))
        , m_normalised(request.flag("normalised")) {
        m_features = {entropyOf(request)};
    }

    void add(const Row& row, std::vector<double>& sums) const override {
        if (row.length <= m_firstQuery || (m_normalised && row.length < 2))
            return;
        grow(sums, 1, 1, row.heads);
        sums[0] += 1;
        // The epsilon makes the entropy of a query that attends to one key slightly negative. NaN stays NaN.
        for (int head = 0; head < row.heads; ++head)
            sums[placeOf(0, row.heads, head)] += std::max(meanOver(row, head, 0, m_normalised), 0.0);
    }

    AttentionValues values(const std::vector<double>& sums, int heads) const override {
        std::vector<double> own(static_cast<std::size_t>(heads), notDefined);
        for (int head = 0; head < heads && !sums.empty() && sums[0] > 0; ++head)
            own[static_cast<std::size_t>(head)] = sums[placeOf(0, heads, head)] / sums[0];
        return {{std::move(own)}, {}};
    }

private:
    bool m_normalised;
};

class PatternMetric : public AttentionMetric {
public:
    explicit PatternMetric(const MetricRequest& request)
        : AttentionMetric(std::max(integerOf(request, "first_query", 0), firstQueryOf(request)))
        , m_leastSink(numberOf<double>(request, "sink", 0, 1))
        , m_leastDiagonal(numberOf<double>(request, "diagonal", 0, 1))
        , m_leastUniform(numberOf<double>(request, "uniform", 0, 1)) {
        using Kind = AttentionFeature::Kind;
        m_features = {
            {Kind::key, 0}, {Kind::band, -integerOf(request, "band", 0), 0}, {Kind::band, -1, -1}, {Kind::entropy}};
    }

    std::span<const std::string_view> featureNames() const override { return names; }
    void add(const Row& row, std::vector<double>& sums) const override;
    AttentionValues values(const std::vector<double>& sums, int heads) const override;

private:
    static constexpr std::array<std::string_view, 6> names{"sink",    "diagonal",  "previous",
                                                           "entropy", "agreement", "margin"};

    int classOf(double sink, double diagonal, double entropy) const;
    double margin(double sink, double diagonal, double entropy) const;

    double m_leastSink;
    double m_leastDiagonal;
    double m_leastUniform;
};

void PatternMetric::add(const Row& row, std::vector<double>& sums) const {
    if (row.length <= m_firstQuery || row.length < 2)
        return;
    grow(sums, 1, measured + classNames.size(), row.heads);
    sums[0] += 1;
    for (int head = 0; head < row.heads; ++head) {
        std::array<double, measured> means{};
        for (std::size_t i = 0; i < measured; ++i) {
            means[i] = meanOver(row, head, i, m_features[i].kind == AttentionFeature::Kind::entropy);
            sums[placeOf(i, row.heads, head)] += means[i];
        }
        const auto own = static_cast<std::size_t>(classOf(means[0], means[1], means[3]));
        sums[placeOf(measured + own, row.heads, head)] += 1;
    }
}

int PatternMetric::classOf(double sink, double diagonal, double entropy) const {
    return sink >= m_leastSink ? 0 : diagonal >= m_leastDiagonal ? 1 : entropy >= m_leastUniform ? 2 : 3;
}

/// Distance of a head's features from the nearest boundary between its class and another class.
double PatternMetric::margin(double sink, double diagonal, double entropy) const {
    const double fromSink = std::abs(sink - m_leastSink);
    const double fromDiagonal = std::min(fromSink, std::abs(diagonal - m_leastDiagonal));
    const int own = classOf(sink, diagonal, entropy);
    return own == 0 ? fromSink : own == 1 ? fromDiagonal : std::min(fromDiagonal, std::abs(entropy - m_leastUniform));
}

AttentionValues PatternMetric::values(const std::vector<double>& sums, int heads) const {
    AttentionValues found;
    found.values.emplace_back(static_cast<std::size_t>(heads), notDefined);
    found.features.assign(names.size(), std::vector<double>(static_cast<std::size_t>(heads), notDefined));
    for (int head = 0; head < heads && !sums.empty() && sums[0] > 0; ++head) {
        const auto at = static_cast<std::size_t>(head);
        const auto mean = [&](std::size_t quantity) { return sums[placeOf(quantity, heads, head)] / sums[0]; };
        for (std::size_t i = 0; i < measured; ++i)
            found.features[i][at] = mean(i);
        const int own = classOf(mean(0), mean(1), mean(3));
        found.values[0][at] = own;
        found.features[measured][at] = mean(measured + static_cast<std::size_t>(own));
        found.features[measured + 1][at] = margin(mean(0), mean(1), mean(3));
    }
    return found;
}

} // namespace

double AttentionMetric::meanOver(const Row& row, int head, std::size_t feature, bool isShare) const {
    const float* numbers = row.numbers(head, feature);
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t query = m_firstQuery; query < row.length; ++query) {
        const std::int64_t keys = isShare ? keysSeen(row, query) : 0;
        if (isShare && keys < 2)
            continue;
        sum += static_cast<double>(numbers[query]) / (isShare ? std::log(static_cast<double>(keys)) : 1);
        ++count;
    }
    return count > 0 ? sum / static_cast<double>(count) : notDefined;
}

std::unique_ptr<const AttentionMetric> sinkOfHeads(const MetricRequest& request, std::int64_t longest, bool causal) {
    return std::make_unique<SinkMetric>(SinkMetric::Of::heads, request, longest, causal);
}

std::unique_ptr<const AttentionMetric> sinkOfLayers(const MetricRequest& request, std::int64_t longest, bool causal) {
    return std::make_unique<SinkMetric>(SinkMetric::Of::layer, request, longest, causal);
}

std::unique_ptr<const AttentionMetric> sinkVariation(const MetricRequest& request, std::int64_t longest, bool causal) {
    return std::make_unique<SinkMetric>(SinkMetric::Of::variation, request, longest, causal);
}

std::unique_ptr<const AttentionMetric> attentionPattern(const MetricRequest& request, std::int64_t, bool) {
    return std::make_unique<PatternMetric>(request);
}

std::unique_ptr<const AttentionMetric> attentionEntropy(const MetricRequest& request, std::int64_t, bool) {
    return std::make_unique<EntropyMetric>(request);
}

std::span<const std::string_view> patternClasses() {
    return classNames;
}

} // namespace secateur
