#include "analysis/strategies/head_filter_rule.h"

#include "analysis/base/known_ids.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/prune.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace secateur {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return lower(c); });
    return text;
}

/// Splits a condition into words. Relations and "%" are words of their own, even without spaces around them.
std::vector<std::string> wordsOf(std::string_view text) {
    std::vector<std::string> words{""};
    const auto isRelation = [](char c) { return c == '<' || c == '>'; };
    for (const char c : text) {
        std::string& word = words.back();
        const bool closes = !word.empty() && isRelation(word.front()) && c == '=' && word.size() == 1;
        const bool isSpace = c == ' ' || c == '\t' || c == '\n';
        if (!word.empty() && !closes && (isSpace || isRelation(c) || c == '%' || isRelation(word.front())))
            words.emplace_back();
        if (!isSpace)
            words.back() += c;
    }
    if (words.back().empty())
        words.pop_back();
    return words;
}

template <typename Number>
std::optional<Number> numberOf(const std::string& text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(const std::vector<std::string>& words, const std::string& message) {
    throw UsageError(message, join(words, " "));
}

/// The range in a condition such as "layer 3" or "layer 3-12".
std::pair<int, int> rangeOf(const std::vector<std::string>& words) {
    if (words.size() != 2)
        refuse(words, "should name one number or a range, as in layer 3-12");
    const std::vector<std::string> ends = split(words[1], '-');
    const auto first = numberOf<int>(ends.front());
    const auto last = numberOf<int>(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first)
        refuse(words, "should name one number or a range, as in layer 3-12");
    return {*first, *last};
}

/// The head with this name: "L3.H1"; none for other words.
std::optional<HeadId> namedHead(const std::string& word) {
    const std::vector<std::string> parts = split(lower(word), '.');
    if (parts.size() != 2 || !parts[0].starts_with('l') || !parts[1].starts_with('h'))
        return std::nullopt;
    const auto layer = numberOf<int>(parts[0].substr(1));
    const auto head = numberOf<int>(parts[1].substr(1));
    return layer && head ? std::optional(HeadId{*layer, *head}) : std::nullopt;
}

std::set<HeadId> namedHeads(const std::vector<std::string>& words) {
    std::set<HeadId> heads;
    for (const std::string& word : words) {
        const std::optional<HeadId> head = namedHead(word);
        if (!head)
            refuse(words, "should name heads only, as in L3.H1 L3.H4");
        heads.insert(*head);
    }
    return heads;
}

/// "layer 3" or "layer 3-5"
std::string rangeText(const char* what, int first, int last) {
    return first == last ? fmt::format("{} {}", what, first) : fmt::format("{} {}-{}", what, first, last);
}

MetricRequest metricOf(const std::string& word) {
    const std::string id = word == "pattern" ? "attention_pattern" : word;
    const MetricInfo* info = findMetric(parseRequest(id).id);
    if (!info) {
        std::vector<std::string_view> known = idsOf(allMetrics());
        known.insert(known.end(), {"pattern", "layer", "head", "cut", "protected"});
        refuseUnknown("metric", word, known);
    }
    if (info->scope == Scope::neuron)
        throw UsageError("has one value per neuron and none per head", word);
    return parseMetricRequests(id).front();
}

std::size_t classNumber(const MetricInfo& info, const std::string& name) {
    const auto found =
        std::ranges::find_if(info.classes, [&](std::string_view known) { return lower(std::string(known)) == name; });
    if (found == info.classes.end())
        throw UsageError(info.classes.empty() ? "has no classes: compare it with a number, as in sink_head > 0.5"
                                              : fmt::format("has the classes {}",
                                                            join({info.classes.begin(), info.classes.end()}, ", ")),
                         std::string(info.id));
    return static_cast<std::size_t>(found - info.classes.begin());
}

/// The column of a result that contains the value of a head.
std::size_t columnOf(Scope scope, const LayerSpec& layer, int head) {
    return scope == Scope::layer ? 0 : static_cast<std::size_t>(scope == Scope::kvGroup ? layer.kvGroup(head) : head);
}

bool holds(const std::string& relation, double value, double limit) {
    return relation == "<"    ? value < limit
           : relation == "<=" ? value <= limit
           : relation == ">"  ? value > limit
                              : value >= limit;
}

void leaveOut(Matrix& values, const MetricInfo& info, const ModelSpec& spec, const PassingHeads& heads) {
    const auto all = [](auto from, auto to) { return std::all_of(from, to, [](bool passes) { return passes; }); };
    for (std::size_t layer = 0; layer < values.rows() && layer < heads.size(); ++layer) {
        const std::vector<bool>& own = heads[layer];
        const bool isWhole = all(own.begin(), own.end());
        const bool hasAny = std::ranges::find(own, true) != own.end() || own.empty();
        for (std::size_t column = 0; column < values.columns(); ++column) {
            bool passes = hasAny;
            if (info.scope == Scope::head) {
                passes = column < own.size() && own[column];
            } else if (info.scope == Scope::kvGroup) {
                const auto group =
                    static_cast<std::ptrdiff_t>(spec.layers[layer].heads / std::max(spec.layers[layer].kvHeads, 1));
                const auto from = static_cast<std::ptrdiff_t>(column) * group;
                passes = from + group <= std::ssize(own) && all(own.begin() + from, own.begin() + from + group);
            } else if (info.scope == Scope::layer && info.pruneFirst != PruneFirst::neither) {
                passes = unitOf(info) == CutUnit::mlp ? hasAny : isWhole;
            }
            if (!passes)
                values(layer, column) = std::numeric_limits<double>::quiet_NaN();
        }
    }
}

} // namespace

HeadRule::HeadRule(std::string_view text) {
    std::vector<std::string> words;
    const auto take = [&] {
        if (!words.empty())
            m_conditions.push_back(parse(std::exchange(words, {})));
    };
    for (const std::string& part : split(text, ',')) {
        for (const std::string& word : wordsOf(part))
            if (lower(word) == "and")
                take();
            else
                words.push_back(word);
        take();
    }
}

HeadRule::Condition HeadRule::parse(std::vector<std::string> words) {
    const std::vector<std::string> whole = words;
    bool isNegated = false;
    while (!words.empty() && lower(words.front()) == "not") {
        isNegated = !isNegated;
        words.erase(words.begin());
    }
    if (words.empty())
        refuse(whole, "should be followed by a condition");
    const std::string first = lower(words.front());
    Condition condition;
    if (first == "layer" || first == "layers" || first == "head" || first == "heads") {
        condition.kind = first.starts_with("layer") ? Condition::Kind::layers : Condition::Kind::heads;
        std::tie(condition.first, condition.last) = rangeOf(words);
    } else if (words.size() == 1 && (first == "cut" || first == "protected")) {
        condition.kind = first == "cut" ? Condition::Kind::cut : Condition::Kind::isProtected;
    } else if (namedHead(first)) {
        condition.kind = Condition::Kind::named;
        condition.named = namedHeads(words);
    } else {
        condition = parseMetric(words);
    }
    condition.isNegated = condition.isNegated != isNegated;
    return condition;
}

HeadRule::Condition HeadRule::parseMetric(const std::vector<std::string>& words) {
    const MetricRequest request = metricOf(words.front());
    const std::string verb = words.size() > 1 ? lower(words[1]) : std::string();
    Condition condition;
    condition.metric = request.resultId();
    if (verb == "is") {
        const bool isNegated = words.size() > 2 && lower(words[2]) == "not";
        condition.kind = Condition::Kind::inClass;
        condition.isNegated = isNegated;
        condition.whichClass =
            classNumber(*request.info, lower(join({words.begin() + (isNegated ? 3 : 2), words.end()}, " ")));
        return condition;
    }
    if (!request.info->classes.empty())
        refuse(words, fmt::format("should name a class, as in {} is {}", words.front(), request.info->classes.front()));
    const auto number = words.size() > 2 ? numberOf<double>(words[2]) : std::nullopt;
    condition.number = number.value_or(0);
    if (verb.starts_with('<') || verb.starts_with('>')) {
        if (!number || words.size() != 3)
            refuse(words, fmt::format("should name one number after {}", verb));
        condition.kind = Condition::Kind::value;
        condition.relation = verb;
        return condition;
    }
    condition.kind = Condition::Kind::end;
    condition.isHighest = verb == "highest";
    condition.isPercentage = words.size() == 4 && words[3] == "%";
    if (verb != "lowest" && verb != "highest")
        refuse(words, fmt::format("should go on with a limit, as in {0} > 0.5 or {0} lowest 10 %", words.front()));
    const bool isWhole =
        condition.isPercentage ? condition.number <= 100 : std::floor(condition.number) == condition.number;
    if (!number || words.size() > (condition.isPercentage ? 4U : 3U) || condition.number < 0 || !isWhole)
        refuse(words, fmt::format("should say how many, as in {} {} 10 %", words.front(), verb));
    return condition;
}

std::vector<std::string> HeadRule::metrics() const {
    std::vector<std::string> ids;
    for (const Condition& condition : m_conditions)
        if (!condition.metric.empty())
            ids.push_back(condition.metric);
    return ids;
}

bool HeadRule::asksForMask() const {
    return std::ranges::any_of(m_conditions, [](const Condition& condition) {
        return condition.kind == Condition::Kind::cut || condition.kind == Condition::Kind::isProtected;
    });
}

PassingHeads HeadRule::passing(const HeadFacts& facts) const {
    PassingHeads heads;
    for (const LayerSpec& layer : facts.spec.layers)
        heads.emplace_back(static_cast<std::size_t>(layer.heads), true);
    for (const Condition& condition : m_conditions)
        apply(condition, facts, heads);
    return heads;
}

void HeadRule::apply(const Condition& condition, const HeadFacts& facts, PassingHeads& heads) {
    using Kind = Condition::Kind;
    const MetricResult* result = condition.metric.empty() ? nullptr : facts.result(condition.metric);
    if (!condition.metric.empty() && !result)
        throw Error("is not measured yet", condition.metric);
    const std::vector<int> order =
        condition.kind == Kind::end ? ranks(result->values.values(), !condition.isHighest) : std::vector<int>();
    const auto ranked = static_cast<double>(std::ranges::count_if(order, [](int rank) { return rank > 0; }));
    constexpr double slack = 1e-9; // avoids losing a head by rounding if the percentage is a whole number of heads
    const double count =
        condition.isPercentage ? std::floor(condition.number * ranked / 100 + slack) : condition.number;
    const auto meets = [&](HeadId head, std::size_t cell, double value) {
        switch (condition.kind) {
        case Kind::layers:
            return head.layer >= condition.first && head.layer <= condition.last;
        case Kind::heads:
            return head.head >= condition.first && head.head <= condition.last;
        case Kind::named:
            return condition.named.contains(head);
        case Kind::cut:
            return facts.isCut(head);
        case Kind::isProtected:
            return facts.isProtected(head);
        case Kind::value:
            return holds(condition.relation, value, condition.number);
        case Kind::end:
            return order[cell] <= count;
        case Kind::inClass:
            return value == static_cast<double>(condition.whichClass);
        }
        return false;
    };
    for (int layer = 0; layer < facts.spec.layerCount(); ++layer) {
        const auto row = static_cast<std::size_t>(layer);
        for (int head = 0; head < facts.spec.layers[row].heads; ++head) {
            double value = 0;
            std::size_t cell = 0;
            if (result) {
                const std::size_t column = columnOf(result->request.info->scope, facts.spec.layers[row], head);
                value = row < result->values.rows() && column < result->values.columns()
                            ? result->values(row, column)
                            : std::numeric_limits<double>::quiet_NaN();
                cell = row * result->values.columns() + column;
            }
            if (std::isnan(value) || meets({layer, head}, cell, value) == condition.isNegated)
                heads[row][static_cast<std::size_t>(head)] = false;
        }
    }
}

std::string ruleOf(const std::set<HeadId>& heads) {
    const int firstLayer = heads.begin()->layer;
    const int lastLayer = heads.rbegin()->layer;
    const auto [first, last] = std::ranges::minmax(heads, {}, &HeadId::head);
    const auto area = static_cast<std::size_t>((lastLayer - firstLayer + 1) * (last.head - first.head + 1));
    if (heads.size() == area) // fills its bounding rectangle
        return rangeText("layer", firstLayer, lastLayer) + ", " + rangeText("head", first.head, last.head);
    std::vector<std::string> names;
    for (const HeadId& head : heads)
        names.push_back(headName(head.layer, head.head));
    return join(names, " ");
}

MetricResult resultOfPassing(MetricResult result, const ModelSpec& spec, const PassingHeads& heads) {
    leaveOut(result.values, *result.request.info, spec, heads);
    for (Matrix& values : result.overLengths)
        leaveOut(values, *result.request.info, spec, heads);
    return result;
}

} // namespace secateur
