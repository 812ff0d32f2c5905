#include "analysis/tasks/task.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

constexpr std::array<TaskFormat, 12> formats{{
    {"boolq", "Yes or no behind a passage and a question", TaskKind::choice, "acc", "passage, question, label"},
    {"rte", "Whether one sentence follows from another: true or false", TaskKind::choice, "acc",
     "sentence1, sentence2, label; or premise, hypothesis, label"},
    {"hellaswag", "The ending of a scene, of four", TaskKind::choice, "acc_norm",
     "activity_label, ctx_a, ctx_b, endings, label"},
    {"winogrande", "Whom a sentence is about: its end scored behind either name", TaskKind::choice, "acc",
     "sentence, option1, option2, answer"},
    {"arc", "Science questions of a school, three to five answers", TaskKind::choice, "acc_norm",
     "question, choices, answerKey"},
    {"openbookqa", "Elementary facts: the end of a sentence, of four", TaskKind::choice, "acc_norm",
     "question_stem, choices, answerKey; nested like ARC's original form, known by ids such as 7-980"},
    {"piqa", "How to do something, of two ways", TaskKind::choice, "acc_norm", "goal, sol1, sol2, label"},
    {"mmlu", "Questions of an examination by subject, answered by a letter", TaskKind::choice, "acc",
     "question, subject, choices, answer"},
    {"generic", "Any query with choices, or contexts with one continuation", TaskKind::choice, "acc",
     "query, choices, gold; or context_options, continuation, gold"},
    {"lambada", "The last word of a passage", TaskKind::lastWord, "acc", "context, continuation"},
    {"generate", "Answers that the model writes out, held against right ones", TaskKind::generation, "exact_match",
     "prompt, answers; where wanted stop (texts), max_tokens (256), extract (a regular expression, of whose last match "
     "the first group counts)"},
    {"classification", "Texts or pairs of texts with a label, for a classifier", TaskKind::classification, "acc",
     "text or sentence, label; pairs with text_pair, or premise, hypothesis, label"},
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
