#include "backends/json/report_json.h"

#include "backends/json/json_fields.h"

namespace secateur {

std::string reportJson(const Report& report, std::string_view path) {
    OrderedJson document{{"path", path}, {"title", report.title}, {"sections", OrderedJson::array()}};
    for (const ReportSection& section : report.sections) {
        OrderedJson items = OrderedJson::array();
        for (const ReportBlock& block : section.blocks)
            if (const auto* figure = std::get_if<ReportFigure>(&block))
                items.push_back({{"label", figure->label}, {"caption", figure->caption}});
        document["sections"].push_back(
            {{"number", section.number}, {"title", section.title}, {"items", std::move(items)}});
    }
    return jsonText(document);
}

} // namespace secateur
