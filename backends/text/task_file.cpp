#include "backends/text/task_file.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "backends/base/mapped_file.h"
#include "backends/text/task_rows.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

namespace secateur {

namespace fs = std::filesystem;

namespace {

struct Line {
    std::size_t number = 0; ///< from 1
    std::string text;
};

/// Lines that are not blank.
std::vector<Line> linesOf(const std::string& path) {
    const auto file = MappedFile::open(path);
    const std::string content(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    file->checkWhole();
    std::vector<Line> lines;
    std::size_t number = 0;
    for (std::string& line : split(content, '\n')) {
        ++number;
        if (!trimmed(line).empty())
            lines.push_back({number, std::move(line)});
    }
    if (lines.empty())
        throw Error("holds no rows", path);
    return lines;
}

std::vector<std::string> labelsOf(const std::string& path, std::size_t rows) {
    std::vector<std::string> labels;
    for (const Line& line : linesOf(path)) {
        labels.emplace_back(trimmed(line.text));
        if (labels.back() != "0" && labels.back() != "1")
            throw Error(fmt::format("expected 0 or 1, found \"{}\"", labels.back().substr(0, 40)),
                        fmt::format("{}: line {}", path, line.number));
    }
    if (labels.size() != rows)
        throw Error(fmt::format("holds {} labels for {} rows", labels.size(), rows), path);
    return labels;
}

/// Of rows that hold none themselves.
std::vector<std::string> separateLabels(const std::string& path, const TaskFileOptions& options,
                                        const JsonObject& first, std::size_t rows) {
    if (!options.labels.empty())
        return labelsOf(options.labels, rows);
    if (first.has("label"))
        return {};
    const fs::path beside = fs::path(path).replace_extension().concat("-labels.lst");
    if (!fs::exists(beside))
        throw Error("has no labels, in its rows or in " + beside.filename().string() + " beside it", path,
                    "Name the file that holds them by --labels");
    return labelsOf(beside.string(), rows);
}

class TaskReader {
public:
    TaskReader(std::string path, const TaskFileOptions& options)
        : m_path(std::move(path))
        , m_options(options)
        , m_lines(linesOf(m_path)) {}

    Task read(const Progress& progress) {
        const JsonObject first = row(m_lines.front());
        m_task.name = fs::path(m_path).stem().string();
        m_task.formatId = formatOf(first);
        if (m_task.formatId == "piqa")
            m_labels = separateLabels(m_path, m_options, first, m_lines.size());
        else if (!m_options.labels.empty())
            throw UsageError("goes with rows of format piqa alone", "labels");
        for (std::size_t i = 0; i < m_lines.size(); ++i) {
            progress.report(static_cast<double>(i) / static_cast<double>(m_lines.size()), "reading the task");
            add(i);
        }
        return std::move(m_task);
    }

private:
    JsonObject row(const Line& line) const {
        return JsonObject::parse(line.text, fmt::format("{}: line {}", m_path, line.number));
    }

    std::string_view formatOf(const JsonObject& first) const {
        if (!m_options.format.empty())
            return taskFormat(m_options.format).id;
        if (const auto detected = detectedFormat(first))
            return *detected;
        throw Error("has fields that speak for no known task format", first.subject(), "Name the format by --format");
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
    std::vector<Line> m_lines;
    std::vector<std::string> m_labels;
    Task m_task;
};

} // namespace

Task readTask(const std::string& path, const TaskFileOptions& options, const Progress& progress) {
    try {
        return TaskReader(path, options).read(progress);
    } catch (const fs::filesystem_error& error) {
        throw Error(error.code().message(), path);
    }
}

} // namespace secateur
