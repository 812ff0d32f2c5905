#include "app/cli/measure_text.h"

#include "analysis/metrics/ablation.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/runner.h"
#include "app/cli/ranks.h"
#include "app/cli/run_forecast.h"
#include "app/reference/offered_values.h"
#include "backends/text/measure_on_text.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace secateur::cli {

CLI::Option* addSequenceOptions(CLI::App& verb, MeasureOptions& options) {
    SequenceRequest& text = options.text;
    CLI::Option* file =
        verb.add_option("--text", text.path, "Text, .jsonl, or folder of texts to run the model on [the built-in text]")
            ->option_text("FILE|DIR");
    verb.add_option("--field", text.field, "Field of the rows of a .jsonl that holds the text")
        ->option_text("NAME")
        ->needs(file);
    verb.add_option_function<std::string>(
            "--split", [&text](const std::string& name) { text.rules.split = textSplitOf(name); },
            "Split the text into documents: document (at two or more blank lines), line, stream (the whole text), or "
            "windows (the whole text without a shorter last sequence) [document]")
        ->option_text("ID")
        ->check(offers({"document", "line", "stream", "windows"}));
    verb.add_option("--seq-len", text.rules.length,
                    "Maximum tokens of a sequence; longer documents give several [512; encoders 128]")
        ->check(CLI::Range(std::int64_t{3}, std::int64_t{1} << 24));
    verb.add_option("--max-tokens", text.rules.mostTokens, "Maximum number of tokens in all sequences together")
        ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40))
        ->capture_default_str();
    verb.add_option_function<std::string>(
            "--bos", [&text](const std::string& name) { text.rules.bos = bosRuleOf(name); },
            "Which sequences begin with BOS: tokenizer_default, always, never, first_only [tokenizer_default]")
        ->option_text("MODE")
        ->check(offers({"tokenizer_default", "always", "never", "first_only"}));
    verb.add_option("--batch-tokens", options.batchTokens, "Maximum tokens to run at once, but at least one sequence")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
        ->capture_default_str();
    return file;
}

void addMeasureOptions(CLI::App& verb, MeasureOptions& options) {
    CLI::Option* file = addSequenceOptions(verb, options);
    SequenceRequest& text = options.text;
    CLI::Option* task = verb.add_option("--task", text.task, "Task (see: list tasks) whose prompts to run the model on")
                            ->option_text("FILE")
                            ->excludes(file);
    verb.add_option("--format", text.taskOptions.format,
                    "Format of the task, an id of `list tasks` [found by the fields of the first row]")
        ->option_text("ID")
        ->check(offersIds("tasks"))
        ->needs(task);
    verb.add_option("--labels", text.taskOptions.labels,
                    "Label file of a PIQA task, one label per line [FILE-labels.lst]")
        ->option_text("FILE")
        ->needs(task);
}

namespace {

std::vector<MetricRequest> thoseThatNeed(Needs needs, const std::vector<MetricRequest>& requests) {
    std::vector<MetricRequest> some;
    std::ranges::copy_if(requests, std::back_inserter(some),
                         [&](const MetricRequest& request) { return request.info->needs == needs; });
    return some;
}

/// Adds the expected duration of running the model for these metrics to a forecast.
void addCosts(RunForecast& forecast, const Model& model, const MeasureInput& input,
              const std::vector<MetricRequest>& requests) {
    const SequenceText& text = input.text;
    const auto ofGradient = thoseThatNeed(Needs::gradient, requests);
    const auto ofAblation = thoseThatNeed(Needs::ablation, requests);
    double passes = thoseThatNeed(Needs::forward, requests).empty() ? 0 : measuringFactor;
    if (!ofGradient.empty()) {
        const GradientRun run{*input.plan, text.set.sequences, text.labels, input.batchTokens};
        passes += upFactor + backwardFactor * backwardPasses(model, run, ofGradient);
    }
    if (passes > 0)
        forecast.add(sizeOf(text.set), passes);
    const AblationRun run{*input.plan, text.set.sequences, text.labels, input.batchTokens};
    forecast.add(predictedSizeOf(text.set, model.spec()), ablationPasses(model, run, ofAblation));
}

} // namespace

bool runsModel(const MetricRequest& request) {
    return request.info->needs != Needs::weights;
}

std::vector<MetricResult> measureAll(ReadyModel& ready, const MeasureOptions& options,
                                     const std::vector<MetricRequest>& requests, const Console& console,
                                     const Progress& progress) {
    std::vector<MetricRequest> ordered = requests;
    std::ranges::stable_partition(ordered, std::not_fn(runsModel));
    const Model& model = *ready.model;
    const auto readInput = [&](const Progress& rest) {
        if (!ready.plan)
            ready.plan = model.runner().plan(PruningMask(model.spec()));
        MeasureInput input{ready.plan, readSequenceText(model, options.text, rest.part(0, 0)), {}, options.batchTokens};
        ready.warnings.insert(ready.warnings.end(), input.text.warnings.begin(), input.text.warnings.end());
        input.measurement = measurementOf(model, *ready.plan, input.text.digest);
        RunForecast forecast(model, {ready.plan}, console, rest.part(0, 0));
        addCosts(forecast, model, input, ordered);
        forecast.say();
        input.cluster = cluster();
        input.progress = withTimeLeft(rest, console);
        return input;
    };
    return measure(model, ordered, readInput, progress);
}

} // namespace secateur::cli
