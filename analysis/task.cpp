#include "analysis/task.h"

#include "analysis/text.h"
#include "analysis/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

constexpr std::array<TaskFormat, 11> formats{{
    {"boolq", "Yes or no behind a passage and a question", TaskKind::choice, "acc"},
    {"rte", "Whether one sentence follows from another: true or false", TaskKind::choice, "acc"},
    {"hellaswag", "The ending of a scene, of four", TaskKind::choice, "acc_norm"},
    {"winogrande", "Whom a sentence is about: its end scored behind either name", TaskKind::choice, "acc"},
    {"arc", "Science questions of a school, three to five answers", TaskKind::choice, "acc_norm"},
    {"openbookqa", "Elementary facts: the end of a sentence, of four", TaskKind::choice, "acc_norm"},
    {"piqa", "How to do something, of two ways", TaskKind::choice, "acc_norm"},
    {"mmlu", "Questions of an examination by subject, answered by a letter", TaskKind::choice, "acc"},
    {"generic", "Any query with choices, or contexts with one continuation", TaskKind::choice, "acc"},
    {"lambada", "The last word of a passage", TaskKind::lastWord, "acc"},
    {"classification", "Texts or pairs of texts with a label, for a classifier", TaskKind::classification, "acc"},
}};

} // namespace

std::span<const TaskFormat> taskFormats() {
    return formats;
}

const TaskFormat& taskFormat(std::string_view id) {
    const auto found = std::ranges::find(formats, id, &TaskFormat::id);
    if (found != formats.end())
        return *found;
    std::vector<std::string> known;
    for (const TaskFormat& format : formats)
        known.emplace_back(format.id);
    throw UsageError(fmt::format("is no task format; known are {}", join(known, ", ")), std::string(id));
}

} // namespace secateur
