// Scoring the options of a task together with shared prefixes, compared with scoring them one by one: seconds, tokens
// that run, and the largest difference of a log probability.
//
// benchmark_tasks MODEL TASK... [--questions 10] [--shots N --shots-from FILE] [--type float32|bfloat16] [--repeat 3]
//
// "One by one" means one pass for each option, with logits for the scored tokens only, on the same engine. lm-eval with
// a batch size of one does the same. Both ways alternate, and the fastest of several runs counts.

#include "analysis/tasks/option_scores.h"
#include "analysis/running/runner.h"
#include "analysis/tasks/task.h"
#include "backends/engine/open_model.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/base/runtime.h"
#include "backends/text/task_file.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <vector>

using namespace secateur;

namespace {

using Questions = std::vector<std::vector<OptionTokens>>;
using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

struct Arguments {
    std::string model;
    std::vector<std::string> tasks;
    std::map<std::string, std::string> named;

    Arguments(int count, char** values) {
        for (int i = 1; i < count; ++i) {
            const std::string value = values[i];
            if (value.starts_with("--") && i + 1 < count)
                named[value] = values[++i];
            else if (model.empty())
                model = value;
            else
                tasks.push_back(value);
        }
    }
    std::size_t number(const std::string& name, std::size_t otherwise) const {
        const auto found = named.find(name);
        return found == named.end() ? otherwise : std::stoull(found->second);
    }
};

Questions questionsOf(const std::string& path, const Arguments& arguments, const Tokenizer& tokenizer,
                      std::size_t context) {
    const std::vector<TaskQuestion> all = readTask(path).questions;
    const std::size_t shots = arguments.number("--shots", 0);
    const auto examples = shots > 0 ? readTask(arguments.named.at("--shots-from")).questions : all;
    const std::size_t count = std::min(arguments.number("--questions", 10), all.size());
    Questions questions;
    for (const TaskQuestion& question : withShots(std::span(all).first(count), examples, {.count = shots}))
        questions.push_back(optionTokens(question, tokenizer, {.mostInputs = context}));
    return questions;
}

double alone(const Model& model, const Plan& plan, const OptionTokens& option) {
    const std::vector<int> inputs(option.ids.begin(), option.ids.end() - 1);
    const Batch batch{1, static_cast<int>(inputs.size()), inputs, {}, {}, {}};
    std::vector<int> targets(option.ids.begin() + 1, option.ids.end());
    std::fill_n(targets.begin(), option.firstScored - 1, -1);
    at::Tensor x = model.runner().embed(plan, batch);
    for (int layer = 0; layer < plan.mask().layerCount(); ++layer)
        x = model.runner().runLayer(plan, layer, x, batch);
    const TokenLosses losses = model.runner().losses(plan, x, batch, targets);
    double sum = 0;
    for (std::size_t i = option.firstScored - 1; i < targets.size(); ++i)
        sum -= losses.nats[i];
    return sum;
}

void compare(const Model& model, const Plan& plan, const std::string& path, const Questions& questions,
             std::size_t repeats) {
    double fast = 1e9;
    double slow = 1e9;
    double apart = 0;
    for (std::size_t i = 0; i < repeats; ++i) {
        auto begin = SteadyClock::now();
        const auto together = scoreOptions(model, plan, questions);
        fast = std::min(fast, since(begin));
        begin = SteadyClock::now();
        for (std::size_t q = 0; q < questions.size(); ++q)
            for (std::size_t o = 0; o < questions[q].size(); ++o)
                apart = std::max(apart, std::abs(together[q][o].logProbability - alone(model, plan, questions[q][o])));
        slow = std::min(slow, since(begin));
    }
    const OptionTree tree = optionTree(questions, neighbourOrder(questions), 4096);
    std::int64_t padded = 0;
    for (std::size_t i = 0; i < tree.batches.size(); ++i)
        padded += tree.batch(i).tokens();
    fmt::print(
        "{}: {} questions, {} tokens one by one, {} shared ({} with padding, {} batches): {:.2f} s and {:.2f} s, "
        "{:.2f}x faster; {:.0f} and {:.0f} tokens/s; at most {:.1e} apart\n",
        path.substr(path.rfind('/') + 1), questions.size(), inputTokens(questions), tree.tokens(), padded,
        tree.batches.size(), slow, fast, slow / fast, static_cast<double>(inputTokens(questions)) / slow,
        static_cast<double>(tree.tokens()) / fast, apart);
}

} // namespace

int main(int count, char** values) {
    initialiseRuntime(0);
    const Arguments arguments(count, values);
    const auto model = openModel(arguments.model);
    const auto tokenizer = openTokenizer(model->card());
    const auto type =
        arguments.named.contains("--type") ? computeTypeOf(arguments.named.at("--type")) : ComputeType::float32;
    const auto plan = model->runner().plan(PruningMask(model->spec()), type);
    for (const std::string& task : arguments.tasks)
        compare(*model, *plan, task,
                questionsOf(task, arguments, *tokenizer, static_cast<std::size_t>(model->spec().context)),
                arguments.number("--repeat", 3));
}
