#include "backends/session/session_parts.h"

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

constexpr std::array shotNames{"first", "drawn"};
constexpr std::array bosNames{"tokenizer_default", "always", "never", "first_only"};
constexpr std::int64_t mostCount = std::int64_t{1} << 48;

template <typename Enum, std::size_t count>
Enum fromName(const std::array<const char*, count>& names, const Handle& group, const char* attribute) {
    const std::string text = hdf5::readText(group, attribute);
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
        throw Error(fmt::format("holds the unknown value \"{}\"", text), attribute, "Open it with a newer Secateur");
    return static_cast<Enum>(found - names.begin());
}

std::size_t readSize(const Handle& group, const char* attribute) {
    const std::int64_t value = hdf5::readInteger(group, attribute);
    if (value < 0 || value > mostCount)
        throw Error(fmt::format("cannot be {}", value), attribute);
    return static_cast<std::size_t>(value);
}

void writeCount(const Handle& group, const char* attribute, std::size_t value) {
    hdf5::writeInteger(group, attribute, static_cast<std::int64_t>(value));
}

void writeRules(const Handle& group, const TaskRules& rules) {
    writeCount(group, "shots", rules.shots.count);
    hdf5::writeText(group, "shot_choice", shotNames.at(static_cast<std::size_t>(rules.shots.choice)));
    hdf5::writeInteger(group, "shot_seed", static_cast<std::int64_t>(rules.shots.seed));
    writeCount(group, "limit", rules.limit);
    hdf5::writeInteger(group, "seed", static_cast<std::int64_t>(rules.seed));
    hdf5::writeText(group, "bos", bosNames.at(static_cast<std::size_t>(rules.tokens.bos)));
    writeCount(group, "most_inputs", rules.tokens.mostInputs);
    hdf5::writeInteger(group, "batch_tokens", rules.batchTokens);
}

TaskRules readRules(const Handle& group) {
    TaskRules rules;
    rules.shots.count = readSize(group, "shots");
    rules.shots.choice = fromName<ShotChoice>(shotNames, group, "shot_choice");
    rules.shots.seed = static_cast<std::uint64_t>(hdf5::readInteger(group, "shot_seed"));
    rules.limit = readSize(group, "limit");
    rules.seed = static_cast<std::uint64_t>(hdf5::readInteger(group, "seed"));
    rules.tokens.bos = fromName<BosRule>(bosNames, group, "bos");
    rules.tokens.mostInputs = readSize(group, "most_inputs");
    rules.batchTokens = hdf5::readInteger(group, "batch_tokens");
    return rules;
}

/// Writes one value per answer.
template <typename Answer, typename Get>
void writeEach(const Handle& group, const char* name, const std::vector<Answer>& answers, Get get) {
    std::vector<std::int64_t> values;
    for (const Answer& answer : answers)
        values.push_back(static_cast<std::int64_t>(answer.*get));
    hdf5::writeIntegerList(group, name, values);
}

template <typename Answer>
void writeTexts(const Handle& group, const char* name, const std::vector<Answer>& answers, std::string Answer::* get) {
    std::vector<std::string> texts;
    for (const Answer& answer : answers)
        texts.push_back(answer.*get);
    hdf5::writeTextList(group, name, texts);
}

void writeQuestions(const Handle& group, const std::vector<AnsweredQuestion>& questions) {
    std::vector<std::int64_t> options;
    std::vector<double> scores;
    std::vector<std::int64_t> greedy;
    for (const AnsweredQuestion& question : questions) {
        options.push_back(std::ssize(question.scores));
        for (const OptionScore& score : question.scores) {
            scores.push_back(score.logProbability);
            greedy.push_back(score.isGreedy ? 1 : 0);
        }
    }
    writeEach(group, "line", questions, &AnsweredQuestion::line);
    writeTexts(group, "subject", questions, &AnsweredQuestion::subject);
    writeEach(group, "gold", questions, &AnsweredQuestion::gold);
    writeEach(group, "answer", questions, &AnsweredQuestion::byTotal);
    writeEach(group, "answer_norm", questions, &AnsweredQuestion::byCodePoints);
    writeEach(group, "answer_bytes", questions, &AnsweredQuestion::byBytes);
    hdf5::writeIntegerList(group, "options", options);
    const Handle dataset = hdf5::writeNumberList(group, "option_nats", scores);
    hdf5::writeText(dataset, "meaning", "log probability of each option, those of a question behind each other");
    hdf5::writeIntegerList(group, "option_is_greedy", greedy);
}

void writeWritten(const Handle& group, const std::vector<WrittenAnswer>& written) {
    std::vector<double> f1;
    for (const WrittenAnswer& answer : written)
        f1.push_back(answer.f1);
    writeEach(group, "line", written, &WrittenAnswer::line);
    writeTexts(group, "text", written, &WrittenAnswer::text);
    writeTexts(group, "compared", written, &WrittenAnswer::compared);
    writeEach(group, "exact", written, &WrittenAnswer::isExact);
    hdf5::writeNumberList(group, "f1", f1);
}

template <typename Values>
Values sized(Values values, const char* name, std::size_t count) {
    if (values.size() != count)
        throw Error(fmt::format("should hold {} values and holds {}", count, values.size()), name);
    return values;
}

/// Reads integers of at least 0, one per answer.
std::vector<std::size_t> readEach(const Handle& group, const char* name, std::size_t count) {
    std::vector<std::size_t> values;
    for (const std::int64_t value : sized(hdf5::readIntegerList(group, name), name, count)) {
        if (value < 0 || value > mostCount)
            throw Error(fmt::format("cannot be {}", value), name);
        values.push_back(static_cast<std::size_t>(value));
    }
    return values;
}

/// Reads the number of scores of each question. @throws Error if their sum is not the number of stored scores
std::vector<std::size_t> readOptions(const Handle& group, std::size_t questions, std::size_t scores) {
    std::vector<std::size_t> options = readEach(group, "options", questions);
    std::size_t left = scores;
    for (const std::size_t count : options) {
        if (count == 0 || count > left)
            throw Error(fmt::format("do not add up to the {} stored scores", scores), "options");
        left -= count;
    }
    if (left > 0)
        throw Error(fmt::format("do not add up to the {} stored scores", scores), "options");
    return options;
}

void checkAnswers(const AnsweredQuestion& question, TaskKind kind) {
    const std::size_t options = question.scores.size();
    const bool isOne = kind == TaskKind::lastWord;
    for (const std::size_t place : {question.gold, question.byTotal, question.byCodePoints, question.byBytes})
        if (!isOne && place >= options)
            throw Error(fmt::format("names option {} of {}", place, options), fmt::format("line {}", question.line));
    for (const OptionScore& score : question.scores)
        if (!std::isfinite(score.logProbability))
            throw Error(fmt::format("cannot be {}", score.logProbability), "option_nats");
}

std::vector<AnsweredQuestion> readQuestions(const Handle& group, TaskKind kind) {
    const std::size_t count = hdf5::readIntegerList(group, "line").size();
    const auto line = readEach(group, "line", count);
    const auto subject = sized(hdf5::readTextList(group, "subject"), "subject", count);
    const auto gold = readEach(group, "gold", count);
    const auto total = readEach(group, "answer", count);
    const auto norm = readEach(group, "answer_norm", count);
    const auto bytes = readEach(group, "answer_bytes", count);
    const std::vector<double> scores = hdf5::readNumberList(group, "option_nats");
    const auto greedy = readEach(group, "option_is_greedy", scores.size());
    const auto options = readOptions(group, count, scores.size());
    std::vector<AnsweredQuestion> questions;
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
        AnsweredQuestion question{line[i], subject[i], gold[i], {}, total[i], norm[i], bytes[i]};
        for (const std::size_t end = next + options[i]; next < end; ++next)
            question.scores.push_back({scores[next], greedy[next] != 0});
        checkAnswers(question, kind);
        questions.push_back(std::move(question));
    }
    return questions;
}

std::vector<WrittenAnswer> readWritten(const Handle& group) {
    const std::size_t count = hdf5::readIntegerList(group, "line").size();
    const auto line = readEach(group, "line", count);
    const auto text = sized(hdf5::readTextList(group, "text"), "text", count);
    const auto compared = sized(hdf5::readTextList(group, "compared"), "compared", count);
    const auto exact = readEach(group, "exact", count);
    const auto f1 = sized(hdf5::readNumberList(group, "f1"), "f1", count);
    std::vector<WrittenAnswer> written;
    for (std::size_t i = 0; i < count; ++i) {
        if (!(f1[i] >= 0 && f1[i] <= 1))
            throw Error(fmt::format("cannot be {}", f1[i]), "f1");
        written.push_back({line[i], text[i], compared[i], exact[i] != 0, f1[i]});
    }
    return written;
}

void writeMetrics(const Handle& group, const TaskScores& scores) {
    std::vector<std::string> ids;
    std::vector<double> values;
    std::vector<double> errors;
    for (const TaskMetric& metric : scores.metrics) {
        ids.push_back(metric.id);
        values.push_back(metric.value);
        errors.push_back(metric.standardError);
    }
    hdf5::writeTexts(group, "metrics", ids);
    hdf5::writeNumbers(group, "values", values);
    hdf5::writeNumbers(group, "standard_errors", errors);
}

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
    if (pass.bySublayer->attentionRuns.empty())
        return;
    const Handle attentionRuns =
        hdf5::writeNumberList(group, prefix + "_attention_runs", pass.bySublayer->attentionRuns);
    hdf5::writeText(attentionRuns, "meaning", "seconds of each pass in the attention of all layers");
    const Handle mlpRuns = hdf5::writeNumberList(group, prefix + "_mlp_runs", pass.bySublayer->mlpRuns);
    hdf5::writeText(mlpRuns, "meaning", "seconds of each pass in the MLPs of all layers");
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
    if (hdf5::exists(group, prefix + "_attention_runs")) {
        seconds.attentionRuns = readSeconds(group, prefix + "_attention_runs", true);
        seconds.mlpRuns = readSeconds(group, prefix + "_mlp_runs", true);
        if (seconds.mlpRuns.size() != seconds.attentionRuns.size())
            throw Error(
                fmt::format("should hold {} values and holds {}", seconds.attentionRuns.size(), seconds.mlpRuns.size()),
                prefix + "_mlp_runs");
    }
    if (!std::isfinite(seconds.rest)) // it may be negative, if the passes that were timed by sublayer took longer
        throw Error(fmt::format("cannot be {}", seconds.rest), prefix + "_rest_seconds");
    pass.bySublayer = std::move(seconds);
    return pass;
}

TextEnd endOfPrompt(const std::string& text) {
    for (const TextEnd end : {TextEnd::complete, TextEnd::stopToken, TextEnd::contextFull})
        if (name(end) == text)
            return end;
    throw Error(fmt::format("holds the unknown value \"{}\"", text), "end", "Open it with a newer Secateur");
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

void writeTaskRun(const Handle& group, const TaskEvaluation& task) {
    hdf5::writeText(group, "name", task.name);
    hdf5::writeText(group, "source", task.source);
    hdf5::writeText(group, "digest", task.digest);
    hdf5::writeText(group, "format", task.formatId);
    writeCount(group, "questions", task.questions);
    hdf5::writeText(group, "examples", task.run.shots);
    hdf5::writeTexts(group, "class_names", task.classNames);
    writeRules(group, task.rules);
    writeMetrics(group, task.run.scores);
    if (task.run.kind == TaskKind::generation)
        writeWritten(group, task.run.written);
    else
        writeQuestions(group, task.run.questions);
}

TaskEvaluation readTaskRun(const Handle& group) {
    TaskEvaluation task;
    task.name = hdf5::readText(group, "name");
    task.source = hdf5::readText(group, "source");
    task.digest = hdf5::readText(group, "digest");
    const TaskFormat& format = taskFormat(hdf5::readText(group, "format"));
    task.formatId = format.id;
    task.questions = readSize(group, "questions");
    task.run.shots = hdf5::readText(group, "examples");
    task.classNames = hdf5::readTexts(group, "class_names");
    task.rules = readRules(group);
    task.run.kind = format.kind;
    if (format.kind == TaskKind::generation) {
        task.run.written = readWritten(group);
        task.run.scores = writtenScores(task.run.written);
    } else {
        task.run.questions = readQuestions(group, format.kind);
        task.run.scores = taskScores(format.kind, task.run.questions);
    }
    return task;
}

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
