#include "analysis/base/text.h"
#include "analysis/session/session.h"
#include "app/cli/cli_common.h"
#include "backends/json/result_json.h"
#include "backends/session/session_hdf5.h"

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

namespace secateur::cli {

namespace {

struct SessionArguments {
    std::vector<std::string> paths;
    std::string out;
};

/// Joins sessions of one model; the view is that of the first.
Session joined(const std::vector<std::string>& paths) {
    Session all = readSession(paths.front());
    for (std::size_t i = 1; i < paths.size(); ++i) {
        const Session other = readSession(paths[i]);
        try {
            join(all, other);
        } catch (const Error& error) {
            throw error.within(paths[i]);
        }
    }
    return all;
}

std::vector<std::string> taskCells(const Evaluation& evaluation) {
    std::vector<std::string> cells;
    for (const TaskEvaluation& task : evaluation.tasks) {
        const TaskMetric& metric = task.run.scores.metric(taskFormat(task.formatId).metric);
        cells.push_back(fmt::format("{} {} {}", task.name, metric.id, withError(metric.value, metric.standardError)));
    }
    return cells;
}

std::vector<std::string> row(const Session& session, const Evaluation& stored) {
    const Evaluation evaluation = compared(session, stored);
    std::vector<std::string> cells{evaluation.mask.name.empty() ? "dense" : evaluation.mask.name,
                                   "",
                                   "",
                                   "",
                                   "",
                                   "",
                                   evaluation.dtype,
                                   join(taskCells(evaluation), ", "),
                                   ""};
    if (const auto& text = evaluation.text) {
        const Perplexity& run = text->perplexity;
        const std::string all = text->isComplete() ? "" : fmt::format(" of {}", grouped(text->windows));
        cells[1] = significant(run.perplexity(), 6);
        cells[2] = withError(run.lossNats, run.standardError);
        if (text->reference)
            cells[3] = withError(text->reference->difference.nats, text->reference->difference.standardError);
        cells[4] = grouped(run.windows.size()) + all;
        cells[5] = std::filesystem::path(text->source).filename().string();
    }
    if (const auto& latency = evaluation.latency)
        cells[8] = significant(latency->tokensPerSecond(latency->run), 4);
    return cells;
}

void printEvaluations(const Session& session) {
    if (session.evaluations.empty())
        return;
    std::vector<std::vector<std::string>> rows{
        {"mask", "perplexity", "nats", "difference", "windows", "text", "type", "tasks", "tokens/s"}};
    for (const Evaluation& evaluation : session.evaluations)
        rows.push_back(row(session, evaluation));
    fmt::print("\n{}", table(std::move(rows), {Align::left, Align::right, Align::point, Align::point, Align::right,
                                               Align::left, Align::left, Align::left, Align::point}));
}

void printMasks(const Session& session) {
    if (session.masks.empty())
        return;
    std::vector<std::vector<std::string>> rows{{"mask", "digest"}};
    for (const SessionMask& mask : session.masks)
        rows.push_back({mask.name, mask.digest});
    fmt::print("\n{}", table(std::move(rows)));
}

void showVerb(const SessionArguments& arguments, const Console& console) {
    const Session session = readSession(arguments.paths.front());
    if (console.json) {
        fmt::print("{}\n", sessionJson(session));
        return;
    }
    fmt::print("{}: {} ({}), {}, made {}\n", arguments.paths.front(), session.model.name,
               session.model.spec.architecture, session.model.fingerprint, session.created);
    printResults(session);
    printMasks(session);
    printEvaluations(session);
}

void mergeVerb(const SessionArguments& arguments, const Console& console) {
    Session all = joined(arguments.paths);
    checkCanAdd(all.model, arguments.out);
    if (std::filesystem::exists(arguments.out))
        all.view.clear(); // that of the file stays
    addToSession(all, arguments.out);
    const Session made = readSession(arguments.out);
    if (console.json)
        fmt::print("{}\n", sessionJson(made));
    else
        fmt::print("{}: {}, {}, {}\n", arguments.out, counted(made.results.size(), "measurement"),
                   counted(made.masks.size(), "mask"), counted(made.evaluations.size(), "evaluation"));
}

} // namespace

void addSession(CLI::App& program, Console& console) {
    CLI::App* verb = program.add_subcommand("session", "Show sessions, or join sessions of one model");
    verb->require_subcommand(1);
    verb->footer("Example: secateur-cli session merge server.h5 laptop.h5 --out both.h5");

    auto shown = std::make_shared<SessionArguments>();
    CLI::App* show = verb->add_subcommand("show", "Show the contents of a session");
    show->add_option("SESSION", shown->paths, "Session .h5")->required()->expected(1);
    addCommonOptions(*show, console);
    show->footer("Example: secateur-cli session show llama.h5");
    show->callback([shown, &console] { showVerb(*shown, console); });

    auto merged = std::make_shared<SessionArguments>();
    CLI::App* merge = verb->add_subcommand(
        "merge", "Join the metrics, masks and evaluations of one model. Of a repeated measurement the later file's is "
                 "kept, of a "
                 "stopped evaluation the longer one, and the state of the window of the first file");
    merge->add_option("SESSION", merged->paths, "Sessions .h5")->required()->expected(1, 1000);
    merge->add_option("--out", merged->out, "Session .h5 to write, or to add to")->required()->option_text("FILE");
    addCommonOptions(*merge, console);
    merge->footer("Example: secateur-cli session merge server.h5 laptop.h5 --out both.h5");
    merge->callback([merged, &console] { mergeVerb(*merged, console); });
}

} // namespace secateur::cli
