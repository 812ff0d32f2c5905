#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/export/export_target.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/price.h"
#include "analysis/masks/protection.h"
#include "app/cli/cli_common.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/export/export_targets.h"
#include "backends/json/mask_result_json.h"
#include "backends/json/result_json.h"
#include "backends/session/mask_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

namespace secateur::cli {

namespace {

struct MaskArguments {
    std::vector<std::string> files;
    std::string model;
    std::string out;
    std::string protect = "none";
    std::string unit = "head";
    bool force = false;
};

constexpr std::array units{CutUnit::head,      CutUnit::kvGroup, CutUnit::neuron,
                           CutUnit::attention, CutUnit::mlp,     CutUnit::block};

/// The masks of the named files, and the model that they belong to.
struct ReadMasks {
    ModelCard card; ///< without --model, only the structure is set
    bool hasModel = false;
    std::vector<MaskRecord> records;
    std::vector<std::string> warnings;

    const ModelSpec& spec() const { return card.spec; }
};

ReadMasks readAll(const MaskArguments& arguments, const Console& console) {
    ReadMasks masks;
    if (!arguments.model.empty()) {
        const auto model = open(arguments.model, console, console.progress().part(0, 0));
        masks.card = fullCard(*model);
        masks.hasModel = true;
        for (const std::string& file : arguments.files)
            masks.records.push_back(maskOf(file, *model, masks.warnings));
        return masks;
    }
    masks.card.spec = readMaskedModel(arguments.files.front());
    for (const std::string& file : arguments.files) {
        MaskReading reading = readMask(file, masks.spec(), {});
        for (const std::string& warning : reading.warnings)
            masks.warnings.push_back(file + ": " + warning);
        masks.records.push_back(std::move(reading.record));
    }
    if (masks.spec().architecture == "albert")
        masks.warnings.emplace_back("layers that share their weights are known with --model only: of these, each cut "
                                    "is counted once");
    return masks;
}

/// The record of a new mask, with the name and fingerprint of the model that all input masks were made for. Without
/// --model, masks with different fingerprints give a record without a fingerprint, and a warning.
MaskRecord recordOf(ReadMasks& masks, PruningMask mask, std::string note) {
    MaskRecord record;
    record.mask = std::move(mask);
    record.note = std::move(note);
    record.modelName = masks.hasModel ? masks.card.name : masks.records.front().modelName;
    record.fingerprint = masks.hasModel ? masks.card.fingerprint : masks.records.front().fingerprint;
    for (const MaskRecord& other : masks.records) {
        if (masks.hasModel || other.fingerprint == record.fingerprint)
            continue;
        masks.warnings.emplace_back(
            "the masks were made on checkpoints with different fingerprints: the new one has none");
        record.fingerprint.clear();
        break;
    }
    return record;
}

/// A mask without its cuts of protected units.
PruningMask protectedMask(PruningMask mask, const MaskArguments& arguments, const ModelSpec& spec) {
    Protection::parse(arguments.protect, spec).restore(mask);
    return mask;
}

void tell(const ReadMasks& masks, const PruningMask& mask, const std::string& path, const Console& console) {
    const Price price = PriceList(masks.card).price(mask);
    if (console.json) {
        printJson(maskResultJson(path, {mask, price, masks.hasModel}, masks.warnings));
        return;
    }
    printMask(mask, masks.spec(), price, masks.hasModel);
    printNotes(masks.warnings);
}

/// Warns of layers whose compensation in an input mask is not that of the result.
void warnOfDroppedCompensation(ReadMasks& masks, const PruningMask& result) {
    std::vector<std::string> layers;
    for (int layer = 0; layer < result.layerCount(); ++layer) {
        const auto isDropped = [&](const MaskRecord& record) {
            const LayerMask& own = record.mask.layer(layer);
            return own.compensation && compensationOf(own) != compensationOf(result.layer(layer));
        };
        if (std::ranges::any_of(masks.records, isDropped))
            layers.push_back(std::to_string(layer));
    }
    if (!layers.empty())
        masks.warnings.push_back(
            fmt::format("compensation of layer{} {} is left out, because it was fitted to other cuts",
                        layers.size() == 1 ? "" : "s", join(layers, ", ")));
}

void write(ReadMasks& masks, const PruningMask& mask, const std::string& note, const MaskArguments& arguments) {
    warnOfDroppedCompensation(masks, mask);
    const MaskRecord record = recordOf(masks, mask, note);
    if (arguments.out.empty())
        return;
    writeMask(arguments.out, record, arguments.force);
    noteWritten(arguments.out);
}

void showMask(const MaskArguments& arguments, const Console& console) {
    const ReadMasks masks = readAll(arguments, console);
    const MaskRecord& record = masks.records.front();
    if (!console.json) {
        const std::string name = record.modelName.empty() ? "" : record.modelName + ", ";
        print("for {}{} {}\n", name, record.mask.architecture(), record.mask.structure());
        if (!record.note.empty())
            print("note: {}\n", record.note);
        if (record.provenance && !record.provenance->strategy.empty())
            print("made by {} {}\n", record.provenance->strategy, record.provenance->created);
    }
    tell(masks, record.mask, arguments.files.front(), console);
}

using Combine = PruningMask (*)(const PruningMask&, const PruningMask&);

void combine(const char* what, Combine with, const MaskArguments& arguments, const Console& console) {
    ReadMasks masks = readAll(arguments, console);
    PruningMask result = masks.records.front().mask;
    for (std::size_t i = 1; i < masks.records.size(); ++i)
        result = with(result, masks.records[i].mask);
    result = protectedMask(std::move(result), arguments, masks.spec());
    write(masks, result, fmt::format("{} of {}", what, join(arguments.files, ", ")), arguments);
    tell(masks, result, arguments.out, console);
}

void printPart(const std::string& title, const PruningMask& mask) {
    print("{}{}\n", title, mask.keepsAll() ? ": nothing" : "");
    printCuts(mask);
}

void diffMasks(const MaskArguments& arguments, const Console& console) {
    ReadMasks masks = readAll(arguments, console);
    const MaskDifference parts = differenceOf(masks.records[0].mask, masks.records[1].mask);
    const PruningMask either = protectedMask(unionOf(parts.onlyFirst, parts.onlySecond), arguments, masks.spec());
    write(masks, either, fmt::format("difference of {}", join(arguments.files, ", ")), arguments);
    if (!console.json) {
        printPart("only in " + arguments.files[0], parts.onlyFirst);
        printPart("only in " + arguments.files[1], parts.onlySecond);
        printPart("in both", parts.both);
        printNotes(masks.warnings);
        return;
    }
    const PriceList prices(masks.card);
    const std::array priced{prices.price(either), prices.price(parts.onlyFirst), prices.price(parts.onlySecond),
                            prices.price(parts.both)};
    const bool hasModel = masks.hasModel;
    printJson(maskDifferenceJson(arguments.out, {either, priced[0], hasModel}, {parts.onlyFirst, priced[1], hasModel},
                                 {parts.onlySecond, priced[2], hasModel}, {parts.both, priced[3], hasModel},
                                 masks.warnings));
}

void invert(const MaskArguments& arguments, const Console& console) {
    ReadMasks masks = readAll(arguments, console);
    const auto unit = std::find_if(units.begin(), units.end(), [&](CutUnit u) { return name(u) == arguments.unit; });
    const PruningMask result =
        protectedMask(inversionOf(masks.records.front().mask, *unit, masks.spec()), arguments, masks.spec());
    write(masks, result, fmt::format("the other {} of {}", plural(*unit), arguments.files.front()), arguments);
    tell(masks, result, arguments.out, console);
}

void grow(const MaskArguments& arguments, const Console& console) {
    ReadMasks masks = readAll(arguments, console);
    const PruningMask result =
        protectedMask(grownToKvGroups(masks.records.front().mask, masks.spec()), arguments, masks.spec());
    write(masks, result, fmt::format("{} grown to whole KV groups", arguments.files.front()), arguments);
    tell(masks, result, arguments.out, console);
}

void legalise(const MaskArguments& arguments, const Console& console) {
    ReadMasks masks = readAll(arguments, console);
    const LegalMask legal = legalised(masks.records.front().mask, masks.spec(), LegaliseBy::either,
                                      Protection::parse(arguments.protect, masks.spec()));
    write(masks, legal.mask, fmt::format("{} with equal KV groups", arguments.files.front()), arguments);
    if (!console.json)
        print("{} cut in addition, {} kept after all\n", counted(legal.cut.size(), "head"),
              counted(legal.kept.size(), "head"));
    tell(masks, legal.mask, arguments.out, console);
}

using Work = std::function<void(const MaskArguments&, const Console&)>;

/// Adds a verb. @param least minimum number of mask files @param most maximum number of mask files
CLI::App* addVerb(CLI::App& parent, const char* verbName, const char* summary, int least, int most, Work work,
                  std::shared_ptr<MaskArguments> arguments, Console& console) {
    CLI::App* verb = parent.add_subcommand(verbName, summary);
    verb->add_option("MASK", arguments->files, "Mask .json")->required()->expected(least, most);
    verb->add_option("--model", arguments->model,
                     "Checkpoint of the masks: checks their structure and counts parameters, bytes and operations")
        ->option_text("MODEL");
    addCommonOptions(*verb, console);
    verb->callback([work = std::move(work), arguments, &console] {
        if (!arguments->out.empty())
            checkCanWrite(arguments->out, FileKind::mask, arguments->force);
        work(*arguments, console);
    });
    return verb;
}

void addOutput(CLI::App& verb, MaskArguments& arguments) {
    verb.add_option("--out", arguments.out, "Mask .json to write; without it the result is only printed")
        ->option_text("FILE");
    verb.add_option("--protect", arguments.protect,
                    "Units that the result does not cut: first_last, none, or layers and heads such as 0,29,3.4,5.1-3")
        ->check(offers({"first_last", "none"}))
        ->capture_default_str();
    addForceOption(verb, arguments.force);
}

} // namespace

void addMask(CLI::App& program, Console& console) {
    CLI::App* mask = program.add_subcommand("mask", "Show and combine masks");
    mask->require_subcommand(1);
    const auto add = [&](const char* verb, const char* summary, const char* example, int least, int most, Work work) {
        auto arguments = std::make_shared<MaskArguments>();
        CLI::App* added = addVerb(*mask, verb, summary, least, most, std::move(work), arguments, console);
        if (verb != std::string_view("show"))
            addOutput(*added, *arguments);
        added->footer(std::string("Example: secateur-cli mask ") + verb + " " + example);
        if (verb == std::string_view("invert")) {
            std::vector<std::string> names;
            for (const CutUnit unit : units)
                names.emplace_back(name(unit));
            added->add_option("--unit", arguments->unit, "Kind of unit to invert; nothing else is cut")
                ->check(CLI::IsMember(names))
                ->capture_default_str();
        }
    };
    constexpr int any = 1000;
    const auto combining = [](const char* what, Combine with) {
        return
            [what, with](const MaskArguments& arguments, const Console& own) { combine(what, with, arguments, own); };
    };
    add("show", "Show the cuts of a mask and what they save", "cut.mask.json", 1, 1, showMask);
    add("union", "Cut the units that any of the masks cuts", "a.mask.json b.mask.json --out both.mask.json", 2, any,
        combining("union", unionOf));
    add("intersect", "Cut the units that all masks cut", "a.mask.json b.mask.json --out shared.mask.json", 2, any,
        combining("intersection", intersectionOf));
    add("subtract", "Cut the units that the first mask cuts and the others do not",
        "a.mask.json b.mask.json --out rest.mask.json", 2, any, combining("difference", subtraction));
    add("diff", "Show the cuts of only the first, only the second, and both masks", "a.mask.json b.mask.json", 2, 2,
        diffMasks);
    add("invert", "Cut exactly the units of one kind that a mask keeps",
        "cut.mask.json --unit head --out other.mask.json", 1, 1, invert);
    add("grow", "Cut whole KV groups where a mask cuts some of their heads", "cut.mask.json --out whole.mask.json", 1,
        1, grow);
    add("legalise", "Change as few heads as possible until all KV groups of a layer keep the same number",
        "cut.mask.json --out legal.mask.json", 1, 1, legalise);
    mask->footer("Example: secateur-cli mask union a.mask.json b.mask.json --out both.mask.json");
}

} // namespace secateur::cli
