#include "backends/session/session_speeds.h"

#include "analysis/base/error.h"
#include "backends/session/hdf5_lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

namespace {

using hdf5::Handle;

constexpr std::int64_t mostTokens = std::int64_t{1} << 30;

int readCountFrom(const Handle& group, const char* attribute, int least) {
    const std::int64_t value = hdf5::readInteger(group, attribute);
    if (value < least || value > mostTokens)
        throw Error(fmt::format("cannot be {}", value), attribute);
    return static_cast<int>(value);
}

void writeTiming(const Handle& group, const std::string& name, const Timing& timing) {
    const Handle seconds = hdf5::writeNumberList(group, name, timing.seconds);
    hdf5::writeText(seconds, "meaning", "seconds of each run, those of the warm-up left out");
    hdf5::writeNumber(seconds, "median", timing.median());
}

std::vector<double> readSeconds(const Handle& group, const std::string& name, bool mayBeNothing) {
    std::vector<double> seconds = hdf5::readNumberList(group, name);
    if (seconds.empty())
        throw Error("holds no run", name);
    for (const double value : seconds)
        if (!std::isfinite(value) || value < 0 || (value == 0 && !mayBeNothing))
            throw Error(fmt::format("cannot be {}", value), name);
    return seconds;
}

Timing readTiming(const Handle& group, const std::string& name) {
    return {readSeconds(group, name, false)};
}

void writePass(const Handle& group, const std::string& prefix, const PrefillTiming& pass) {
    writeTiming(group, prefix + "_seconds", pass.timing);
    if (!pass.bySublayer)
        return;
    const Handle attention = hdf5::writeNumberList(group, prefix + "_attention_seconds", pass.bySublayer->attention);
    hdf5::writeText(attention, "meaning", "mean seconds of a pass in the attention of each layer");
    const Handle mlp = hdf5::writeNumberList(group, prefix + "_mlp_seconds", pass.bySublayer->mlp);
    hdf5::writeText(mlp, "meaning", "mean seconds of a pass in the MLP of each layer");
    hdf5::writeNumber(group, prefix + "_rest_seconds", pass.bySublayer->rest);
}

PrefillTiming readPass(const Handle& group, const std::string& prefix) {
    PrefillTiming pass{readTiming(group, prefix + "_seconds"), {}};
    if (!hdf5::exists(group, prefix + "_attention_seconds"))
        return pass;
    SublayerSeconds seconds;
    seconds.attention = readSeconds(group, prefix + "_attention_seconds", true);
    seconds.mlp = readSeconds(group, prefix + "_mlp_seconds", true);
    seconds.rest = hdf5::readNumber(group, prefix + "_rest_seconds");
    if (seconds.mlp.size() != seconds.attention.size())
        throw Error(fmt::format("should hold {} values and holds {}", seconds.attention.size(), seconds.mlp.size()),
                    prefix + "_mlp_seconds");
    if (!std::isfinite(seconds.rest)) // below 0 where the passes that were watched took longer
        throw Error(fmt::format("cannot be {}", seconds.rest), prefix + "_rest_seconds");
    pass.bySublayer = std::move(seconds);
    return pass;
}

TextEnd endOfPrompt(const std::string& text) {
    for (const TextEnd end : {TextEnd::complete, TextEnd::stopToken, TextEnd::contextFull})
        if (name(end) == text)
            return end;
    throw Error(fmt::format("holds the unknown word \"{}\"", text), "end", "Open it with a newer Secateur");
}

std::vector<int> readTokens(const Handle& group) {
    std::vector<int> tokens;
    for (const std::int64_t value : hdf5::readIntegerList(group, "tokens")) {
        if (value < 0 || value > mostTokens)
            throw Error(fmt::format("cannot be {}", value), "tokens");
        tokens.push_back(static_cast<int>(value));
    }
    return tokens;
}

} // namespace

void writeLatency(const Handle& group, const Latency& latency) {
    hdf5::writeInteger(group, "prompt_tokens", latency.rules.promptTokens);
    hdf5::writeInteger(group, "new_tokens", latency.rules.newTokens);
    hdf5::writeInteger(group, "warmup", latency.rules.warmup);
    hdf5::writeNumber(group, "tokens_per_second", latency.tokensPerSecond(latency.run));
    writeTiming(group, "run_seconds", latency.run);
    if (!latency.reference)
        return;
    writeTiming(group, "reference_seconds", *latency.reference);
    hdf5::writeNumber(group, "reference_tokens_per_second", latency.tokensPerSecond(*latency.reference));
    hdf5::writeNumber(group, "speedup", speedup(*latency.reference, latency.run).ratio);
}

Latency readLatency(const Handle& group) {
    Latency latency;
    latency.rules.promptTokens = readCountFrom(group, "prompt_tokens", 1);
    latency.rules.newTokens = readCountFrom(group, "new_tokens", 1);
    latency.rules.warmup = readCountFrom(group, "warmup", 0);
    latency.run = readTiming(group, "run_seconds");
    latency.rules.runs = static_cast<int>(latency.run.seconds.size());
    if (hdf5::exists(group, "reference_seconds")) {
        latency.reference = readTiming(group, "reference_seconds");
        latency.speedup = speedup(*latency.reference, latency.run);
    }
    return latency;
}

void writePrefill(const Handle& group, const Prefill& prefill) {
    hdf5::writeInteger(group, "tokens", prefill.tokens);
    writePass(group, "run", prefill.run);
    if (!prefill.reference)
        return;
    writePass(group, "reference", *prefill.reference);
    hdf5::writeNumber(group, "speedup", speedup(prefill.reference->timing, prefill.run.timing).ratio);
}

Prefill readPrefill(const Handle& group) {
    Prefill prefill;
    prefill.tokens = readCountFrom(group, "tokens", 1);
    prefill.run = readPass(group, "run");
    if (hdf5::exists(group, "reference_seconds")) {
        prefill.reference = readPass(group, "reference");
        prefill.speedup = speedup(prefill.reference->timing, prefill.run.timing);
    }
    return prefill;
}

void writeTimedAgainst(const Handle& evaluation, const EvaluatedMask& mask) {
    hdf5::writeText(evaluation, "timed_against_name", mask.name);
    hdf5::writeText(evaluation, "timed_against_digest", mask.digest);
}

EvaluatedMask readTimedAgainst(const Handle& evaluation) {
    return {hdf5::readText(evaluation, "timed_against_name"), hdf5::readText(evaluation, "timed_against_digest")};
}

void writeContinuation(const Handle& group, const PromptContinuation& written) {
    const PromptRequest& prompt = written.prompt;
    hdf5::writeText(group, "prompt", prompt.text);
    hdf5::writeText(group, "special", prompt.special == SpecialText::parsed ? "parsed" : "plain");
    hdf5::writeInteger(group, "new_tokens", prompt.newTokens);
    hdf5::writeNumber(group, "temperature", prompt.sampling.temperature);
    hdf5::writeNumber(group, "top_p", prompt.sampling.topP);
    hdf5::writeInteger(group, "seed", static_cast<std::int64_t>(prompt.sampling.seed));
    hdf5::writeText(group, "text", written.text);
    hdf5::writeText(group, "end", name(written.continuation.end));
    const std::vector<int>& tokens = written.continuation.tokens;
    hdf5::writeIntegerList(group, "tokens", std::vector<std::int64_t>(tokens.begin(), tokens.end()));
}

PromptContinuation readContinuation(const Handle& group) {
    PromptContinuation written;
    PromptRequest& prompt = written.prompt;
    prompt.text = hdf5::readText(group, "prompt");
    prompt.special = hdf5::readText(group, "special") == "parsed" ? SpecialText::parsed : SpecialText::plain;
    prompt.newTokens = readCountFrom(group, "new_tokens", 1);
    prompt.sampling.temperature = hdf5::readNumber(group, "temperature");
    prompt.sampling.topP = hdf5::readNumber(group, "top_p");
    prompt.sampling.seed = static_cast<std::uint64_t>(hdf5::readInteger(group, "seed"));
    checkSampling(prompt.sampling);
    written.text = hdf5::readText(group, "text");
    written.continuation = {readTokens(group), endOfPrompt(hdf5::readText(group, "end"))};
    return written;
}

} // namespace secateur
