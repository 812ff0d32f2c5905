#include "analysis/masks/price.h"
#include "analysis/prediction/prediction.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_kept.h"
#include "app/cli/measure_text.h"
#include "app/cli/run_forecast.h"
#include "app/cli/search_logs.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/engine/memory_check.h"
#include "backends/export/export_targets.h"
#include "backends/json/mask_result_json.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"
#include "backends/text/measure_on_text.h"

#include <fmt/core.h>

#include <limits>
#include <optional>

namespace secateur::cli {

namespace {

struct PruneArguments {
    std::string path;
    std::string strategy;
    std::string budget;
    std::string protect = "none";
    std::string base;
    std::string out;
    std::string session; ///< session file with the data for a prediction; empty = no prediction
    std::uint64_t seed = 0;
    bool force = false;
    RunOptions run;
    MeasureOptions text;

    ComputeType type() const { return computeTypeOf(run.dtype); }
};

/// Reads the text on which a strategy measures during its steps, and prints the expected duration.
SequenceText textFor(const Model& model, const PruneRequest& request, const PruneArguments& arguments,
                     const Console& console, const Progress& progress) {
    const double passes = calibrationPasses(model.spec(), request);
    SequenceText text = readSequenceText(model, arguments.text.text, progress);
    const auto plan = model.runner().plan(request.base.value_or(PruningMask(model.spec())), arguments.type());
    RunForecast forecast(model, {plan}, console, progress);
    forecast.add(sizeOf(text.set), passes);
    forecast.say();
    return text;
}

/// Runs the strategy. Measures metrics or reads a text only if the strategy needs them.
PruneResult pruned(const std::shared_ptr<const Model>& model, const PruneRequest& request,
                   const PruneArguments& arguments, const Console& console, SearchLogs& logs,
                   const Progress& progress) {
    std::vector<std::string> warnings;
    PruneInputs inputs;
    inputs.fileBytes = fileBytesOf(*model, request.strategy);
    const MeasureOptions& options = arguments.text;
    const auto toRun = [&](const SequenceText& text) {
        CalibrationText calibration = calibrationText(text, options.batchTokens);
        calibration.type = arguments.type();
        return calibration;
    };
    inputs.measure = [&](const MetricRequest& metric, const Progress& part) {
        ReadyModel ready{model, nullptr, {}, {}};
        if (runsModel(metric))
            ready.plan = model->runner().plan(PruningMask(model->spec()), arguments.type());
        std::vector<MetricResult> results = measureAll(ready, options, {metric}, console, part);
        warnings.insert(warnings.end(), ready.warnings.begin(), ready.warnings.end());
        if (!results.front().isWhole)
            throw Cancelled();
        return std::move(results.front());
    };
    SequenceText text;
    const bool needsText = request.strategy.readsText();
    if (needsText) {
        text = textFor(*model, request, arguments, console, progress.part(0, 0));
        inputs.text = toRun(text);
    }
    logs.serve(*model, request, inputs);
    const auto corpus = readCorpus(*model, request.strategy, options.text, progress.part(0, 0));
    if (corpus)
        inputs.corpus = toRun(*corpus);
    PruneResult result = prune(*model, request, inputs, needsText ? withTimeLeft(progress, console) : progress);
    if (corpus)
        warnings.insert(warnings.end(), corpus->warnings.begin(), corpus->warnings.end());
    for (const std::vector<std::string>* more : {&text.warnings, &warnings})
        result.warnings.insert(result.warnings.end(), more->begin(), more->end());
    if (result.metric)
        result.warnings.insert(result.warnings.end(), result.metric->warnings.begin(), result.metric->warnings.end());
    return result;
}

/// Predicts the change of the loss under a mask. @param path session of the model, which contains the gradients
std::optional<Prediction> predictedFrom(const std::string& path, const ModelCard& card, const PruningMask& mask,
                                        std::vector<std::string>& warnings) {
    if (path.empty())
        return std::nullopt;
    const Session session = readSession(path);
    if (session.model.fingerprint != card.fingerprint)
        throw Error("is a session of another model", path);
    const auto predictor = predictorOf(session);
    if (!predictor)
        throw Error("has no data to predict from", path, "evaluate --predict --out adds it");
    return predicted(predictor, mask, warnings);
}

void pruneVerb(const PruneArguments& arguments, const Console& console) {
    PruneRequest request{
        parseStrategyRequest(arguments.strategy), parseBudget(arguments.budget), arguments.protect, arguments.seed, {}};
    if (arguments.text.text.rules.length > 0)
        request.positions = static_cast<int>(arguments.text.text.rules.length);
    checkCanWrite(arguments.out, FileKind::mask, arguments.force);
    MaskRecord record;
    std::vector<std::string> warnings;
    ModelCard card;
    SearchLogs logs(arguments.out);
    {
        const Progress progress = console.progress();
        RunOptions run = arguments.run;
        run.hasOtherMasks = !arguments.base.empty();
        const auto model = openAdapted(arguments.path, run, console, progress.part(0, 0), warnings);
        checkProducts(*model);
        card = fullCard(*model);
        if (!arguments.base.empty())
            request.base = maskOf(arguments.base, *model, warnings).mask;
        const PruneResult result = pruned(model, request, arguments, console, logs, progress);
        record.mask = result.mask;
        record.provenance = provenanceOf(request, arguments.base, result);
        if (arguments.type() != ComputeType::automatic)
            record.provenance->options.emplace("dtype", arguments.run.dtype);
        warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
        addOverwrittenFiles(*model, warnings);
    }
    record.modelName = card.name;
    record.fingerprint = card.fingerprint;
    writeMask(arguments.out, record, arguments.force);
    logs.remove();
    noteWritten(arguments.out);

    const Price price = PriceList(card).price(record.mask);
    const auto prediction = predictedFrom(arguments.session, card, record.mask, warnings);
    if (console.json) {
        printJson(pruneJson(arguments.out, *record.provenance, {record.mask, price}, prediction, warnings));
        return;
    }
    print("{} with a budget of {} ", request.strategy.resultId(), budgetText(request.budget));
    printMask(record.mask, card.spec, price, true);
    if (record.provenance->history)
        print("\n{}\n", sentence(*record.provenance->history));
    if (prediction)
        print("predicted change of the loss: {}\n", sentence(*prediction));
    printNotes(warnings);
}

} // namespace

void addPrune(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<PruneArguments>();
    CLI::App* verb = program.add_subcommand("prune", "Make a mask with a strategy");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--strategy", arguments->strategy, "ID[:key=value]... (see: list strategies)")
        ->required()
        ->check(offersIds("strategies"));
    verb->add_option(
            "--budget", arguments->budget,
            "How much to cut: units (8), a share of all units of that kind (12.5%), or a share of what the model has "
            "(params:20%, layers:20%, kv:25%, flops:15%, bytes:20%, seconds:15%)")
        ->required();
    verb->add_option("--out", arguments->out, "Mask .json to write")->required()->option_text("FILE");
    verb->add_option("--protect", arguments->protect,
                     "Units that are not cut: first_last, none, or layers and heads such as 0,29,3.4,5.1-3")
        ->check(offers({"first_last", "none"}))
        ->capture_default_str();
    verb->add_option("--mask", arguments->base, "Mask .json to extend; the budget counts the additional cuts")
        ->option_text("FILE");
    verb->add_option("--session", arguments->session,
                     "Session .h5 of `evaluate --predict --out`, from which to predict the change of the loss")
        ->option_text("FILE");
    verb->add_option("--seed", arguments->seed, "Seed of random strategies")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{std::numeric_limits<std::int64_t>::max()}))
        ->capture_default_str();
    addForceOption(*verb, arguments->force);
    addMeasureOptions(*verb, arguments->text);
    addRunOptions(*verb, arguments->run);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli prune Llama-3.1-8B --strategy gate_norm --budget 8 --out cut.mask.json");
    verb->callback([arguments, &console] { pruneVerb(*arguments, console); });
}

} // namespace secateur::cli
