#include "analysis/base/text.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/masks/price.h"
#include "app/cli/cli_common.h"
#include "app/cli/measure_text.h"
#include "app/cli/run_forecast.h"
#include "app/cli/table.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/json/compensation_json.h"
#include "backends/session/mask_json.h"
#include "backends/text/measure_on_text.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

namespace secateur::cli {

namespace {

struct CompensateArguments {
    std::string path;
    std::string mode = "weights";
    std::string out;
    bool force = false;
    RunOptions run;
    MeasureOptions text;
};

/// Fits the compensation, and prints the expected duration before.
FittedMask fitted(const ReadyModel& ready, CompensationMode mode, const SequenceText& text,
                  const CompensateArguments& arguments, const Console& console, const Progress& progress) {
    const PruningMask& mask = ready.mask->mask;
    RunForecast forecast(*ready.model, {ready.plan}, console, progress);
    forecast.add(sizeOf(text.set), compensationPasses(ready.model->spec(), mask, mode, text.data.allTokens));
    forecast.say();
    const FitText fitText{text.set.sequences, arguments.text.batchTokens, computeTypeOf(arguments.run.dtype)};
    return fitCompensation(*ready.model, mask, mode, fitText, withTimeLeft(progress, console));
}

/// The mu and the errors of each projection.
void printParts(const std::vector<FittedPart>& parts) {
    if (parts.empty())
        return;
    Rows<5> rows;
    for (const FittedPart& part : parts)
        rows.push_back({std::to_string(part.layer), part.isAttention ? "output" : "down",
                        part.mu > 0 ? significant(part.mu) : "", fmt::format("{:.2f} %", 100 * part.errorBefore),
                        fmt::format("{:.2f} %", 100 * part.errorAfter)});
    print(Table({{"layer", Align::right},
                 {"projection"},
                 {"mu", Align::point},
                 {"error before", Align::point},
                 {"after", Align::point}},
                rows));
    print("Errors are squared errors of the projections' outputs, on tokens held out to choose mu.\n");
}

void compensateVerb(const CompensateArguments& arguments, const Console& console) {
    const CompensationMode mode = compensationModeOf(arguments.mode);
    checkCanWrite(arguments.out, FileKind::mask, arguments.force);
    MaskRecord record;
    FittedMask fit;
    std::vector<std::string> warnings;
    ModelCard card;
    {
        const Progress progress = console.progress();
        ReadyModel ready = openToRun(arguments.path, arguments.run, console, progress.part(0, 0));
        card = fullCard(*ready.model);
        record = *ready.mask;
        if (mode != CompensationMode::none && !canCompensate(card.spec, record.mask))
            ready.warnings.emplace_back("nothing was fitted: no sublayer keeps only some of its units");
        if (mode == CompensationMode::none) {
            record.mask = withoutCompensation(record.mask);
            if (record.provenance)
                noteFit(*record.provenance, {mode}, {});
        } else if (mode != CompensationMode::own) {
            const SequenceText text = readSequenceText(*ready.model, arguments.text.text, progress.part(0, 0));
            fit = fitted(ready, mode, text, arguments, console, progress);
            record.mask = fit.mask;
            if (!record.provenance)
                record.provenance.emplace();
            noteFit(*record.provenance, {mode, text.data.source, text.data.allTokens, text.data.sequenceLength},
                    fit.parts);
            warnings.insert(warnings.end(), text.warnings.begin(), text.warnings.end());
        }
        warnings.insert(warnings.begin(), ready.warnings.begin(), ready.warnings.end());
        addOverwrittenFiles(*ready.model, warnings);
    }
    writeMask(arguments.out, record, arguments.force);
    noteWritten(arguments.out);
    const Price price = PriceList(card).price(record.mask);
    if (console.json) {
        printJson(compensationJson(arguments.out, mode, fit.parts, {record.mask, price}, warnings));
        return;
    }
    print("compensation {} of ", name(mode));
    printMask(record.mask, card.spec, price, true);
    printParts(fit.parts);
    printNotes(warnings);
}

} // namespace

void addCompensate(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<CompensateArguments>();
    CLI::App* verb = program.add_subcommand("compensate", "Change kept weights to make up for the cuts of a mask");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, or a file in a format of `list formats`")
        ->required();
    verb->add_option("--mask", arguments->run.mask, "Mask .json to compensate; its earlier compensation is replaced")
        ->required()
        ->option_text("FILE");
    verb->add_option("--compensate", arguments->mode, "bias, scale, both or weights; none removes the compensation")
        ->check(offers({"bias", "scale", "both", "weights", "none"}))
        ->capture_default_str();
    verb->add_option("--out", arguments->out, "Mask .json to write; a .compensation.safetensors is written beside it")
        ->required()
        ->option_text("FILE");
    addForceOption(*verb, arguments->force);
    addMeasureOptions(*verb, arguments->text);
    addRunOptions(*verb, arguments->run);
    addCommonOptions(*verb, console);
    verb->footer(
        "Example: secateur-cli compensate Llama-3.1-8B --mask cut.mask.json --text calibration.txt --max-tokens "
        "8192 --out cut_w.mask.json");
    verb->callback([arguments, &console] { compensateVerb(*arguments, console); });
}

} // namespace secateur::cli
