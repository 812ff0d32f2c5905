#include "analysis/masks/price.h"
#include "analysis/strategies/prune.h"
#include "analysis/running/runner.h"
#include "analysis/prediction/prediction.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_prediction.h"
#include "app/cli/mask_output.h"
#include "app/cli/measure_text.h"
#include "app/cli/run_forecast.h"
#include "backends/base/atomic_file.h"
#include "backends/session/mask_json.h"
#include "backends/json/mask_result_json.h"
#include "backends/text/measure_on_text.h"
#include "backends/session/session_hdf5.h"

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
    std::string session; ///< empty = nothing is predicted
    std::uint64_t seed = 0;
    MeasureOptions text;
};

/// Reads the text, says how long all steps will take, and takes them.
PruneResult greedily(const Model& model, const PruneRequest& request, const MeasureOptions& options,
                     const Console& console, const Progress& progress) {
    const SequenceText text = readSequenceText(model, options.text, progress.part(0, 0));
    const auto plan = model.runner().plan(request.base.value_or(PruningMask(model.spec())));
    RunForecast forecast(model, {plan}, console, progress.part(0, 0));
    forecast.add(sizeOf(text.set), greedyPasses(model.spec(), request));
    forecast.say();
    return pruneOnText(model, request, text, options.batchTokens, withTimeLeft(progress, console));
}

/// From what a session of the model has for that.
std::optional<Prediction> predictedFrom(const std::string& path, const ModelCard& card, const PruningMask& mask,
                                        std::vector<std::string>& warnings) {
    if (path.empty())
        return std::nullopt;
    const Session session = readSession(path);
    if (session.model.fingerprint != card.fingerprint)
        throw Error("is a session of another model", path);
    const auto predictor = predictorOf(session);
    if (!predictor)
        throw Error("holds nothing to predict from", path, "evaluate --predict --out adds it");
    return predicted(predictor, mask, warnings);
}

void pruneVerb(const PruneArguments& arguments, const Console& console) {
    PruneRequest request{
        parseStrategyRequest(arguments.strategy), parseBudget(arguments.budget), arguments.protect, arguments.seed, {}};
    checkCanWrite(arguments.out);
    MaskRecord record;
    std::vector<std::string> warnings;
    ModelCard card;
    {
        const Progress progress = console.progress();
        const auto model = open(arguments.path, console, progress.part(0, 0));
        card = fullCard(*model);
        if (!arguments.base.empty())
            request.base = maskOf(arguments.base, *model, warnings).mask;
        const MeasureDoor measureOn = [&](const Model&, const MetricRequest& metric, const Progress& part) {
            ReadyModel ready{model, nullptr, {}, {}};
            std::vector<MetricResult> results = measureAll(ready, arguments.text, {metric}, console, part);
            warnings.insert(warnings.end(), ready.warnings.begin(), ready.warnings.end());
            if (!results.front().isWhole)
                throw Cancelled();
            return std::move(results.front());
        };
        const PruneResult result = request.strategy.info->measuresAgain
                                       ? greedily(*model, request, arguments.text, console, progress)
                                       : prune(*model, request, progress, measureOn);
        record.mask = result.mask;
        record.provenance = provenanceOf(request, arguments.base, result);
        warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
        if (result.metric)
            warnings.insert(warnings.end(), result.metric->warnings.begin(), result.metric->warnings.end());
    }
    record.modelName = card.name;
    record.fingerprint = card.fingerprint;
    writeMask(arguments.out, record);

    const Price price = PriceList(card).price(record.mask);
    const auto prediction = predictedFrom(arguments.session, card, record.mask, warnings);
    if (console.json) {
        fmt::print("{}\n", pruneJson(arguments.out, *record.provenance, {record.mask, price}, prediction, warnings));
        return;
    }
    fmt::print("{} with a budget of {} ", request.strategy.resultId(), budgetText(request.budget));
    printMask(record.mask, card.spec, price, true);
    if (record.provenance->history)
        fmt::print("\n{}\n", sentence(*record.provenance->history));
    if (prediction)
        fmt::print("predicted change of the loss: {} nats/token\n", sentence(*prediction));
    printNotes(warnings);
}

} // namespace

void addPrune(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<PruneArguments>();
    CLI::App* verb = program.add_subcommand("prune", "Run a strategy to a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--strategy", arguments->strategy, "ID[:key=value]... (see: list strategies)")->required();
    verb->add_option("--budget", arguments->budget, "How much to cut: units (8), or a share of the model's (12.5%)")
        ->required();
    verb->add_option("--out", arguments->out, "Mask .json to write")->required()->option_text("FILE");
    verb->add_option("--protect", arguments->protect,
                     "What is not cut: first_last, none, or layers and heads such as 0,29,3.4,5.1-3")
        ->capture_default_str();
    verb->add_option("--mask", arguments->base, "Mask .json to cut further; the budget counts what is cut besides")
        ->option_text("FILE");
    verb->add_option("--session", arguments->session,
                     "Session .h5 that can predict (evaluate --predict --out): says what the mask will cost")
        ->option_text("FILE");
    verb->add_option("--seed", arguments->seed, "Of random strategies")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{std::numeric_limits<std::int64_t>::max()}))
        ->capture_default_str();
    addMeasureOptions(*verb, arguments->text);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli prune Llama-3.1-8B --strategy gate_norm --budget 8 --out cut.mask.json");
    verb->callback([arguments, &console] { pruneVerb(*arguments, console); });
}

} // namespace secateur::cli
