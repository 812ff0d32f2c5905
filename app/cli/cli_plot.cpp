#include "analysis/figures/attention_figure.h"
#include "analysis/running/attention_reader.h"
#include "analysis/session/command_line.h"
#include "analysis/figures/figure.h"
#include "analysis/figures/gradient_change_figure.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/session/result_key.h"
#include "analysis/running/runner.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "app/cli/measure_text.h"
#include "app/cli/run_forecast.h"
#include "backends/base/atomic_file.h"
#include "backends/text/sequence_text.h"
#include "backends/json/result_json.h"
#include "backends/session/session_hdf5.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#ifdef SECATEUR_WITH_QT
#include "widgets/plot/figure_painter.h"

#include <QApplication>
#endif

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>

namespace secateur::cli {

namespace {

struct PlotArguments {
    std::string path;
    std::string figure;
    std::string out;
    std::string width = "page";
    std::string reference;
    MeasureOptions text;
    std::optional<std::string> prompt; ///< for attention alone
    RunOptions run;
};

#ifdef SECATEUR_WITH_QT
void checkCanDraw(const std::string&) {}

void draw(const Figure& figure, const PlotArguments& arguments) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString& text) {
        spdlog::debug("{}", text.toStdString()); // Qt talks about desktops that a server does not have
    });
    int count = 1;
    char name[] = "secateur-cli";
    char* values[] = {name, nullptr};
    const QApplication application(count, values);
    saveFigure(figure, QString::fromStdString(arguments.out),
               arguments.width == "column" ? FigureWidth::column : FigureWidth::page);
}
#else
[[noreturn]] void checkCanDraw(const std::string& out) {
    throw Error("drawing needs the build with Qt, and this one is without", out,
                "Name a .csv or .json file to get the figure's numbers");
}

void draw(const Figure&, const PlotArguments&) {}
#endif

/// The results that a figure names in its options, as what would have to be measured. A result id may come in its file
/// form, "gate_norm.fold_norm-true". @throws UsageError
std::vector<MetricRequest> requestsFor(std::string_view figure) {
    ParsedRequest parsed = parseRequest(figure);
    const FigureInfo& info = figureOf(parsed.id);
    validateOptions(parsed, info.options);
    std::vector<std::string> metrics;
    for (const OptionInfo& option : info.options) {
        constexpr std::array<std::string_view, 4> ofResults{"metric", "metrics", "x", "y"};
        if (std::ranges::find(ofResults, option.name) == ofResults.end())
            continue;
        for (const std::string& id : split(optionValue(parsed.options, info.options, option.name), '/')) {
            std::vector<std::string> parts = split(parseResultKey(id).resultId, '.');
            for (std::size_t i = 1; i < parts.size(); ++i)
                if (const std::size_t dash = parts[i].find('-'); dash != std::string::npos)
                    parts[i][dash] = '=';
            metrics.push_back(join(parts, ":"));
        }
    }
    return metrics.empty() ? std::vector<MetricRequest>() : parseMetricRequests(join(metrics, ","));
}

/// A session as it is; of a model, what the figure needs.
Session source(const PlotArguments& arguments, const Console& console) {
    const std::string& path = arguments.path;
    const std::string_view figure = arguments.figure;
    if (isSession(path))
        return readSession(path);
    const std::vector<MetricRequest> requests = requestsFor(figure);
    const Progress progress = console.progress();
    ReadyModel ready{open(path, console, progress.part(0, 0)), nullptr, {}, {}};
    Session session;
    session.model = fullCard(*ready.model);
    session.results = measureAll(ready, arguments.text, requests, console, progress);
    return session;
}

/// With what it is compared with, where that is named.
Session withReference(const PlotArguments& arguments, const Console& console) {
    Session session = source(arguments, console);
    if (!arguments.reference.empty()) {
        PlotArguments other = arguments;
        other.path = arguments.reference;
        session.reference = std::make_shared<const Session>(source(other, console));
    }
    return session;
}

/// Runs a prompt and reads one head's map.
Figure attention(const PlotArguments& arguments, const AttentionRequest& request, const Console& console) {
    if (isSession(arguments.path))
        return makeFigure(readSession(arguments.path), arguments.figure); // says what is missing
    if (!arguments.prompt)
        throw UsageError("needs a text: --prompt TEXT", arguments.figure);
    const Progress progress = console.progress();
    std::vector<std::string> warnings;
    const auto model = open(arguments.path, console, progress.part(0, 0), arguments.run.memoryBudget);
    const auto [layer, head] = request.head;
    const std::vector<LayerSpec>& layers = model->spec().layers;
    if (layer < 0 || layer >= std::ssize(layers))
        throw UsageError(fmt::format("the model has layers 0 to {}", std::ssize(layers) - 1), arguments.figure);
    if (head < 0 || head >= layers[static_cast<std::size_t>(layer)].heads)
        throw UsageError(
            fmt::format("layer {} has heads 0 to {}", layer, layers[static_cast<std::size_t>(layer)].heads - 1),
            arguments.figure);
    const PruningMask mask =
        arguments.run.mask.empty() ? PruningMask(model->spec()) : maskOf(arguments.run.mask, *model, warnings).mask;
    for (const std::string& warning : warnings)
        fmt::print(stderr, "note: {}\n", warning);
    const PromptTokens tokens = promptTokens(*model, *arguments.prompt);
    AttentionRules rules;
    rules.type = computeTypeOf(arguments.run.dtype);
    const AttentionReader reader(model, mask, tokens.ids, rules, progress.part(0, 0.9));
    LayerAttention read = reader.layer(layer, head, progress.part(0.9, 1));
    if (!read.map)
        throw Error("attends to nothing: it is cut", headName(layer, head));
    const MapPyramid map(std::move(read.map->values), read.map->tokens);
    Figure figure = attentionFigure(model->card().name, request.head, map, tokens.labels, request.scale);
    figure.command =
        shellText(attentionCommand(arguments.path, arguments.figure, *arguments.prompt, arguments.run.mask));
    return figure;
}

/// What is cut, and what of it was cut before. @throws UsageError
GradientChangeRequest masksOf(const GradientFigureRequest& request, const PruningMask& mask, const ModelSpec& spec,
                              const std::string& figure) {
    GradientChangeRequest masks{mask, mask, request.scalarisation};
    if (request.layer && *request.layer >= spec.layerCount())
        throw UsageError(fmt::format("the model has layers 0 to {}", spec.layerCount() - 1), figure);
    if (!request.cut) {
        if (mask.keepsAll())
            throw UsageError("needs a cut: cut=LAYER.HEAD, or --mask FILE", figure);
        masks.before = PruningMask(spec);
        return masks;
    }
    const auto [layer, head] = *request.cut;
    if (layer >= spec.layerCount() || head >= spec.layers[static_cast<std::size_t>(layer)].heads)
        throw UsageError(fmt::format("the model has no head {}", headName(layer, head)), figure);
    setHeads(masks.after, std::array{*request.cut}, false);
    return masks;
}

/// Runs a text down all layers twice.
Figure gradientChanges(const PlotArguments& arguments, const GradientFigureRequest& request, const Console& console) {
    if (isSession(arguments.path))
        return makeFigure(readSession(arguments.path), arguments.figure); // says what is missing
    const Progress progress = console.progress();
    const ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
    const Model& model = *ready.model;
    const GradientChangeRequest masks = masksOf(request, ready.plan->mask(), model.spec(), arguments.figure);
    const SequenceText text = readSequenceText(model, arguments.text.text, progress.part(0, 0));
    RunForecast forecast(model, {ready.plan}, console, progress.part(0, 0));
    forecast.add(sizeOf(text.set), 2 * (upFactor + backwardFactor));
    forecast.say();
    for (const std::vector<std::string>& notes : {ready.warnings, text.warnings})
        for (const std::string& note : notes)
            fmt::print(stderr, "note: {}\n", note);
    const GradientRun run{.plan = *ready.plan,
                          .sequences = text.set.sequences,
                          .labels = text.labels,
                          .batchTokens = arguments.text.batchTokens};
    const GradientChange change = gradientChange(model, masks, run, withTimeLeft(progress, console));
    const std::string cut = request.cut ? headName(request.cut->layer, request.cut->head)
                                        : std::filesystem::path(arguments.run.mask).filename().string();
    return gradientChangeFigure(model.card(), change, request.layer, cut, request.scale);
}

/// The kind of file that is asked for, ".png". @throws UsageError
std::string kindOf(const std::string& out) {
    std::string kind = std::filesystem::path(out).extension().string();
    for (char& c : kind)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    constexpr std::array known{".png", ".svg", ".pdf", ".csv", ".json"};
    if (std::find(known.begin(), known.end(), kind) == known.end())
        throw UsageError(fmt::format("cannot write \"{}\"; the known kinds are .png, .svg, .pdf, .csv and .json", kind),
                         out);
    return kind;
}

void plot(const PlotArguments& arguments, const Console& console) {
    const std::string kind = kindOf(arguments.out);
    const bool isDrawn = kind != ".csv" && kind != ".json";
    if (isDrawn)
        checkCanDraw(arguments.out);
    checkCanWrite(arguments.out);
    const auto attended = attentionRequest(arguments.figure);
    const auto changed = gradientFigureRequest(arguments.figure);
    if (!attended && arguments.prompt)
        throw UsageError("draws no prompt: that is for the figure attention", arguments.figure);
    if (!attended && !changed && !arguments.run.mask.empty())
        throw UsageError("draws nothing under a mask: that is for the figures attention and gradient_change",
                         arguments.figure);
    const Figure figure = attended  ? attention(arguments, *attended, console)
                          : changed ? gradientChanges(arguments, *changed, console)
                                    : makeFigure(withReference(arguments, console), arguments.figure);
    if (isDrawn)
        draw(figure, arguments);
    else
        writeWhole(arguments.out, kind == ".csv" ? toCsv(figure) : figureJson(figure) + "\n");
    if (console.json)
        fmt::print("{}\n", figureJson(figure));
}

} // namespace

void addPlot(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<PlotArguments>();
    CLI::App* verb = program.add_subcommand("plot", "Draw a figure from a session, or straight from a checkpoint");
    verb->add_option("SESSION", arguments->path, "Session .h5; of a MODEL, what the figure needs is measured first")
        ->required();
    verb->add_option("--figure", arguments->figure, "ID[:key=value]... (see: list figures)")->required();
    verb->add_option("--out", arguments->out, "FILE.png, .svg, .pdf, or .csv or .json for the numbers")->required();
    verb->add_option("--width", arguments->width, "column (8.4 cm) or page (17.4 cm)")
        ->check(CLI::IsMember({"column", "page"}))
        ->capture_default_str();
    verb->add_option("--prompt", arguments->prompt, "For the figure attention: the text whose tokens attend")
        ->option_text("TEXT");
    addMaskOption(*verb, arguments->run);
    addRunOptions(*verb, arguments->run);
    verb->add_option("--reference", arguments->reference,
                     "Session or model that results@reference and results@-reference are of")
        ->option_text("FILE");
    addMeasureOptions(*verb, arguments->text);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli plot llama.h5 --figure heads:metric=gate_norm_head:log=true --out heads.pdf\n"
                 "         secateur-cli plot llama.gguf --figure attention:layer=3:head=1 --prompt \"A text\" --out "
                 "a.pdf");
    verb->callback([arguments, &console] { plot(*arguments, console); });
}

} // namespace secateur::cli
