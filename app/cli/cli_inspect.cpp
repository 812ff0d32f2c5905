#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/session/session.h"
#include "app/cli/cli_common.h"
#include "app/cli/inspect_weights.h"
#include "app/cli/sweep_output.h"
#include "backends/engine/open_model.h"
#include "backends/engine/plan_memory.h"
#include "backends/json/result_json.h"
#include "backends/session/session_hdf5.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace secateur::cli {

namespace {

struct InspectArguments {
    std::string path;
    bool tensors = false;
    std::optional<std::string> tokens;
    bool parseSpecial = false;
    bool statistics = false;
    std::string compare;   ///< path of a second checkpoint; empty = none
    std::string csvFolder; ///< empty = no files
};

/// The values of a field over the layers: "9", or "6 to 9" if they differ.
std::string range(const ModelSpec& spec, int LayerSpec::*member) {
    const auto [least, most] = std::minmax_element(spec.layers.begin(), spec.layers.end(),
                                                   [&](const auto& a, const auto& b) { return a.*member < b.*member; });
    if (least == spec.layers.end())
        return "0";
    return (*least).*member == (*most).*member ? fmt::format("{}", (*least).*member)
                                               : fmt::format("{} to {}", (*least).*member, (*most).*member);
}

std::string shapeText(const TensorInfo& tensor) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : tensor.shape)
        sizes.push_back(std::to_string(size));
    return join(sizes, " x ");
}

std::string layersText(const ModelSpec& spec) {
    const std::size_t stored = spec.tiedGroups().size();
    return stored == 0 ? std::to_string(spec.layerCount())
                       : fmt::format("{}, sharing the weights of {}", spec.layerCount(), stored);
}

/// @param memory memoryText(); empty for a session, which has no weights
void printCard(const ModelCard& card, const std::string& memory = {}) {
    const ModelSpec& spec = card.spec;
    Rows<2> rows{
        {"model", card.name},
        {"path", card.path},
        {"format", card.format},
        {"architecture", fmt::format("{} ({})", spec.architecture, name(spec.family))},
        {"layers", layersText(spec)},
        {"hidden size", std::to_string(spec.hidden)},
        {"heads", fmt::format("{}, in {} KV groups", range(spec, &LayerSpec::heads), range(spec, &LayerSpec::kvHeads))},
        {"head size", range(spec, &LayerSpec::headDim)},
        {"MLP width", range(spec, &LayerSpec::ffn)},
        {"vocabulary", fmt::format("{} tokens", grouped(static_cast<std::uint64_t>(spec.vocab)))},
        {"context",
         spec.context > 0 ? fmt::format("{} tokens", grouped(static_cast<std::uint64_t>(spec.context))) : "not stated"},
        {"parameters", fmt::format("{} ({})", shortCount(static_cast<double>(card.parameters)),
                                   grouped(static_cast<std::uint64_t>(card.parameters)))},
        {"size", fmt::format("{}, {}", shortBytes(static_cast<double>(card.bytes)), card.dtype)},
        {"tokenizer", card.tokenizer.empty() ? "none" : card.tokenizer},
        {"fingerprint", card.fingerprint}};
    if (spec.family == Family::decoder)
        rows.push_back({"embeddings", spec.tiedEmbeddings ? "tied" : "separate"});
    if (!memory.empty())
        rows.push_back({"in memory", memory});
    print(Table({{}, {}}, rows));
}

/// What runs on the CPU hold in memory: "538.1 MB of weights in float32; generation reads the file instead".
std::string memoryText(const Model& model) {
    const HeldWeights held = heldWeights(model, PruningMask(model.spec()), ComputeType::automatic);
    return fmt::format("{} of weights in {}{}", shortBytes(static_cast<double>(held.converted)), name(held.type),
                       held.stored > 0 ? "; generation reads the file instead" : "");
}

void printTensors(const std::vector<TensorInfo>& tensors) {
    Rows<5> rows;
    for (const TensorInfo& tensor : tensors)
        rows.push_back(
            {tensor.name, tensor.dtype, shapeText(tensor), shortBytes(static_cast<double>(tensor.bytes)), tensor.file});
    print(Table({{"tensor"}, {"type"}, {"shape", Align::right}, {"size", Align::right}, {"file"}}, rows));
}

std::vector<TensorInfo> sortedTensors(const std::string& path) {
    std::vector<TensorInfo> tensors = listTensors(path);
    std::ranges::sort(tensors, {}, [](const TensorInfo& tensor) { return naturalKey(tensor.name); });
    return tensors;
}

void printCardNotes(const ModelCard& card) {
    printNotes(card.warnings);
}

void inspectSession(const std::string& path, bool json) {
    const Session session = readSession(path);
    if (json) {
        printJson(inspectJson(session.model));
        return;
    }
    printCard(session.model);
    printResults(session);
    printCardNotes(session.model);
}

void printTokens(const Tokenizer& tokenizer, std::string_view text, const Encoding& encoding) {
    const TokenizerCard& card = tokenizer.card();
    print("{} of {} tokens, from {}\n\n", card.kind, grouped(static_cast<std::uint64_t>(card.size)), card.source);
    Rows<4> rows;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const TextRange& range = encoding.ranges[i];
        rows.push_back({std::to_string(encoding.ids[i]), tokenizer.token(encoding.ids[i]).value_or(""),
                        range.begin == range.end ? "added" : fmt::format("{}-{}", range.begin, range.end),
                        std::string(text.substr(range.begin, range.end - range.begin))});
    }
    print(Table({{"id", Align::right}, {"token"}, {"bytes"}, {"text"}}, rows));
    if (!card.chatTemplate.empty())
        printText("\nchat template (not executed):\n" + card.chatTemplate + "\n");
    printNotes(card.warnings);
}

void inspectTokens(const InspectArguments& arguments, bool json) {
    const auto tokenizer = openTokenizer(arguments.path);
    const Encoding encoding = tokenizer->encode(
        *arguments.tokens,
        {.special = arguments.parseSpecial ? SpecialText::parsed : SpecialText::plain, .ranges = true});
    if (json)
        printJson(tokensJson(*tokenizer, *arguments.tokens, encoding));
    else
        printTokens(*tokenizer, *arguments.tokens, encoding);
}

/// Statistics and comparisons read checkpoints. @throws Error for a session; UsageError
void inspectWeights(const InspectArguments& arguments, const Console& console) {
    for (const std::string& path : {arguments.path, arguments.compare})
        if (!path.empty() && isSession(path))
            throw Error("is a session, which contains no tensors", path, "Give the checkpoint instead");
    if (arguments.statistics)
        inspectStatistics(arguments.path, arguments.csvFolder, console);
    else
        inspectComparison(arguments.path, arguments.compare, arguments.csvFolder, console);
}

void inspect(const InspectArguments& arguments, const Console& console) {
    if (arguments.tokens)
        return inspectTokens(arguments, console.json);
    if (arguments.statistics || !arguments.compare.empty())
        return inspectWeights(arguments, console);
    if (!arguments.csvFolder.empty())
        throw UsageError("is for the tables of --statistics and --compare", "--csv");
    if (isSession(arguments.path) && arguments.tensors)
        throw Error("is a session, which contains no tensors", arguments.path, "Give the checkpoint instead");
    if (isSession(arguments.path))
        return inspectSession(arguments.path, console.json);
    const auto model = open(arguments.path, console, console.progress());
    const ModelCard card = fullCard(*model);
    if (console.json && arguments.tensors)
        printJson(inspectJson(card, sortedTensors(arguments.path)));
    else if (console.json)
        printJson(inspectJson(card));
    else if (arguments.tensors)
        printTensors(sortedTensors(arguments.path));
    else
        printCard(card, memoryText(*model));
    if (!console.json)
        printCardNotes(card);
}

} // namespace

void addInspect(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<InspectArguments>();
    CLI::App* verb = program.add_subcommand("inspect", "Show the model card of a checkpoint or a session");
    verb->add_option("MODEL", arguments->path,
                     "Hugging Face directory, a file in a format of `list formats`, or a session .h5")
        ->required();
    auto* tensors = verb->add_flag("--tensors", arguments->tensors, "List the tensors instead of the model card");
    auto* tokens =
        verb->add_option("--tokens", arguments->tokens,
                         "Show the tokens of this text instead of the model card (MODEL may be a tokenizer file)")
            ->option_text("TEXT")
            ->check(isUtf8())
            ->excludes(tensors);
    auto* statistics =
        verb->add_flag("--statistics", arguments->statistics,
                       "Show statistics of the tensors' numbers: mean, standard deviation, outliers, effective bits")
            ->excludes(tensors)
            ->excludes(tokens);
    verb->add_option("--compare", arguments->compare,
                     "Compare the tensors with those of another checkpoint: signal to noise, relative error")
        ->option_text("MODEL")
        ->excludes(statistics)
        ->excludes(tensors)
        ->excludes(tokens);
    verb->add_option("--csv", arguments->csvFolder,
                     "Write the table, and histograms of --statistics, as CSV files into a folder")
        ->option_text("DIR");
    verb->add_flag("--parse-special", arguments->parseSpecial, "Parse special tokens (\"<s>\") in TEXT")->needs(tokens);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli inspect SmolLM2-135M-Instruct.Q4_1.gguf --json");
    verb->callback([arguments, &console] { inspect(*arguments, console); });
}

namespace {

struct SessionArguments {
    std::vector<std::string> paths;
    std::string out;
};

/// Joins sessions of one model. The view is that of the first session.
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

std::array<std::string, 9> row(const Session& session, const Evaluation& stored) {
    const Evaluation evaluation = compared(session, stored);
    std::array<std::string, 9> cells{shownName(evaluation.mask, evaluation.adapter),
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
    Rows<9> rows;
    for (const Evaluation& evaluation : session.evaluations)
        rows.push_back(row(session, evaluation));
    print("\n");
    print(Table({{"mask"},
                 {"perplexity", Align::right},
                 {"nats", Align::point},
                 {"difference", Align::point},
                 {"windows", Align::right},
                 {"text"},
                 {"type"},
                 {"tasks"},
                 {"tokens/s", Align::point}},
                rows));
}

void printMasks(const Session& session) {
    if (session.masks.empty())
        return;
    Rows<2> rows;
    for (const SessionMask& mask : session.masks)
        rows.push_back({mask.name, mask.digest});
    print("\n");
    print(Table({{"mask"}, {"digest"}}, rows));
}

void printUnscored(const MeasuredData& text) {
    print("masks chosen on part {} of {} of {} ({}), not scored\n", text.part, text.parts, text.source,
          counted(static_cast<std::uint64_t>(text.tokens), "token"));
}

void showVerb(const SessionArguments& arguments, const Console& console) {
    const Session session = readSession(arguments.paths.front());
    if (console.json) {
        printJson(sessionJson(session));
        return;
    }
    print("{}: {} ({}), {}, made {}\n", arguments.paths.front(), session.model.name, session.model.spec.architecture,
          session.model.fingerprint, session.created);
    printResults(session);
    printMasks(session);
    printEvaluations(session);
    for (const Curves& curves : session.curves) {
        print("\n");
        if (curves.areScored())
            printCurves(curves);
        else
            printUnscored(curves.conditions.calibration);
        printNotes(curves.warnings);
    }
}

/// Number of points of all curves.
std::size_t pointsOf(const Session& session) {
    std::size_t points = 0;
    for (const Curves& curves : session.curves)
        for (const Curve& curve : curves.curves)
            points += curve.points.size();
    return points;
}

void mergeVerb(const SessionArguments& arguments, const Console& console) {
    Session all = joined(arguments.paths);
    checkCanAdd(all.model, arguments.out);
    if (hasContent(arguments.out))
        all.view.clear(); // keeps the view that is in the file
    addToSession(all, arguments.out);
    noteWritten(arguments.out);
    const Session made = readSession(arguments.out);
    if (console.json)
        printJson(sessionJson(made));
    else
        print("{}: {}, {}, {}{}\n", arguments.out, counted(made.results.size(), "measurement"),
              counted(made.masks.size(), "mask"), counted(made.evaluations.size(), "evaluation"),
              made.curves.empty() ? "" : ", " + counted(pointsOf(made), "point"));
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
        "merge",
        "Join the metrics, masks, evaluations and curves of one model. A repeated measurement is taken from the later "
        "file, a stopped evaluation from the file where it came further, the window's state from the first");
    merge->add_option("SESSION", merged->paths, "Sessions .h5")->required()->expected(1, 1000);
    merge->add_option("--out", merged->out, "Session .h5 to write, or to add to")->required()->option_text("FILE");
    addCommonOptions(*merge, console);
    merge->footer("Example: secateur-cli session merge server.h5 laptop.h5 --out both.h5");
    merge->callback([merged, &console] { mergeVerb(*merged, console); });
}

} // namespace secateur::cli
