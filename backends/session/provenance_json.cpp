#include "backends/session/provenance_json.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/budget.h"
#include "backends/session/mask_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace secateur {

namespace {

/// Reads a budget: a number of units, or a text such as "12.5%" or "params:20%".
std::optional<Budget> readBudget(const JsonObject& provenance) {
    constexpr const char* key = "budget";
    if (!provenance.isSet(key))
        return std::nullopt;
    if (provenance.isText(key)) {
        const std::string text = provenance.text(key).value();
        try {
            if (const Budget budget = parseBudget(text); budget.isPercentage)
                return budget;
        } catch (const UsageError&) { // told below with the place in the file
        }
        provenance.refuse(key, fmt::format("expected a number or a percentage, found \"{}\"", text));
    }
    const double amount = provenance.number(key).value();
    if (!std::isfinite(amount) || amount < 0)
        provenance.refuse(key, fmt::format("expected a number from 0, found {}", amount));
    return Budget{std::abs(amount), false}; // abs() turns -0 into 0
}

/// A number as JSON; null if it is not finite.
std::string numberJson(double value) {
    return std::isfinite(value) ? exactly(value) : "null";
}

double readNumber(const JsonObject& object, const char* key) {
    return object.number(key).value_or(std::numeric_limits<double>::quiet_NaN());
}

int whole(const JsonObject& from, const char* key) {
    return static_cast<int>(from.integer(key, 0, std::numeric_limits<int>::max()).value_or(0));
}

/// @param usual the unit if the field is absent
CutUnit readUnit(const JsonObject& cut, std::string_view usual) {
    const std::string text = cut.text("unit").value_or(std::string(usual));
    const auto unit = cutUnitOf(text);
    if (!unit)
        cut.refuse("unit", fmt::format("\"{}\" is not a unit that can be cut", text));
    return *unit;
}

std::optional<PruneHistory> readHistory(const JsonObject& provenance) {
    const auto object = provenance.object("history");
    if (!object)
        return std::nullopt;
    object->allowOnly({"measure", "before", "steps", "cuts"});
    PruneHistory history;
    history.measure = object->text("measure").value_or("");
    history.before = readNumber(*object, "before");
    history.steps = whole(*object, "steps");
    for (const JsonObject& cut : object->objects("cuts").value_or(std::vector<JsonObject>())) {
        cut.allowOnly({"step", "layer", "head", "unit", "score", "value"});
        history.cuts.push_back({whole(cut, "step"),
                                {whole(cut, "layer"), whole(cut, "head")},
                                readNumber(cut, "score"),
                                readNumber(cut, "value"),
                                readUnit(cut, name(CutUnit::head))});
    }
    return history;
}

std::vector<OrderedCut> readOrder(const JsonObject& provenance) {
    std::vector<OrderedCut> order;
    for (const JsonObject& cut : provenance.objects("order").value_or(std::vector<JsonObject>())) {
        cut.allowOnly({"unit", "layer", "index", "score"});
        order.push_back({readUnit(cut, ""), whole(cut, "layer"), whole(cut, "index"), readNumber(cut, "score")});
    }
    return order;
}

std::vector<AlphaCurve> readAlphaCurves(const JsonObject& provenance) {
    std::vector<AlphaCurve> curves;
    for (const JsonObject& curve : provenance.objects("alpha_curves").value_or(std::vector<JsonObject>())) {
        curve.allowOnly({"layer", "alpha", "alphas", "losses"});
        curves.push_back({whole(curve, "layer"), readNumber(curve, "alpha"),
                          curve.numbers("alphas").value_or(std::vector<double>()),
                          curve.numbers("losses").value_or(std::vector<double>())});
        if (curves.back().alphas.size() != curves.back().losses.size())
            curve.refuse("losses", fmt::format("expected {} numbers, one for each of \"alphas\", found {}",
                                               curves.back().alphas.size(), curves.back().losses.size()));
    }
    return curves;
}

constexpr const char* outputProjection = "output";
constexpr const char* downProjection = "down";

std::vector<FittedPart> readFits(const JsonObject& provenance) {
    std::vector<FittedPart> fits;
    for (const JsonObject& fit : provenance.objects("fits").value_or(std::vector<JsonObject>())) {
        fit.allowOnly({"layer", "projection", "mu", "error_before", "error_after"});
        const std::string projection = fit.text("projection").value_or("");
        if (projection != outputProjection && projection != downProjection)
            fit.refuse("projection", fmt::format("expected \"{}\" or \"{}\", found \"{}\"", outputProjection,
                                                 downProjection, projection));
        fits.push_back({whole(fit, "layer"), projection == outputProjection, fit.number("mu").value_or(0),
                        readNumber(fit, "error_before"), readNumber(fit, "error_after")});
    }
    return fits;
}

} // namespace

std::optional<MaskProvenance> provenanceOf(const JsonObject& file) {
    const auto object = file.object("provenance");
    if (!object)
        return std::nullopt;
    object->allowOnly({"strategy", "options", "budget", "text", "seed", "created", "secateur", "history", "text_digest",
                       "order", "notes", "alpha_curves", "fits"});
    MaskProvenance provenance;
    provenance.strategy = object->text("strategy").value_or("");
    if (const auto options = object->object("options")) {
        for (const std::string& option : options->keys())
            provenance.options[option] = options->text(option).value_or("");
    }
    provenance.budget = readBudget(*object);
    provenance.text = object->text("text").value_or("");
    provenance.seed = object->integer("seed", 0, std::numeric_limits<std::int64_t>::max());
    provenance.created = object->text("created").value_or("");
    provenance.secateur = object->text("secateur").value_or("");
    provenance.history = readHistory(*object);
    provenance.textDigest = object->text("text_digest").value_or("");
    provenance.order = readOrder(*object);
    provenance.notes = object->texts("notes").value_or(std::vector<std::string>());
    provenance.alphaCurves = readAlphaCurves(*object);
    provenance.fits = readFits(*object);
    return provenance;
}

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string quotedOrNull(const std::string& text) {
    return text.empty() ? "null" : quoted(text);
}

std::string optionsJson(const std::map<std::string, std::string>& options) {
    std::vector<std::string> fields;
    for (const auto& [name, value] : options)
        fields.push_back(quoted(name) + ": " + quoted(value));
    return "{" + join(fields, ", ") + "}";
}

namespace {

std::string budgetJson(const std::optional<Budget>& budget) {
    if (!budget)
        return "null";
    return budget->isPercentage ? quoted(budgetText(*budget)) : budgetText(*budget);
}

std::string textDigestField(const MaskProvenance& provenance) {
    return provenance.textDigest.empty() ? "" : ", \"text_digest\": " + quoted(provenance.textDigest);
}

std::string notesField(const std::vector<std::string>& notes) {
    std::vector<std::string> texts;
    for (const std::string& note : notes)
        texts.push_back(quoted(note));
    return texts.empty() ? "" : fmt::format(", \"notes\": [{}]", join(texts, ", "));
}

/// The field "history", with one line for each cut. Empty for masks without a history.
std::string historyField(const std::optional<PruneHistory>& history) {
    return history ? ",\n    \"history\": " + historyJson(*history) : "";
}

/// The field "order", with one line for each cut. Empty for masks without a recorded order.
std::string orderField(const std::vector<OrderedCut>& order) {
    if (order.empty())
        return "";
    std::vector<std::string> cuts;
    for (const OrderedCut& cut : order)
        cuts.push_back(fmt::format("\n      {{\"unit\": \"{}\", \"layer\": {}, \"index\": {}, \"score\": {}}}",
                                   name(cut.unit), cut.layer, cut.index, numberJson(cut.score)));
    return fmt::format(",\n    \"order\": [{}]", join(cuts, ","));
}

std::string numbersJson(const std::vector<double>& numbers) {
    std::vector<std::string> texts;
    for (const double number : numbers)
        texts.push_back(numberJson(number));
    return "[" + join(texts, ", ") + "]";
}

/// The field "alpha_curves", with one line for each layer. Empty without a search.
std::string alphaCurvesField(const std::vector<AlphaCurve>& curves) {
    return curves.empty() ? "" : ",\n    \"alpha_curves\": " + alphaCurvesJson(curves);
}

/// The field "fits", with one line for each projection. Empty without a fitted compensation.
std::string fitsField(const std::vector<FittedPart>& fits) {
    return fits.empty() ? "" : ",\n    \"fits\": " + fitsJson(fits);
}

} // namespace

std::string provenanceJson(const std::optional<MaskProvenance>& provenance) {
    if (!provenance)
        return "null";
    return fmt::format("{{\"strategy\": {}, \"options\": {}, \"budget\": {}, \"text\": {}, \"seed\": {}, "
                       "\"created\": {}, \"secateur\": {}{}{}{}{}{}{}}}",
                       quotedOrNull(provenance->strategy), optionsJson(provenance->options),
                       budgetJson(provenance->budget), quotedOrNull(provenance->text),
                       provenance->seed ? std::to_string(*provenance->seed) : "null", quotedOrNull(provenance->created),
                       quotedOrNull(provenance->secateur), textDigestField(*provenance), notesField(provenance->notes),
                       historyField(provenance->history), orderField(provenance->order),
                       alphaCurvesField(provenance->alphaCurves), fitsField(provenance->fits));
}

std::string historyJson(const PruneHistory& history) {
    std::vector<std::string> cuts;
    for (const HistoricCut& cut : history.cuts) {
        const std::string unit = cut.unit == CutUnit::head ? fmt::format("\"head\": {}", cut.head.head)
                                                           : fmt::format("\"unit\": \"{}\"", name(cut.unit));
        cuts.push_back(fmt::format("\n      {{\"step\": {}, \"layer\": {}, {}, \"score\": {}, \"value\": {}}}",
                                   cut.step, cut.head.layer, unit, numberJson(cut.score), numberJson(cut.value)));
    }
    return fmt::format("{{\"measure\": {}, \"before\": {}, \"steps\": {}, \"cuts\": [{}]}}", quoted(history.measure),
                       numberJson(history.before), history.steps, join(cuts, ","));
}

std::string alphaCurvesJson(const std::vector<AlphaCurve>& curves) {
    std::vector<std::string> lines;
    for (const AlphaCurve& curve : curves)
        lines.push_back(fmt::format("\n      {{\"layer\": {}, \"alpha\": {}, \"alphas\": {}, \"losses\": {}}}",
                                    curve.layer, numberJson(curve.alpha), numbersJson(curve.alphas),
                                    numbersJson(curve.losses)));
    return fmt::format("[{}]", join(lines, ","));
}

std::string fitsJson(std::span<const FittedPart> fits) {
    std::vector<std::string> lines;
    for (const FittedPart& fit : fits)
        lines.push_back(fmt::format("\n      {{\"layer\": {}, \"projection\": \"{}\", \"mu\": {}, "
                                    "\"error_before\": {}, \"error_after\": {}}}",
                                    fit.layer, fit.isAttention ? outputProjection : downProjection,
                                    fit.mu > 0 ? numberJson(fit.mu) : "null", numberJson(fit.errorBefore),
                                    numberJson(fit.errorAfter)));
    return fmt::format("[{}]", join(lines, ","));
}

} // namespace secateur
