#include "app/cli/cli_common.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/export/export_target.h"
#include "app/cli/evaluate_text.h"
#include "app/cli/output.h"
#include "app/cli/table.h"
#include "app/reference/offered_values.h"
#include "backends/engine/adapted_model.h"
#include "backends/export/export_targets.h"
#include "backends/formats/hf_config.h"
#include "backends/json/mask_result_json.h"
#include "backends/training/peft_files.h"
#include "backends/training/recovery_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace secateur::cli {

namespace {

struct ExportArguments {
    std::string path;
    RunOptions run;         ///< mask and adapter
    std::string adapterOut; ///< folder of an adapter that is not merged; empty = it is merged
    std::string target;
    std::string layout = "auto";
    std::string legalise; ///< empty = no
    std::string text;     ///< on which the export is evaluated; empty = it is not
    std::int64_t mostTokens = 8192;
    std::string protect = "none";
    ExportRequest request;
};

void printExport(const ExportResult& result) {
    Rows<2> rows;
    for (const ExportedFile& file : result.files)
        rows.push_back({file.path, grouped(static_cast<std::uint64_t>(file.bytes))});
    print(Table({{"file"}, {"bytes", Align::right}}, rows));
    print("{}\n", sentence(result.verified));
    for (const std::string& line : result.measured)
        print("{}\n", line);
    if (!result.adapterPath.empty())
        print("adapter: {}\n", result.adapterPath);
    if (!result.leftOut.empty())
        print("left out: {}\n", join(result.leftOut, ", "));
    printNotes(result.warnings);
}

/// Replaces the mask of a record by a legal one, and says what changed.
void legaliseRecord(MaskRecord& record, const ModelSpec& spec, const ExportArguments& arguments,
                    std::vector<std::string>& warnings) {
    const LegaliseBy by = arguments.legalise == "keep"     ? LegaliseBy::keeping
                          : arguments.legalise == "either" ? LegaliseBy::either
                                                           : LegaliseBy::cutting;
    LegalMask legal = legalised(record.mask, spec, by, Protection::parse(arguments.protect, spec));
    if (legal.mask == record.mask)
        return;
    warnings.push_back(fmt::format("the mask was legalised: {} more heads are cut, {} are restored", legal.cut.size(),
                                   legal.kept.size()));
    if (!legal.restoredLayers.empty())
        warnings.push_back(fmt::format("heads are restored in {}: cutting alone would cut protected heads there",
                                       counted(legal.restoredLayers.size(), "layer")));
    record.mask = std::move(legal.mask);
}

/// A function that scores the text under the mask and by an export.
auto evaluationOf(const std::shared_ptr<const Model>& model, const ExportArguments& arguments,
                  std::vector<std::string>& warnings, const Progress& progress) {
    TextOptions options;
    options.path = arguments.text;
    options.rules.mostTokens = arguments.mostTokens;
    ReadyModel ready{model, nullptr, {}, {}};
    auto text = std::make_shared<const EvaluationText>(readText(ready, options, progress));
    warnings.insert(warnings.end(), ready.warnings.begin(), ready.warnings.end());
    return [model, text, mask = arguments.request.record.mask](const Model& exported, const Progress& part) {
        const auto scored = [&](const Model& own, const PruningMask& cuts, const Progress& share) {
            return perplexity(own, *own.runner().plan(cuts, ComputeType::float32), text->scored, 4096, share);
        };
        const Perplexity masked = scored(*model, mask, part.part(0, 0.5));
        const Perplexity found = scored(exported, PruningMask(exported.spec()), part.part(0.5, 1));
        return std::vector{fmt::format(
            "Perplexity: {} of the masked model, {} of the export, on {} tokens of {} ({}, windows of {}, BOS {}, "
            "float32)",
            significant(masked.perplexity(), 6), significant(found.perplexity(), 6),
            grouped(static_cast<std::uint64_t>(found.tokens)), std::filesystem::path(text->source).filename().string(),
            name(found.rules.protocol), found.rules.window, name(found.rules.bos.value()))};
    };
}

/// Checks that an adapter can be written beside the export. @throws UsageError; Error if its files are there already
void checkAdapterOut(const ExportArguments& arguments, const ExportTarget& target, const Model& source) {
    const std::string_view format = target.format.empty() ? source.card().format : target.format;
    if (format != "safetensors" && format != "pytorch")
        throw UsageError(fmt::format("needs an export in the format of Hugging Face, for PEFT; this one is {}", format),
                         "--adapter-out");
    const auto isSame = [](const std::string& one, const std::string& other) {
        return std::filesystem::weakly_canonical(one) == std::filesystem::weakly_canonical(other);
    };
    if (isSame(arguments.adapterOut, arguments.run.adapter) || isSame(arguments.adapterOut, arguments.request.path))
        throw UsageError("needs a folder of its own, other than those of --adapter and --out", "--adapter-out");
    if (adapterExists(arguments.adapterOut) && !arguments.request.mayReplace)
        throw Error("has an adapter already", arguments.adapterOut,
                    "Choose another folder, or allow replacing it (--force)");
}

/// Writes the adapter of an export that did not merge it. @param source card of the model with the adapter
void writeExportedAdapter(const std::string& folder, const ModelCard& source, ExportResult& result) {
    Adapter adapter = *result.adapter;
    adapter.modelName = result.path;
    writeAdapter(folder, adapter, *openModel(result.openedPath));
    const bool hasClassifier = adapter.weights.contains({-1, WeightName::classifier});
    writeClassNames(folder, hasClassifier ? classNames(source) : std::vector<std::string>());
    result.adapterPath = folder;
    noteWritten(folder);
}

void checkArguments(const ExportArguments& arguments) {
    if (arguments.run.mask.empty() && arguments.run.adapter.empty())
        throw UsageError("is required, unless there is an --adapter", "--mask");
    checkTargetNames(exportTargets(), arguments.target, arguments.layout);
}

void exportVerb(ExportArguments arguments, const Console& console) {
    checkArguments(arguments);
    const Progress progress = console.progress();
    std::vector<std::string> warnings;
    const auto model = openAdapted(arguments.path, arguments.run, console, progress.part(0, 0), warnings);
    MaskRecord& record = arguments.request.record;
    record.mask = PruningMask(model->spec());
    if (!arguments.run.mask.empty())
        record = maskOf(arguments.run.mask, *model, warnings);
    if (!arguments.legalise.empty())
        legaliseRecord(record, model->spec(), arguments, warnings);
    const ExportTarget& target = chosenTarget(exportTargets(), arguments.target, arguments.layout, record.mask,
                                              model->spec(), model->card().format);
    if (!arguments.text.empty())
        arguments.request.evaluate = evaluationOf(model, arguments, warnings, progress.part(0, 0));
    if (!arguments.adapterOut.empty()) {
        checkAdapterOut(arguments, target, *model);
        arguments.request.adapter = adapterOf(*model);
    }
    const Model& source = arguments.request.adapter ? baseOf(*model) : *model;
    ExportResult result = exportModel(source, target, arguments.request, progress);
    if (result.adapter)
        writeExportedAdapter(arguments.adapterOut, model->card(), result);
    result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
    addOverwrittenFiles(*model, result.warnings);
    for (const ExportedFile& file : result.files)
        noteWritten(file.path);
    if (console.json)
        printJson(exportJson(result));
    else
        printExport(result);
}

/// The values of --as and the layouts of each, for the help.
std::string targetsHelp() {
    std::vector<std::string> lines;
    for (const ExportTarget& target : exportTargets())
        if (target.writer)
            lines.push_back(fmt::format("{} (layout {}): {}", target.as, target.layout, target.summary));
    return join(lines, "; ");
}

/// The values of --as or --layout, each once.
template <typename Name>
std::vector<std::string> namesOfTargets(Name name) {
    std::vector<std::string> names;
    for (const ExportTarget& target : exportTargets())
        if (target.writer && std::ranges::find(names, target.*name) == names.end())
            names.emplace_back(target.*name);
    return names;
}

} // namespace

void addExport(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<ExportArguments>();
    CLI::App* verb = program.add_subcommand("export", "Write a checkpoint of a model under a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--mask", arguments->run.mask, "Mask .json with the cuts; needed unless there is an --adapter")
        ->option_text("FILE");
    CLI::Option* adapter = addAdapterOption(*verb, arguments->run);
    verb->add_option("--adapter-out", arguments->adapterOut,
                     "Folder for the adapter in the shapes of the export, which is then not merged into the weights")
        ->needs(adapter)
        ->option_text("DIR");
    verb->add_option("--as", arguments->target, targetsHelp())
        ->required()
        ->check(offers(namesOfTargets(&ExportTarget::as)));
    verb->add_option("--layout", arguments->layout,
                     "Layout of the export; auto = the first that can hold the mask [auto]")
        ->check(offers(namesOfTargets(&ExportTarget::layout)));
    verb->add_option("--type", arguments->request.type,
                     "Type of all matrices: F32, F16, BF16; in GGUF also Q8_0, Q5_1, Q5_0, Q4_1, Q4_0 [as stored]")
        ->check(offers({"F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0"}));
    verb->add_option("--legalise", arguments->legalise,
                     "Change the mask so that all KV groups of a layer keep equally many heads: cut = cut more heads, "
                     "keep = restore heads, either = whichever changes fewer [cut]")
        ->expected(0, 1)
        ->default_str("cut")
        ->check(CLI::IsMember({"cut", "keep", "either"}));
    verb->add_option("--protect", arguments->protect,
                     "Units that --legalise does not cut: first_last, none, or layers and heads such as 0,29,3.4,5.1-3")
        ->check(offers({"first_last", "none"}))
        ->capture_default_str();
    verb->add_option("--text", arguments->text,
                     "Text on which the masked model and the export are evaluated, for the output and the card")
        ->option_text("FILE|DIR");
    verb->add_option("--max-tokens", arguments->mostTokens, "Maximum number of tokens of the text [8192]")
        ->needs("--text");
    verb->add_option("--out", arguments->request.path,
                     "Path to write: a .gguf file for a GGUF in one piece, else a folder")
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
