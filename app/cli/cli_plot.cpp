#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/table_text.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/session/command_line.h"
#include "app/cli/cli_common.h"
#include "app/cli/measure_text.h"
#include "app/cli/offscreen.h"
#include "app/cli/run_forecast.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/json/figure_json.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"
#include "backends/text/sequence_text.h"
#include "backends/text/text_source.h"
#include "backends/weights/open_tensors.h"

#include <fmt/core.h>

#ifdef SECATEUR_WITH_QT
#include "widgets/plot/figure_painter.h"
#endif

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace secateur::cli {

namespace {

struct PlotArguments {
    std::string path;
    std::string figure;
    std::string out;
    std::string width = "page";
    bool hasTitle = false;
    bool hasCaption = false;
    std::string reference;
    MeasureOptions text;
    std::optional<std::string> prompt; ///< prompt of figures that need one
    std::string promptFile;            ///< file with the prompt; empty = none
    RunOptions run;
    bool force = false;
};

#ifdef SECATEUR_WITH_QT
void checkCanDraw(const std::string&) {}

void savePicture(const Figure& figure, const PlotArguments& arguments) {
    runOffscreen([&] {
        saveFigure(figure, QString::fromStdString(arguments.out),
                   {arguments.width == "column" ? FigureWidth::column : FigureWidth::page, arguments.hasTitle},
                   arguments.force);
    });
}
#else
[[noreturn]] void checkCanDraw(const std::string& out) {
    throw Error("drawing needs the build with Qt; this build has none", out,
                "Use --out FILE.csv or FILE.json for the numbers of the figure");
}

void savePicture(const Figure&, const PlotArguments&) {}
#endif

/// Called after a model ran.
void noteOverwrittenFiles(const Model& model) {
    std::vector<std::string> warnings;
    addOverwrittenFiles(model, warnings);
    printNotes(warnings);
}

/// Reads a session. If the source is a model, measures the results that the figure shows.
Session sessionFor(const PlotArguments& arguments, const FigureRequest& request, const Console& console) {
    if (isSession(arguments.path))
        return readSession(arguments.path);
    const std::vector<MetricRequest> metrics = metricsOf(request); // throws before the model is opened
    const Progress progress = console.progress();
    ReadyModel ready;
    ready.model = openAdapted(arguments.path, arguments.run, console, progress.part(0, 0), ready.warnings);
    Session session;
    session.model = fullCard(*ready.model);
    session.results = measureAll(ready, arguments.text, metrics, console, progress);
    addOverwrittenFiles(*ready.model, ready.warnings);
    printNotes(ready.warnings);
    return session;
}

/// Draws a figure with the cuts of a mask file, as the figure's option `mask` does for a mask of the session.
Figure drawMarked(const FigureRequest& request, Session& session, const PlotArguments& arguments) {
    const std::string& file = arguments.run.mask;
    MaskReading reading = readMask(file, session.model.spec, session.model.fingerprint);
    printNotes(reading.warnings);
    const std::string digest = maskDigest(reading.record.mask);
    session.masks.insert(session.masks.begin(), {file, digest, std::move(reading.record)});
    FigureRequest marked = request;
    marked.options["mask"] = file;
    Figure figure = drawFigure(marked, session);
    CommandLine command = plotCommand(session.model.path, arguments.figure);
    command.insert(command.end(), {"--mask", file});
    figure.command = shellText(command);
    return figure;
}

// One function for each kind of source. It prepares the inputs and draws.

Figure drawFrom(const FromSession& source, const PlotArguments& arguments, const FigureRequest& request,
                const Console& console) {
    Session session = sessionFor(arguments, request, console);
    if (!arguments.reference.empty()) {
        PlotArguments other = arguments;
        other.path = arguments.reference;
        session.reference = std::make_shared<const Session>(sessionFor(other, request, console));
    }
    if (!arguments.run.mask.empty())
        return drawMarked(request, session, arguments);
    Figure figure = drawFigure(request, session);
    if (isSession(arguments.path) && source.results.front().empty()) // no command measures it on the model
        figure.command = shellText(plotCommand(arguments.path, arguments.figure));
    return figure;
}

bool hasPrompt(const PlotArguments& arguments) {
    return arguments.prompt || !arguments.promptFile.empty();
}

Figure drawFrom(const FromPrompt& source, const PlotArguments& arguments, const FigureRequest& request,
                const Console& console) {
    if (!hasPrompt(arguments))
        throw UsageError("needs a prompt: --prompt TEXT or --prompt-file FILE", arguments.figure);
    const std::string prompt = arguments.prompt ? *arguments.prompt : readTextFile(arguments.promptFile);
    const Progress progress = console.progress();
    std::vector<std::string> warnings;
    const auto model = openAdapted(arguments.path, arguments.run, console, progress.part(0, 0), warnings);
    PruningMask mask =
        arguments.run.mask.empty() ? PruningMask(model->spec()) : maskOf(arguments.run.mask, *model, warnings).mask;
    printNotes(warnings);
    const PromptInputs inputs{model, std::move(mask), computeTypeOf(arguments.run.dtype), promptTokens(*model, prompt),
                              progress};
    Figure figure = source.draw(inputs, request.options);
    noteOverwrittenFiles(*model);
    CommandLine command = plotPromptCommand(arguments.path, arguments.figure, prompt, arguments.run.mask);
    if (!arguments.prompt) {
        const auto option = std::ranges::find(command, "--prompt");
        option[0] = "--prompt-file";
        option[1] = arguments.promptFile;
    }
    figure.command = shellText(command);
    return figure;
}

/// Keeps the first sequences of a text. @param count 0 = all
void keepFirst(SequenceText& text, std::int64_t count) {
    const auto most = static_cast<std::size_t>(count);
    if (count == 0 || text.set.sequences.size() <= most)
        return;
    text.set.sequences.resize(most);
    text.set.tokens = 0;
    for (const TokenSequence& sequence : text.set.sequences)
        text.set.tokens += std::ssize(sequence.ids);
    text.labels.resize(std::min(text.labels.size(), most));
}

Figure drawFrom(const FromText& source, const PlotArguments& arguments, const FigureRequest& request,
                const Console& console) {
    const Progress progress = console.progress();
    const ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
    SequenceText text = readSequenceText(*ready.model, arguments.text.text, progress.part(0, 0));
    keepFirst(text, source.sequences);
    RunForecast forecast(*ready.model, {ready.plan}, console, progress.part(0, 0));
    forecast.add(sizeOf(text.set), source.forwards * upFactor + source.backwards * backwardFactor);
    forecast.say();
    printNotes(ready.warnings);
    printNotes(text.warnings);
    const TextInputs inputs{.model = *ready.model,
                            .plan = *ready.plan,
                            .maskName = std::filesystem::path(arguments.run.mask).filename().string(),
                            .sequences = text.set.sequences,
                            .labels = text.labels,
                            .batchTokens = arguments.text.batchTokens,
                            .progress = withTimeLeft(progress, console)};
    Figure figure = source.draw(inputs, request.options);
    noteOverwrittenFiles(*ready.model);
    return figure;
}

Figure drawFrom(const FromWeights& source, const PlotArguments& arguments, const FigureRequest& request,
                const Console& console) {
    const Progress progress = console.progress();
    std::vector<std::string> warnings;
    WeightInputs inputs{.model = openAdapted(arguments.path, arguments.run, console, progress.part(0, 0), warnings),
                        .tensors = openTensors(arguments.path, progress.part(0, 0)),
                        .progress = progress};
    if (!arguments.reference.empty())
        inputs.reference = openTensors(arguments.reference, progress.part(0, 0));
    printNotes(warnings);
    Figure figure = source.draw(inputs, request.options);
    noteOverwrittenFiles(*inputs.model);
    CommandLine command = plotCommand(arguments.path, arguments.figure);
    if (!arguments.reference.empty())
        command.insert(command.end(), {"--reference", arguments.reference});
    figure.command = shellText(command);
    return figure;
}

/// The ids of the figures that have one of these sources, as text: "gradient_change and attention".
template <typename... Sources>
std::string figuresFrom() {
    std::vector<std::string> ids;
    for (const FigureInfo& figure : allFigures())
        if ((std::holds_alternative<Sources>(figure.source) || ...))
            ids.emplace_back(figure.id);
    return join(ids, " and ");
}

/// Checks that options and source suit the figure. @throws UsageError for options that the figure does not use; Error
/// for a session instead of a model
void checkSource(const PlotArguments& arguments, const FigureRequest& request) {
    const FigureSource& source = request.figure->source;
    if (hasPrompt(arguments) && !std::holds_alternative<FromPrompt>(source))
        throw UsageError("does not use a prompt, which is for " + figuresFrom<FromPrompt>(), arguments.figure);
    if (!arguments.run.adapter.empty() && isSession(arguments.path))
        throw UsageError("changes a model; the figure is drawn from a session", "--adapter");
    if (std::holds_alternative<FromSession>(source)) {
        if (!arguments.run.mask.empty() && !request.options.contains("mask"))
            throw UsageError("does not use --mask", arguments.figure);
        return;
    }
    const bool readsWeights = std::holds_alternative<FromWeights>(source);
    if (readsWeights && !arguments.run.mask.empty())
        throw UsageError("does not use --mask", arguments.figure);
    for (const std::string& path : {arguments.path, readsWeights ? arguments.reference : std::string()})
        if (!path.empty() && isSession(path))
            throw Error(fmt::format("is a session; the figure {} {}", request.figure->id,
                                    readsWeights ? "shows the weights of a checkpoint" : "runs the model"),
                        path, "Name a checkpoint instead");
}

/// A kind of file that `plot` writes.
struct PlotForm {
    std::string_view extension;
    bool isOfTables;                                          ///< whether only tables have it
    std::string (*text)(const Figure&, const FigureRequest&); ///< content of the file; null = a picture
};

constexpr std::array plotForms{
    PlotForm{".png", false, nullptr},
    PlotForm{".svg", false, nullptr},
    PlotForm{".pdf", false, nullptr},
    PlotForm{".csv", false, [](const Figure& figure, const FigureRequest&) { return toCsv(figure); }},
    PlotForm{".json", false, [](const Figure& figure, const FigureRequest&) { return figureJson(figure) + "\n"; }},
    PlotForm{".md", true, [](const Figure& figure, const FigureRequest&) { return toMarkdown(figure); }},
    PlotForm{".tex", true,
             [](const Figure& figure, const FigureRequest& request) { return toLatex(figure, request.figure->id); }},
    PlotForm{".html", true, [](const Figure& figure, const FigureRequest&) { return toHtmlPage(figure); }},
};

/// The form that the extension of a path names. @throws UsageError if none has it
const PlotForm& formOf(const std::string& out) {
    std::string extension = std::filesystem::path(out).extension().string();
    for (char& c : extension)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto* const form = std::ranges::find(plotForms, extension, &PlotForm::extension);
    if (form == plotForms.end())
        throw UsageError(fmt::format("unknown extension \"{}\"; use .png, .svg, .pdf, .csv or .json, for tables also "
                                     ".md, .tex or .html",
                                     extension),
                         out);
    return *form;
}

/// The path of the caption beside a figure: "heads.caption.txt" for "heads.pdf".
std::string captionPath(const std::string& out) {
    return std::filesystem::path(out).replace_extension(".caption.txt").string();
}

void checkFiles(const PlotArguments& arguments, const PlotForm& form) {
    if (!form.text)
        checkCanDraw(arguments.out);
    checkCanWrite(arguments.out, figureFileKind(form.extension.substr(1)), arguments.force);
    if (arguments.hasCaption)
        checkCanWrite(captionPath(arguments.out), FileKind::caption, arguments.force);
}

UsageError notATable(const FigureRequest& request, const PlotArguments& arguments, const PlotForm& form) {
    return UsageError(fmt::format("the figure {} is a picture; {} is for tables", request.figure->id, form.extension),
                      arguments.out);
}

/// Checks the form before anything is run: figures that run a model are pictures. @throws UsageError
void checkForm(const FigureRequest& request, const PlotArguments& arguments, const PlotForm& form) {
    const auto* fromSession = std::get_if<FromSession>(&request.figure->source);
    if (form.isOfTables && (!fromSession || !fromSession->results.front().empty()))
        throw notATable(request, arguments, form);
}

/// @throws UsageError if the figure has no such form
void writeFigure(const Figure& figure, const FigureRequest& request, const PlotArguments& arguments,
                 const PlotForm& form) {
    if (form.isOfTables && figure.kind != FigureKind::table)
        throw notATable(request, arguments, form);
    if (form.text)
        writeWhole(arguments.out, form.text(figure, request), figureFileKind(form.extension.substr(1)),
                   arguments.force);
    else
        savePicture(figure, arguments);
    noteWritten(arguments.out);
    if (!arguments.hasCaption)
        return;
    writeWhole(captionPath(arguments.out), captionText(figure), FileKind::caption, arguments.force);
    noteWritten(captionPath(arguments.out));
}

void plot(const PlotArguments& arguments, const Console& console) {
    const PlotForm& form = formOf(arguments.out);
    checkFiles(arguments, form);
    const FigureRequest request = parseFigureRequest(arguments.figure);
    checkSource(arguments, request);
    checkForm(request, arguments, form);
    Figure figure = std::visit([&](const auto& source) { return drawFrom(source, arguments, request, console); },
                               request.figure->source);
    if (!arguments.run.adapter.empty() && !figure.command.empty())
        figure.command += " " + shellText({"--adapter", arguments.run.adapter});
    writeFigure(figure, request, arguments, form);
    if (console.json)
        printJson(figureJson(figure));
}

} // namespace

void addPlot(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<PlotArguments>();
    CLI::App* verb = program.add_subcommand("plot", "Draw a figure from a session or a checkpoint");
    verb->add_option("SESSION", arguments->path, "Session .h5, or a MODEL on which the results are measured first")
        ->required();
    verb->add_option("--figure", arguments->figure, "ID[:key=value]... (see: list figures)")
        ->required()
        ->check(offersIds("figures"));
    verb->add_option("--out", arguments->out,
                     "FILE.png, .svg or .pdf; .csv or .json for the numbers; .md, .tex or .html for tables")
        ->required()
        ->option_text("FILE");
    verb->add_option("--width", arguments->width, "Width of the figure: column (8.4 cm) or page (17.4 cm)")
        ->check(CLI::IsMember({"column", "page"}))
        ->capture_default_str();
    verb->add_flag("--title", arguments->hasTitle, "Draw the title above the figure");
    verb->add_flag("--caption", arguments->hasCaption, "Write the caption as text beside the figure: FILE.caption.txt");
    verb->add_option("--prompt", arguments->prompt, "Text that the model reads (" + figuresFrom<FromPrompt>() + ")")
        ->option_text("TEXT")
        ->check(isUtf8());
    verb->add_option("--prompt-file", arguments->promptFile, "Text file that the model reads instead of --prompt")
        ->option_text("FILE")
        ->excludes("--prompt");
    addMaskOption(*verb, arguments->run);
    addRunOptions(*verb, arguments->run);
    verb->add_option("--reference", arguments->reference,
                     "Session or model that `reference` names in RESULT@reference and RESULT@KEY-reference; for "
                     "weight_difference, the checkpoint to compare with")
        ->option_text("FILE");
    addForceOption(*verb, arguments->force);
    addMeasureOptions(*verb, arguments->text);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli plot llama.h5 --figure heads:metric=gate_norm_head:scale=rank --out heads.pdf\n"
                 "         secateur-cli plot llama.gguf --figure attention:layer=3:head=1 --prompt \"A text\" --out "
                 "a.pdf");
    verb->callback([arguments, &console] { plot(*arguments, console); });
}

} // namespace secateur::cli
