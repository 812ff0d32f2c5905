#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/reproduction.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "app/cli/cli_common.h"
#include "app/cli/verbs.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/base/folders.h"
#include "backends/json/reproduction_json.h"
#include "backends/session/session_hdf5.h"
#include "backends/text/recipe_files.h"
#include "backends/text/text_source.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>
#include <variant>

namespace secateur::cli {

namespace fs = std::filesystem;

namespace {

struct ReproduceArguments {
    std::string paper;
    std::string model;
    std::string size = "quick";
    std::string session;
    std::string data;
    std::string figures; ///< folder; empty = beside the session
    std::string only;
    std::string prompt = "When the sun rises over the river, the fishermen push their boats into the water and row "
                         "towards the place where the current is slow and the fish are many.";
    bool onlyPlans = false;
};

/// The folder of figures: "s-figures" beside "s.h5".
std::string figureFolder(const ReproduceArguments& arguments) {
    if (!arguments.figures.empty())
        return arguments.figures;
    return fs::path(arguments.session).replace_extension().string() + "-figures";
}

RecipeChoice recipeChoice(const ReproduceArguments& arguments) {
    RecipeChoice choice{.model = arguments.model, .session = arguments.session, .size = sweepSizeOf(arguments.size)};
    if (arguments.data.empty())
        return choice;
    FoundFiles found = findRecipeFiles(arguments.data, recipeFiles());
    choice.files = std::move(found.paths);
    choice.bytes = std::move(found.bytes);
    return choice;
}

/// The session of the run, or one without results if there is no file yet.
Session sessionOf(const std::string& path, const ModelCard& model) {
    if (hasContent(path))
        return readSession(path);
    Session session;
    session.model = model;
    return session;
}

/// The ids that --only names. @throws UsageError for one that no step has
std::vector<std::string> wantedSteps(const ReproduceArguments& arguments, const std::vector<RecipeStep>& steps) {
    const std::vector<std::string> wanted =
        arguments.only.empty() ? std::vector<std::string>() : split(arguments.only, ',');
    for (const std::string& id : wanted)
        if (std::ranges::find(steps, id, &RecipeStep::id) == steps.end()) {
            std::vector<std::string> known;
            for (const RecipeStep& step : steps)
                known.push_back(step.id);
            throw UsageError(fmt::format("no step has this id; this recipe has {}", join(known, ", ")), "--only " + id);
        }
    return wanted;
}

/// The steps with their states and expected seconds, before anything is measured.
std::vector<ReproducedStep> plannedSteps(const ReproduceArguments& arguments, const std::vector<RecipeStep>& steps,
                                         double secondsPerToken) {
    const std::vector<std::string> wanted = wantedSteps(arguments, steps);
    std::vector<ReproducedStep> planned;
    for (const RecipeStep& step : steps) {
        ReproducedStep& one = planned.emplace_back(ReproducedStep{.step = step});
        one.expectedSeconds = step.tokens * secondsPerToken;
        const bool isWanted = wanted.empty() || std::ranges::find(wanted, step.id) != wanted.end();
        if (!isWanted)
            one.state = StepState::notWanted;
        else if (step.isDone)
            one.state = StepState::held;
        else if (!step.reason.empty())
            one.state = StepState::impossible;
    }
    return planned;
}

/// Seconds of a token in a forward pass through the whole model.
double secondsOfToken(const Model& model, const Progress& progress) {
    const PruningMask dense(model.spec());
    const auto plan = model.runner().plan(dense);
    constexpr std::int64_t tokens = 8192;
    constexpr int positions = 512;
    const bool isDecoder = model.spec().family == Family::decoder;
    const RunSize size{tokens, positions, isDecoder ? tokens : 0};
    return runSeconds(runSpeed(model, *plan, progress), model.spec(), dense, size) / tokens;
}

std::string durationText(double seconds) {
    return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

void printPlan(const Reproduction& run) {
    Rows<5> rows;
    double seconds = 0;
    for (const ReproducedStep& step : run.steps) {
        const bool isToDo = step.state == StepState::planned;
        seconds += isToDo ? step.expectedSeconds : 0;
        rows.push_back({step.step.id, step.step.summary, shortCount(step.step.tokens) + " tokens",
                        "about " + durationText(step.expectedSeconds),
                        isToDo ? "to do" : std::string(name(step.state))});
    }
    print(Table({{"step"}, {"what"}, {"cost", Align::right}, {"", Align::right}, {}}, rows));
    print("about {} in all\n", durationText(seconds));
    if (!run.missingFiles.empty())
        print("not found by --data, and left out: {}\n", join(run.missingFiles, ", "));
    flushOutput();
}

/// Runs a step, and records what became of it. @throws Cancelled
void runStep(ReproducedStep& step, const Console& console) {
    const auto begin = std::chrono::steady_clock::now();
    try {
        runVerb(step.step.arguments, console);
        step.state = StepState::done;
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        step.state = StepState::failed;
        step.error = error.what();
        printNote("step {} failed: {}", step.step.id, step.error);
    }
    step.seconds = secondsSince(begin);
}

void runSteps(Reproduction& run, const Console& console) {
    const auto left = std::ranges::count(run.steps, StepState::planned, &ReproducedStep::state);
    std::ptrdiff_t number = 0;
    for (ReproducedStep& step : run.steps) {
        if (step.state != StepState::planned)
            continue;
        ++number;
        console.announce(step.expectedSeconds, fmt::format("step {} of {}, {}: about {}", number, left, step.step.id,
                                                           durationText(step.expectedSeconds)));
        try {
            runStep(step, console);
        } catch (const Cancelled&) {
            spdlog::warn("the results so far are saved in {}: the same command continues from there", run.session);
            throw;
        }
    }
}

// --- figures ---------------------------------------------------------------------------------------------------------

#ifdef SECATEUR_WITH_QT
constexpr std::array pictureForms{".pdf", ".png"};
#else
constexpr std::array<const char*, 0> pictureForms{};
#endif
constexpr std::array tableForms{".tex", ".md", ".html"};

/// The command that draws an item, without --out.
CommandLine drawingCommand(const ReproduceArguments& arguments, const FigureInfo& figure) {
    const bool isOfSession = std::holds_alternative<FromSession>(figure.source);
    CommandLine command{"plot", isOfSession ? arguments.session : arguments.model, "--figure", std::string(figure.id)};
    if (std::holds_alternative<FromPrompt>(figure.source))
        command.insert(command.end(), {"--prompt", arguments.prompt});
    if (std::holds_alternative<FromText>(figure.source)) // one sequence
        command.insert(command.end(), {"--max-tokens", "128", "--seq-len", "128"});
    return command;
}

/// The extensions of an item's files. @throws Error if a figure of the session cannot be drawn
std::vector<std::string> formsOf(const FigureInfo& figure, const Session& session) {
    std::vector<std::string> forms(pictureForms.begin(), pictureForms.end());
    forms.emplace_back(".csv");
    if (!std::holds_alternative<FromSession>(figure.source))
        return forms;
    if (makeFigure(session, figure.id).kind == FigureKind::table)
        forms.insert(forms.end(), tableForms.begin(), tableForms.end());
    return forms;
}

/// Writes the files of an item. @throws Cancelled
ReproducedItem drawn(const ReproduceArguments& arguments, const FigureInfo& figure, const Session& session,
                     const std::string& folder, const Console& console) {
    ReproducedItem item{.figure = &figure};
    const CommandLine drawing = drawingCommand(arguments, figure);
    CommandLine shown = drawing;
    shown.insert(shown.begin(), "secateur-cli");
    shown.insert(shown.end(), {"--out", fmt::format("{}.pdf", figure.id)});
    item.command = shellText(shown);
    try {
        for (const std::string& form : formsOf(figure, session)) {
            const std::string file = std::string(figure.id) + form;
            CommandLine command = drawing;
            command.insert(command.end(), {"--out", (fs::path(folder) / file).string()});
            if (item.files.empty())
                command.emplace_back("--caption");
            runVerb(command, console);
            item.files.push_back(file);
        }
        const std::string caption = fmt::format("{}.caption.txt", figure.id);
        item.caption = std::string(trimmed(readTextFile((fs::path(folder) / caption).string())));
        item.files.push_back(caption);
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        item.error = error.what();
    }
    return item;
}

void drawItems(Reproduction& run, const ReproduceArguments& arguments, const ModelCard& model, const Console& console) {
    run.folder = figureFolder(arguments);
    makeFolder(run.folder);
    const Session session = sessionOf(arguments.session, model);
    Console quiet = console;
    quiet.progressMode = "none";
    for (const FigureInfo* figure : itemsOf(*run.paper))
        run.items.push_back(drawn(arguments, *figure, session, run.folder, quiet));
    const std::string page = (fs::path(run.folder) / "index.html").string();
    writeWhole(page, indexPage(run), FileKind::html);
    noteWritten(page);
}

void printItems(const Reproduction& run) {
    Rows<3> rows;
    for (const ReproducedItem& item : run.items)
        rows.push_back({std::string(item.figure->id), std::string(item.figure->item->title),
                        item.error.empty() ? counted(item.files.size(), "file") : "not drawn: " + item.error});
    print(Table({{"figure"}, {"in the paper"}, {}}, rows));
    print("{}\n", (fs::path(run.folder) / "index.html").string());
}

void reproduceVerb(ReproduceArguments& arguments, Console& console) {
    Reproduction run{.paper = &paper(arguments.paper), .size = arguments.size};
    run.session = arguments.session;
    const RecipeChoice choice = recipeChoice(arguments);
    const Progress progress = console.progress();
    ModelCard card;
    {
        const auto model = open(arguments.model, console, progress.part(0, 0));
        card = model->card();
        run.model = card.name;
        const std::vector<RecipeStep> steps = recipeSteps(*run.paper, choice, sessionOf(arguments.session, card));
        run.steps = plannedSteps(arguments, steps, secondsOfToken(*model, progress.part(0, 0)));
    } // the steps open the model again, one after the other
    for (const ReproducedStep& step : run.steps)
        for (const std::string& name : step.step.missingFiles)
            if (std::ranges::find(run.missingFiles, name) == run.missingFiles.end())
                run.missingFiles.push_back(name);
    if (!console.json)
        printPlan(run);
    if (!arguments.onlyPlans) {
        runSteps(run, console);
        drawItems(run, arguments, card, console);
        if (!console.json)
            printItems(run);
    }
    if (console.json)
        printJson(reproductionJson(run));
    console.isIncomplete =
        std::ranges::any_of(run.steps, [](const ReproducedStep& step) { return step.state == StepState::failed; });
}

} // namespace

void addReproduce(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<ReproduceArguments>();
    CLI::App* verb = program.add_subcommand(
        "reproduce", "Run a paper's recipe on any model, and draw the paper's figures and tables");
    verb->add_option("PAPER", arguments->paper, "Id of a paper (see: list papers)")
        ->required()
        ->check(offersIds("papers"));
    verb->add_option("MODEL", arguments->model, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--size", arguments->size, "Size of the recipe: quick or paper")
        ->check(CLI::IsMember({"quick", "paper"}))
        ->capture_default_str();
    verb->add_option("--out", arguments->session,
                     "Session .h5 to write or extend; steps whose results it holds are not run again, and a run that "
                     "Ctrl+C stopped continues")
        ->required()
        ->option_text("FILE");
    verb->add_option("--data", arguments->data,
                     "Folder that is searched for texts and tasks by their usual names, such as wiki.test.raw and "
                     "hellaswag.jsonl; missing ones are left out")
        ->option_text("DIR");
    verb->add_option("--figures", arguments->figures, "Folder for figures and tables [SESSION-figures]")
        ->option_text("DIR");
    verb->add_option("--only", arguments->only, "Steps to run, by comma; all figures are drawn")
        ->option_text("STEP,...");
    verb->add_option("--prompt", arguments->prompt, "Text that the model reads for attention maps")
        ->option_text("TEXT")
        ->check(isUtf8());
    verb->add_flag("--dry-run", arguments->onlyPlans, "List the steps with their cost; run and draw nothing");
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli reproduce gate_norm SmolLM2-135M-Instruct.Q4_1.gguf --data texts --out g.h5");
    verb->callback([arguments, &console] { reproduceVerb(*arguments, console); });
}

} // namespace secateur::cli
