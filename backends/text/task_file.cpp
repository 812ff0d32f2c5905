#include "backends/text/task_file.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "backends/formats/hf_config.h"
#include "backends/text/sequence_text.h"
#include "backends/text/text_source.h"
#include "backends/tokenizers/regex.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

namespace secateur {

namespace fs = std::filesystem;

namespace {

/// The lines of a file that are not blank. @throws Error if there are none
std::vector<TextLine> rowsOfTask(const std::string& path) {
    std::vector<TextLine> lines = nonBlankLines(readTextFile(path));
    if (lines.empty())
        throw Error("holds no rows", path);
    return lines;
}

std::vector<std::string> labelsOf(const std::string& path, std::size_t rows) {
    std::vector<std::string> labels;
    for (const TextLine& line : rowsOfTask(path)) {
        labels.emplace_back(trimmed(line.text));
        if (labels.back() != "0" && labels.back() != "1")
            throw Error(fmt::format("expected 0 or 1, found \"{}\"", labels.back().substr(0, 40)),
                        fmt::format("{}: line {}", path, line.number));
    }
    if (labels.size() != rows)
        throw Error(fmt::format("holds {} labels for {} rows", labels.size(), rows), path);
    return labels;
}

/// Reads labels from a separate file, for rows without labels.
std::vector<std::string> separateLabels(const std::string& path, const TaskFileOptions& options,
                                        const JsonObject& first, std::size_t rows) {
    if (!options.labels.empty())
        return labelsOf(options.labels, rows);
    if (first.has("label"))
        return {};
    const fs::path beside = fs::path(path).replace_extension().concat("-labels.lst");
    if (!fs::exists(beside))
        throw Error("has no labels, neither in its rows nor in " + beside.filename().string() + " in its folder", path,
                    "Name the file of the labels by --labels");
    return labelsOf(beside.string(), rows);
}

class TaskReader {
public:
    TaskReader(std::string path, const TaskFileOptions& options)
        : m_path(std::move(path))
        , m_options(options)
        , m_lines(rowsOfTask(m_path)) {}

    Task read(const Progress& progress) {
        const JsonObject first = row(m_lines.front());
        m_task.name = fs::path(m_path).stem().string();
        m_task.formatId = formatOf(first);
        if (m_task.formatId == "piqa")
            m_labels = separateLabels(m_path, m_options, first, m_lines.size());
        else if (!m_options.labels.empty())
            throw UsageError("is for format piqa only", "labels");
        for (std::size_t i = 0; i < m_lines.size(); ++i) {
            progress.report(static_cast<double>(i) / static_cast<double>(m_lines.size()), "reading the task");
            add(i);
        }
        return std::move(m_task);
    }

private:
    JsonObject row(const TextLine& line) const {
        return JsonObject::parse(line.text, fmt::format("{}: line {}", m_path, line.number));
    }

    std::string_view formatOf(const JsonObject& first) const {
        if (!m_options.format.empty())
            return taskFormat(m_options.format).id;
        if (const auto detected = detectedFormat(first))
            return *detected;
        throw Error("has the fields of no known task format", first.subject(), "Name the format by --format");
    }

    void add(std::size_t index) {
        const JsonObject own = row(m_lines[index]);
        const TaskKind kind = taskFormat(m_task.formatId).kind;
        if (kind == TaskKind::classification) {
            m_task.texts.push_back(labelledText(own));
            m_task.texts.back().line = m_lines[index].number;
            return;
        }
        if (kind == TaskKind::generation) {
            m_task.prompts.push_back(answerPrompt(own));
            m_task.prompts.back().line = m_lines[index].number;
            return;
        }
        const auto label = m_labels.empty() ? std::nullopt : std::optional(m_labels[index]);
        m_task.questions.push_back(taskQuestion(m_task.formatId, own, label));
        m_task.questions.back().line = m_lines[index].number;
    }

    std::string m_path;
    const TaskFileOptions& m_options;
    std::vector<TextLine> m_lines;
    std::vector<std::string> m_labels;
    Task m_task;
};

constexpr std::string_view punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::array<std::string_view, 3> articles{"a", "an", "the"};

std::string lowerCase(std::string_view text) {
    std::string lower;
    icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())})
        .toLower(icu::Locale::getRoot())
        .toUTF8String(lower);
    return lower;
}

std::vector<std::string_view> wordsOf(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t space = at < text.size() ? whiteSpaceAt(text, at) : 1;
        if (space > 0 && at > begin)
            words.push_back(text.substr(begin, at - begin));
        at += space > 0 ? space : 1;
        begin = space > 0 ? at : begin;
    }
    return words;
}

std::string joined(const std::vector<std::string_view>& words) {
    return fmt::format("{}", fmt::join(words, " "));
}

using Expressions = std::map<std::string, std::shared_ptr<const Regex>>;

AnswerVerdict verdict(const AnswerPrompt& prompt, std::string_view written, const Expressions& expressions) {
    const bool isExtracted = !prompt.extract.empty();
    const auto found = isExtracted ? expressions.at(prompt.extract)->last(written) : std::optional(written);
    if (!found)
        return {};
    const auto normalised = isExtracted ? normalisedNumber : normalisedAnswer;
    AnswerVerdict result{normalised(*found), false, 0};
    for (const std::string& answer : prompt.answers) {
        const std::string right = normalised(answer);
        result.isExact = result.isExact || right == result.compared;
        result.f1 = std::max(result.f1, wordF1(result.compared, right));
    }
    return result;
}

void checkShots(const AskedTask& asked) {
    const TaskFormat& format = taskFormat(asked.task.formatId);
    const bool hasOptions = format.kind == TaskKind::choice || format.kind == TaskKind::lastWord;
    if (asked.rules.shots.count > 0 && !hasOptions)
        throw UsageError(fmt::format("has format {}, which takes no examples", format.id), asked.path);
}

std::vector<TaskQuestion> examplesOf(const TaskRequest& request, const Task& task, const Progress& progress) {
    if (request.shots == 0)
        return {};
    if (request.shotsFrom.empty())
        return task.questions;
    return readTask(request.shotsFrom, {.format = std::string(task.formatId)}, progress).questions;
}

} // namespace

Task readTask(const std::string& path, const TaskFileOptions& options, const Progress& progress) {
    try {
        return TaskReader(path, options).read(progress);
    } catch (const fs::filesystem_error& error) {
        throw Error(error.code().message(), path);
    }
}

std::string normalisedAnswer(std::string_view text) {
    std::string lower = lowerCase(text);
    std::erase_if(lower, [](char c) { return punctuation.find(c) != std::string_view::npos; });
    std::vector<std::string_view> words = wordsOf(lower);
    std::erase_if(words, [](std::string_view word) { return std::ranges::find(articles, word) != articles.end(); });
    return joined(words);
}

std::string normalisedNumber(std::string_view text) {
    std::string lower = lowerCase(text);
    std::erase_if(lower, [](char c) { return c == ',' || c == '$'; });
    std::string words = joined(wordsOf(lower));
    if (words.ends_with('.'))
        words.pop_back();
    return words;
}

double wordF1(std::string_view found, std::string_view right) {
    std::vector<std::string_view> first = wordsOf(found);
    std::vector<std::string_view> second = wordsOf(right);
    if (first.empty() || second.empty())
        return first.empty() && second.empty() ? 1 : 0;
    std::ranges::sort(first);
    std::ranges::sort(second);
    std::vector<std::string_view> common;
    std::ranges::set_intersection(first, second, std::back_inserter(common));
    return 2 * static_cast<double>(common.size()) / static_cast<double>(first.size() + second.size());
}

AnswerJudge answerJudge(const Task& task, const std::string& path) {
    Expressions expressions;
    for (const AnswerPrompt& prompt : task.prompts)
        if (!prompt.extract.empty() && !expressions.contains(prompt.extract))
            expressions.emplace(
                prompt.extract,
                std::make_shared<Regex>(prompt.extract, fmt::format("{}: line {}: extract", path, prompt.line)));
    return [expressions = std::move(expressions)](const AnswerPrompt& prompt, std::string_view written) {
        return verdict(prompt, written, expressions);
    };
}

AskedTask readAskedTask(const TaskRequest& request, const Progress& progress) {
    AskedTask asked;
    asked.path = request.path;
    asked.task = readTask(request.path, {.format = request.format, .labels = request.labels}, progress);
    asked.rules.shots = {request.shots, request.drawsShots ? ShotChoice::drawn : ShotChoice::first, request.seed};
    asked.rules.limit = request.limit;
    asked.rules.seed = request.seed;
    asked.rules.tokens.bos = request.bos;
    asked.rules.batchTokens = request.batchTokens;
    checkShots(asked);
    asked.examples = examplesOf(request, asked.task, progress);
    asked.judge = answerJudge(asked.task, request.path);
    asked.digest = dataDigest(asked.task, asked.examples);
    return asked;
}

void nameClasses(AskedTask& asked, const ModelCard& model) {
    if (taskFormat(asked.task.formatId).kind == TaskKind::classification)
        asked.classNames = classNames(model);
}

} // namespace secateur
