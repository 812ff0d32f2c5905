#include "analysis/base/text.h"
#include "app/cli/cli_common.h"
#include "backends/export/export_targets.h"
#include "backends/json/result_json.h"

#include <fmt/core.h>

namespace secateur::cli {

namespace {

struct ExportArguments {
    std::string path;
    std::string mask;
    std::string target;
    ExportRequest request;
};

void print(const ExportResult& result) {
    std::vector<std::vector<std::string>> rows{{"file", "bytes"}};
    for (const ExportedFile& file : result.files)
        rows.push_back({file.path, grouped(static_cast<std::uint64_t>(file.bytes))});
    fmt::print("{}", table(std::move(rows), {Align::left, Align::right}));
    fmt::print("reopened: the logits of {} tokens differ from the masked model's by at most {} (largest logit {})\n",
               result.verified.tokens, significant(result.verified.most), significant(result.verified.scale));
    if (!result.leftOut.empty())
        fmt::print("left out: {}\n", join(result.leftOut, ", "));
    for (const std::string& warning : result.warnings)
        fmt::print(stderr, "note: {}\n", warning);
}

void exportVerb(ExportArguments arguments, const Console& console) {
    const Progress progress = console.progress();
    const auto model = open(arguments.path, console, progress.part(0, 0));
    std::vector<std::string> warnings;
    arguments.request.record = maskOf(arguments.mask, *model, warnings);
    ExportResult result = exportModel(*model, exportTarget(arguments.target), arguments.request, progress);
    result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
    if (console.json)
        fmt::print("{}\n", exportJson(result));
    else
        print(result);
}

/// The targets that --as takes: those that are available.
std::vector<const ExportTarget*> availableTargets() {
    std::vector<const ExportTarget*> targets;
    for (const ExportTarget& target : exportTargets())
        if (target.writer)
            targets.push_back(&target);
    return targets;
}

} // namespace

void addExport(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<ExportArguments>();
    CLI::App* verb = program.add_subcommand("export", "Write a checkpoint of a model under a mask");
    std::vector<std::string> ids, summaries;
    for (const ExportTarget* target : availableTargets()) {
        ids.emplace_back(target->id);
        summaries.push_back(fmt::format("{}: {}", target->id, target->summary));
    }
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--mask", arguments->mask, "Mask .json with the cuts")->option_text("FILE")->required();
    verb->add_option("--as", arguments->target, join(summaries, "; "))->check(CLI::IsMember(ids))->required();
    verb->add_option("--out", arguments->request.path, "File .gguf for a GGUF in one piece, else a folder")
        ->option_text("PATH")
        ->required();
    verb->add_flag("--force", arguments->request.mayReplace, "Replace the files of an earlier export");
    addCommonOptions(*verb, console);
    verb->footer(
        "Every export is reopened, and its logits are compared with the masked model's, before it is "
        "renamed to its final name.\nExample: secateur-cli export MODEL --mask cut.mask.json --as masked --out pruned");
    verb->callback([arguments, &console] { exportVerb(*arguments, console); });
}

} // namespace secateur::cli
