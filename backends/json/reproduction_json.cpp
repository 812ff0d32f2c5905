#include "backends/json/reproduction_json.h"

#include "backends/json/json_fields.h"

#include <utility>

namespace secateur {

namespace {

OrderedJson stepFields(const ReproducedStep& one) {
    CommandLine command = one.step.arguments;
    command.insert(command.begin(), "secateur-cli");
    return {{"id", one.step.id},
            {"summary", one.step.summary},
            {"command", shellText(command)},
            {"state", name(one.state)},
            {"tokens", one.step.tokens},
            {"expected_seconds", one.expectedSeconds},
            {"seconds", one.seconds},
            {"missing_files", one.step.missingFiles},
            {"error", one.error.empty() ? one.step.reason : one.error}};
}

OrderedJson itemFields(const ReproducedItem& item) {
    return {{"id", item.figure->id}, {"title", item.figure->item->title}, {"summary", item.figure->summary},
            {"files", item.files},   {"caption", item.caption},           {"command", item.command},
            {"error", item.error}};
}

} // namespace

std::string reproductionJson(const Reproduction& run) {
    OrderedJson steps = OrderedJson::array();
    for (const ReproducedStep& step : run.steps)
        steps.push_back(stepFields(step));
    OrderedJson items = OrderedJson::array();
    for (const ReproducedItem& item : run.items)
        items.push_back(itemFields(item));
    return jsonText({{"paper", run.paper->id},
                     {"model", run.model},
                     {"size", run.size},
                     {"session", run.session},
                     {"folder", run.folder},
                     {"missing_files", run.missingFiles},
                     {"steps", std::move(steps)},
                     {"figures", std::move(items)}});
}

} // namespace secateur
