#include "backends/session/session_parts.h"

#include "analysis/base/error.h"
#include "backends/session/hdf5_lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace secateur {

namespace {

using hdf5::Handle;

template <typename Owner, typename Get>
std::vector<std::int64_t> integers(const std::vector<Owner>& owners, Get get) {
    std::vector<std::int64_t> values;
    for (const Owner& owner : owners)
        values.push_back(static_cast<std::int64_t>(owner.*get));
    return values;
}

void writeLosses(const Handle& group, const Perplexity& run) {
    std::vector<double> nats;
    for (const WindowLoss& window : run.windows)
        nats.push_back(window.nats);
    const Handle losses = hdf5::writeNumberList(group, "window_nats", nats);
    hdf5::writeText(losses, "meaning", "loss summed over the window's predicted tokens");
    hdf5::writeIntegerList(group, "window_tokens", integers(run.windows, &WindowLoss::tokens));
    const Handle index = hdf5::writeIntegerList(group, "window_index", integers(run.windows, &WindowLoss::index));
    hdf5::writeText(index, "meaning", "place of the window in the text");
    if (run.rules.protocol != TextProtocol::wordPpl)
        return;
    const Handle page = hdf5::writeIntegerList(group, "window_page", integers(run.windows, &WindowLoss::page));
    hdf5::writeText(page, "meaning", "place of the window's page in the arrays of pages");
    hdf5::writeIntegerList(group, "page_words", integers(run.pages, &PageSize::words));
    hdf5::writeIntegerList(group, "page_bytes", integers(run.pages, &PageSize::bytes));
    hdf5::writeIntegerList(group, "page_index", integers(run.pages, &PageSize::index));
}

void writeText(const Handle& group, const TextEvaluation& text) {
    const Perplexity& run = text.perplexity;
    hdf5::writeText(group, "source", text.source);
    hdf5::writeText(group, "digest", text.digest);
    hdf5::writeText(group, "protocol", name(run.rules.protocol));
    hdf5::writeText(group, "bos", name(run.rules.bos.value_or(BosMode::tokenizerDefault)));
    hdf5::writeInteger(group, "window", run.rules.window);
    hdf5::writeInteger(group, "max_tokens", run.rules.mostTokens);
    hdf5::writeInteger(group, "windows", static_cast<std::int64_t>(std::max(text.windows, run.windows.size())));
    hdf5::writeInteger(group, "tokens", run.tokens);
    hdf5::writeText(group, "unit", run.rules.protocol == TextProtocol::wordPpl ? "nats/word" : "nats/token");
    hdf5::writeNumber(group, "loss_nats", run.lossNats);
    hdf5::writeNumber(group, "standard_error", run.standardError);
    hdf5::writeNumber(group, "perplexity", run.perplexity());
    writeLosses(group, run);
}

[[noreturn]] void refuse(const char* name, std::size_t place, const auto& value) {
    throw Error(fmt::format("cannot be {} at {}", value, place), name);
}

std::vector<std::int64_t> readCounts(const Handle& group, const char* name, std::int64_t least, std::size_t length) {
    std::vector<std::int64_t> values = hdf5::readIntegerList(group, name);
    if (values.size() != length)
        throw Error(fmt::format("should hold {} values and holds {}", length, values.size()), name);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] < least || values[i] > std::int64_t{1} << 48)
            refuse(name, i, values[i]);
    return values;
}

/// Reads indices of windows or pages. They must be strictly increasing.
std::vector<std::int64_t> readPlaces(const Handle& group, const char* name, std::size_t length, std::int64_t end) {
    std::vector<std::int64_t> places = readCounts(group, name, 0, length);
    for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] >= end || (i > 0 && places[i] <= places[i - 1]))
            refuse(name, i, places[i]);
    return places;
}

std::vector<PageSize> readPages(const Handle& group) {
    const std::size_t count = hdf5::readIntegerList(group, "page_words").size();
    const auto words = readCounts(group, "page_words", 0, count);
    const auto bytes = readCounts(group, "page_bytes", 0, count);
    const auto index = readPlaces(group, "page_index", count, std::int64_t{1} << 48);
    std::vector<PageSize> pages;
    for (std::size_t i = 0; i < count; ++i)
        pages.push_back({words[i], bytes[i], static_cast<std::size_t>(index[i])});
    return pages;
}

std::vector<WindowLoss> readWindows(const Handle& group, std::int64_t windows, std::size_t pages) {
    const std::vector<double> nats = hdf5::readNumberList(group, "window_nats");
    if (nats.empty())
        throw Error("holds no window", "window_nats");
    const auto tokens = readCounts(group, "window_tokens", 1, nats.size());
    const auto index = readPlaces(group, "window_index", nats.size(), windows);
    const auto page =
        pages > 0 ? readCounts(group, "window_page", 0, nats.size()) : std::vector<std::int64_t>(nats.size(), 0);
    std::vector<WindowLoss> losses;
    for (std::size_t i = 0; i < nats.size(); ++i) {
        if (!std::isfinite(nats[i]))
            refuse("window_nats", i, nats[i]);
        if (pages > 0 && page[i] >= static_cast<std::int64_t>(pages))
            refuse("window_page", i, page[i]);
        losses.push_back({nats[i], tokens[i], static_cast<std::size_t>(page[i]), static_cast<std::size_t>(index[i])});
    }
    return losses;
}

TextEvaluation readText(const Handle& group) {
    PerplexityRules rules;
    rules.protocol = textProtocolOf(hdf5::readText(group, "protocol"));
    rules.bos = bosModeOf(hdf5::readText(group, "bos"));
    const std::int64_t window = hdf5::readInteger(group, "window");
    if (window < 2 || window > 1 << 30)
        throw Error(fmt::format("cannot be {}", window), "window");
    rules.window = static_cast<int>(window);
    rules.mostTokens = hdf5::readInteger(group, "max_tokens");
    const std::int64_t windows = hdf5::readInteger(group, "windows");
    std::vector<PageSize> pages = rules.protocol == TextProtocol::wordPpl ? readPages(group) : std::vector<PageSize>();
    if (rules.protocol == TextProtocol::wordPpl && pages.empty())
        throw Error("holds no page", "page_words");
    std::vector<WindowLoss> losses = readWindows(group, windows, pages.size());
    TextEvaluation text{hdf5::readText(group, "source"),
                        hdf5::readText(group, "digest"),
                        perplexityOf(rules, std::move(losses), std::move(pages)),
                        {}};
    text.windows = static_cast<std::size_t>(windows);
    return text;
}

void writePooled(const Handle& group, const PooledEvaluation& pooled) {
    const PooledDistance& distance = pooled.distance;
    hdf5::writeText(group, "source", pooled.source);
    hdf5::writeText(group, "digest", pooled.digest);
    hdf5::writeInteger(group, "sequence_length", pooled.sequenceLength);
    hdf5::writeInteger(group, "max_tokens", pooled.mostTokens);
    hdf5::writeText(group, "reference_digest", pooled.reference.digest);
    hdf5::writeInteger(group, "has_pooler", distance.hasPooler ? 1 : 0);
    hdf5::writeInteger(group, "sequences", static_cast<std::int64_t>(distance.sequences));
    hdf5::writeInteger(group, "tokens", distance.tokens);
    hdf5::writeNumber(group, "relative", distance.relative.value);
    hdf5::writeNumber(group, "relative_standard_error", distance.relative.standardError);
    hdf5::writeNumber(group, "cosine", distance.cosine.value);
    hdf5::writeNumber(group, "cosine_standard_error", distance.cosine.standardError);
}

/// Reads a distance, which is finite and at least 0. A single sequence has no standard error.
MeanDistance readDistance(const Handle& group, const std::string& name) {
    const MeanDistance mean{hdf5::readNumber(group, name.c_str()),
                            hdf5::readNumber(group, (name + "_standard_error").c_str())};
    constexpr double rounding = 1e-9; // a cosine distance of equal vectors
    if (!std::isfinite(mean.value) || mean.value < -rounding)
        throw Error(fmt::format("cannot be {}", mean.value), name);
    return mean;
}

PooledEvaluation readPooled(const Handle& group) {
    PooledEvaluation pooled;
    pooled.source = hdf5::readText(group, "source");
    pooled.digest = hdf5::readText(group, "digest");
    pooled.sequenceLength = hdf5::readInteger(group, "sequence_length");
    pooled.mostTokens = hdf5::readInteger(group, "max_tokens");
    pooled.reference.digest = hdf5::readText(group, "reference_digest");
    PooledDistance& distance = pooled.distance;
    distance.hasPooler = hdf5::readInteger(group, "has_pooler") != 0;
    const std::int64_t sequences = hdf5::readInteger(group, "sequences");
    if (sequences < 1)
        throw Error(fmt::format("cannot be {}", sequences), "sequences");
    distance.sequences = static_cast<std::size_t>(sequences);
    distance.tokens = hdf5::readInteger(group, "tokens");
    distance.relative = readDistance(group, "relative");
    distance.cosine = readDistance(group, "cosine");
    return pooled;
}

template <typename Read>
auto reading(const std::string& place, Read read) {
    try {
        return read();
    } catch (const Error& error) {
        throw error.within(place);
    }
}

/// Reads the attributes of a whole evaluation.
Evaluation readDescription(const Handle& group) {
    Evaluation evaluation;
    evaluation.mask = {hdf5::readText(group, "mask_name"), hdf5::readText(group, "mask_digest")};
    if (hdf5::hasAttribute(group, "adapter_digest")) {
        evaluation.adapter = {hdf5::readText(group, "adapter_name"), hdf5::readText(group, "adapter_digest")};
        if (!evaluation.adapter.isPresent())
            throw Error("is empty", "adapter_digest");
    }
    evaluation.dtype = hdf5::readText(group, "dtype");
    evaluation.device = hdf5::readText(group, "device");
    evaluation.created = hdf5::readText(group, "created");
    evaluation.seconds = hdf5::readNumber(group, "seconds");
    evaluation.warnings = hdf5::readTexts(group, "warnings");
    return evaluation;
}

/// Reads the runs of one kind. Each run has a group.
template <typename Read>
auto readNumbered(const Handle& group, const std::string& place, const std::string& kind, Read read) {
    std::vector<decltype(read(group))> runs;
    if (!hdf5::exists(group, kind))
        return runs;
    const Handle all = hdf5::openGroup(group, kind);
    for (const std::string& number : hdf5::numbered(all))
        runs.push_back(
            reading(fmt::format("{}/{}/{}", place, kind, number), [&] { return read(hdf5::openGroup(all, number)); }));
    return runs;
}

template <typename Run, typename Write>
void writeNumbered(const Handle& group, const char* kind, const std::vector<Run>& runs, Write write) {
    if (runs.empty())
        return;
    const Handle all = hdf5::group(group, kind);
    for (std::size_t i = 0; i < runs.size(); ++i)
        write(hdf5::group(all, std::to_string(i)), runs[i]);
}

/// @param place path of the group, for error messages
Evaluation readEvaluation(const Handle& group, const std::string& place) {
    Evaluation evaluation = reading(place, [&] { return readDescription(group); });
    if (hdf5::exists(group, "text"))
        evaluation.text = reading(place + "/text", [&] { return readText(hdf5::openGroup(group, "text")); });
    if (hdf5::exists(group, "pooled_distance"))
        evaluation.pooled =
            reading(place + "/pooled_distance", [&] { return readPooled(hdf5::openGroup(group, "pooled_distance")); });
    evaluation.tasks = readNumbered(group, place, "tasks", readTaskRun);
    evaluation.continuations = readNumbered(group, place, "continuations", readContinuation);
    if (hdf5::exists(group, "latency"))
        evaluation.latency =
            reading(place + "/latency", [&] { return readLatency(hdf5::openGroup(group, "latency")); });
    evaluation.prefills = readNumbered(group, place, "prefills", readPrefill);
    if (evaluation.latency || !evaluation.prefills.empty())
        evaluation.timedAgainst = reading(place, [&] { return readTimedAgainst(group); });
    return evaluation;
}

void writeEvaluation(const Handle& group, const Evaluation& evaluation) {
    hdf5::writeText(group, "mask_name", evaluation.mask.name);
    hdf5::writeText(group, "mask_digest", evaluation.mask.digest);
    if (evaluation.adapter.isPresent()) {
        hdf5::writeText(group, "adapter_name", evaluation.adapter.name);
        hdf5::writeText(group, "adapter_digest", evaluation.adapter.digest);
    }
    hdf5::writeText(group, "dtype", evaluation.dtype);
    hdf5::writeText(group, "device", evaluation.device);
    hdf5::writeText(group, "created", evaluation.created);
    hdf5::writeNumber(group, "seconds", evaluation.seconds);
    hdf5::writeTexts(group, "warnings", evaluation.warnings);
    if (evaluation.text)
        writeText(hdf5::group(group, "text"), *evaluation.text);
    if (evaluation.pooled)
        writePooled(hdf5::group(group, "pooled_distance"), *evaluation.pooled);
    writeNumbered(group, "tasks", evaluation.tasks, writeTaskRun);
    writeNumbered(group, "continuations", evaluation.continuations, writeContinuation);
    if (evaluation.latency || !evaluation.prefills.empty())
        writeTimedAgainst(group, evaluation.timedAgainst);
    if (evaluation.latency)
        writeLatency(hdf5::group(group, "latency"), *evaluation.latency);
    writeNumbered(group, "prefills", evaluation.prefills, writePrefill);
}

} // namespace

std::vector<Evaluation> readEvaluations(const Handle& file) {
    std::vector<Evaluation> evaluations;
    if (!hdf5::exists(file, "evaluations"))
        return evaluations;
    const Handle all = hdf5::openGroup(file, "evaluations");
    for (const std::string& number : hdf5::numbered(all))
        evaluations.push_back(readEvaluation(hdf5::openGroup(all, number), "/evaluations/" + number));
    return evaluations;
}

void writeEvaluations(const Handle& file, const std::vector<Evaluation>& evaluations) {
    const Handle all = hdf5::group(file, "evaluations");
    for (std::size_t i = 0; i < evaluations.size(); ++i)
        writeEvaluation(hdf5::group(all, std::to_string(i)), evaluations[i]);
}

void addEvaluations(const Handle& file, std::vector<Evaluation> additions) {
    std::vector<Evaluation> evaluations = readEvaluations(file);
    const Handle all = hdf5::group(file, "evaluations");
    std::vector<std::string> numbers = hdf5::numbered(all);
    std::vector<bool> isChanged(evaluations.size());
    for (Evaluation& evaluation : additions)
        place(evaluations, std::move(evaluation), isChanged);
    for (std::size_t i = 0; i < evaluations.size(); ++i) {
        if (i == numbers.size())
            numbers.push_back(hdf5::nextNumber(all));
        if (!isChanged[i])
            continue;
        if (hdf5::exists(all, numbers[i]))
            hdf5::remove(all, numbers[i]);
        if (!isEmpty(evaluations[i]))
            writeEvaluation(hdf5::group(all, numbers[i]), evaluations[i]);
    }
}

} // namespace secateur
