#include "analysis/session/result_key.h"

#include "analysis/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <utility>

namespace secateur {

namespace {

constexpr char keySign = '@';
constexpr char differenceSign = '-';
constexpr std::string_view usualBos = "tokenizer_default";

std::uint32_t fnv1a(std::string_view text) {
    std::uint32_t hash = 2166136261U;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

std::string textName(const MeasuredData& data) {
    const std::string name = std::filesystem::path(data.source).filename().string();
    return data.source == "built-in" ? "built-in text" : name.empty() ? data.source : name;
}

std::string tokensOf(const MeasuredData& data) {
    return fmt::format("{} tokens", grouped(static_cast<std::uint64_t>(data.tokens)));
}

std::string maskName(const Session& session, const std::string& digest) {
    if (digest == "dense")
        return "dense model";
    const SessionMask* mask = session.mask(digest);
    return mask ? mask->name : "mask " + digest.substr(digest.find(':') + 1, 8);
}

bool hasShapeOf(const MetricResult& a, const MetricResult& b) {
    return a.values.rows() == b.values.rows() && a.values.columns() == b.values.columns();
}

Matrix matrixDifference(const Matrix& a, const Matrix& b) {
    Matrix values = a;
    std::ranges::transform(a.values(), b.values(), values.values().begin(), std::minus<>());
    return values;
}

MetricResult difference(const MetricResult& a, const MetricResult& b) {
    MetricResult result;
    result.request = a.request;
    result.values = matrixDifference(a.values, b.values);
    result.measurement = a.measurement;
    result.data = a.data;
    result.isWhole = a.isWhole && b.isWhole;
    if (!a.standardError && !b.standardError)
        return result;
    Matrix& errors = result.standardError.emplace(result.values);
    for (std::size_t row = 0; row < errors.rows(); ++row)
        for (std::size_t column = 0; column < errors.columns(); ++column)
            if (!std::isnan(errors(row, column)))
                errors(row, column) = std::hypot(a.errorAt(row, column), b.errorAt(row, column));
    return result;
}

/// The label of a measurement. If it is in the reference session, the label begins with the name of the reference.
std::string ownLabel(const Session& session, const std::string& key, const MetricResult& result) {
    if (key != referenceKey)
        return distinction(session, result);
    const Session& reference = *session.reference;
    const bool isOtherModel = reference.model.name != session.model.name;
    const std::string own = distinction(reference, result);
    const std::string name = isOtherModel ? reference.model.name : std::string(referenceKey);
    return own.empty() ? name : name + ", " + own;
}

} // namespace

std::string ResultKey::text() const {
    std::string text = resultId;
    if (!key.empty() || subtracted)
        text += keySign + key;
    return subtracted ? text + differenceSign + *subtracted : text;
}

ResultKey parseResultKey(std::string_view text) {
    const std::size_t at = text.find(keySign);
    ResultKey key{std::string(text.substr(0, at)), {}, {}};
    if (at == std::string_view::npos)
        return key;
    const std::string_view keys = text.substr(at + 1);
    const std::size_t sign = keys.find(differenceSign);
    key.key = keys.substr(0, sign);
    if (sign != std::string_view::npos)
        key.subtracted = keys.substr(sign + 1);
    return key;
}

std::string fileForm(const ResultKey& key) {
    return ResultKey{fileForm(key.resultId), key.key, key.subtracted}.text();
}

std::string measurementKey(const Measurement& measurement) {
    return fmt::format("{:08x}", fnv1a(fmt::format("{}\n{}\n{}\n{}", measurement.maskDigest, measurement.dataDigest,
                                                   measurement.dtype, measurement.device)));
}

const MetricResult* findResult(const Session& session, const ResultKey& key) {
    if (key.subtracted)
        return nullptr;
    if (key.key.empty())
        return session.latest(key.resultId);
    if (key.key == referenceKey)
        return session.reference ? session.reference->latest(key.resultId) : nullptr;
    const auto found = std::find_if(session.results.rbegin(), session.results.rend(), [&](const MetricResult& result) {
        return result.request.resultId() == key.resultId && measurementKey(result.measurement) == key.key;
    });
    return found == session.results.rend() ? nullptr : &*found;
}

std::string labelOf(const Session& session, const ResultKey& key) {
    const MetricResult* first = findResult(session, {key.resultId, key.key, {}});
    const std::string own = first ? ownLabel(session, key.key, *first) : std::string();
    if (!key.subtracted)
        return own;
    const MetricResult* second = findResult(session, {key.resultId, *key.subtracted, {}});
    return fmt::format("{} − {}", own.empty() ? session.model.name : own,
                       second ? ownLabel(session, *key.subtracted, *second) : std::string());
}

std::optional<MetricResult> resolveResult(const Session& session, const ResultKey& key) {
    const MetricResult* first = findResult(session, {key.resultId, key.key, {}});
    const MetricResult* second = key.subtracted ? findResult(session, {key.resultId, *key.subtracted, {}}) : first;
    if (!first || !second)
        return {};
    MetricResult result;
    if (!key.subtracted)
        result = *first;
    else if (hasShapeOf(*first, *second) && first->request.info->classes.empty())
        result = difference(*first, *second);
    else
        return {};
    result.label = labelOf(session, key);
    return result;
}

std::string measuredOn(const Session& session, const MetricResult& result) {
    const Measurement& measurement = result.measurement;
    std::string text = "weights";
    if (const std::optional<MeasuredData>& data = result.data) {
        text = fmt::format("{}, {}", textName(*data), tokensOf(*data));
        if (data->bos != usualBos)
            text += ", BOS " + data->bos;
        text += " · " + maskName(session, measurement.maskDigest);
    }
    if (measurement.dtype != Measurement().dtype)
        text += " · " + measurement.dtype;
    return measurement.device == Measurement().device ? text : text + " · " + measurement.device;
}

std::string distinction(const Session& session, const MetricResult& result) {
    using Words = std::function<std::string(const MetricResult&)>;
    const auto ofData = [](auto words) {
        return [words](const MetricResult& of) { return of.data ? words(*of.data) : std::string(); };
    };
    const std::array<Words, 9> aspects{
        ofData(textName),
        ofData(tokensOf),
        ofData([](const MeasuredData& data) { return fmt::format("sequences of {}", data.sequenceLength); }),
        ofData([](const MeasuredData& data) { return "split by " + data.split; }),
        ofData([](const MeasuredData& data) {
            return data.isPart() ? fmt::format("part {} of {}", data.part, data.parts) : std::string("whole text");
        }),
        ofData([](const MeasuredData& data) { return "BOS " + data.bos; }),
        [&](const MetricResult& of) { return of.data ? maskName(session, of.measurement.maskDigest) : std::string(); },
        [](const MetricResult& of) { return of.measurement.dtype; },
        [](const MetricResult& of) { return of.measurement.device; },
    };
    std::vector<const MetricResult*> others; // results from which the label does not distinguish the measurement yet
    for (const MetricResult& other : session.results)
        if (other.request.resultId() == result.request.resultId())
            others.push_back(&other);
    std::vector<std::string> parts;
    for (const Words& aspect : aspects) {
        const std::string own = aspect(result);
        if (std::erase_if(others, [&](const MetricResult* other) { return aspect(*other) != own; }) > 0)
            parts.push_back(own);
    }
    return join(parts, ", ");
}

} // namespace secateur
