#include "analysis/gallery/reproduction.h"

#include "analysis/base/replaceable.h"
#include "analysis/base/text.h"
#include "analysis/figures/table_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

constexpr std::string_view pageStyle =
    "body{font:16px/1.5 sans-serif;max-width:56em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "h2{margin-top:2.5em;border-top:1px solid #ccc;padding-top:.5em}img{max-width:100%;height:auto}"
    "code{font-size:.85em;background:#f2f2f2;padding:.1em .3em;overflow-wrap:anywhere}"
    "table{border-collapse:collapse}td,th{text-align:left;padding:.2em .8em .2em 0;vertical-align:top}"
    ".lacking{color:#666}";

std::string picture(const ReproducedItem& item) {
    const auto found = std::ranges::find_if(item.files, [](const std::string& file) { return file.ends_with(".png"); });
    return found == item.files.end() ? std::string()
                                     : fmt::format("<p><img src=\"{0}\" alt=\"{1}\"></p>\n", htmlText(*found),
                                                   htmlText(item.figure->summary));
}

std::string itemSection(const ReproducedItem& item) {
    std::string text = fmt::format("<h2 id=\"{}\">{}: {}</h2>\n", item.figure->id, htmlText(item.figure->item->title),
                                   htmlText(item.figure->summary));
    if (!item.error.empty())
        return text + fmt::format("<p class=\"lacking\">Not drawn: {}</p>\n", htmlText(item.error));
    text += picture(item);
    if (!item.caption.empty())
        text += fmt::format("<p>{}</p>\n", htmlText(item.caption));
    text += "<p>";
    for (const std::string& file : item.files)
        text += fmt::format("<a href=\"{0}\">{0}</a> ", htmlText(file));
    return text + fmt::format("</p>\n<p><code>{}</code></p>\n", htmlText(item.command));
}

std::string stepRow(const ReproducedStep& step) {
    std::string state(name(step.state));
    if (!step.error.empty())
        state += ": " + step.error;
    else if (!step.step.reason.empty())
        state += ": " + step.step.reason;
    CommandLine command = step.step.arguments;
    command.insert(command.begin(), "secateur-cli");
    return fmt::format("<tr><td>{}</td><td>{}<br><code>{}</code></td><td>{}</td></tr>\n", htmlText(step.step.id),
                       htmlText(step.step.summary), htmlText(shellText(command)), htmlText(state));
}

} // namespace

std::string_view name(StepState state) {
    constexpr std::array names{std::pair{StepState::planned, "planned"}, std::pair{StepState::notWanted, "left out"},
                               std::pair{StepState::held, "held"},       std::pair{StepState::impossible, "impossible"},
                               std::pair{StepState::done, "done"},       std::pair{StepState::failed, "failed"}};
    return std::ranges::find(names, state, &std::pair<StepState, const char*>::first)->second;
}

std::string indexPage(const Reproduction& run) {
    const std::string title = fmt::format("{}: figures and tables of {}", run.paper->title, run.model);
    std::string page =
        fmt::format("<!DOCTYPE html>\n<!-- {}: an index -->\n<html lang=\"en\">\n<head><meta "
                    "charset=\"utf-8\"><title>{}</title>\n<style>{}</style></head>\n<body>\n<h1>{}</h1>\n",
                    tableMark, htmlText(title), pageStyle, htmlText(title));
    page += fmt::format("<p>{}. Size of the recipe: {}. Session: <code>{}</code></p>\n", htmlText(run.paper->source),
                        run.size, htmlText(run.session));
    for (const ReproducedItem& item : run.items)
        page += itemSection(item);
    page += "<h2>Steps</h2>\n<table>\n<tr><th>Step</th><th>Command</th><th>State</th></tr>\n";
    for (const ReproducedStep& step : run.steps)
        page += stepRow(step);
    page += "</table>\n";
    if (!run.missingFiles.empty())
        page += fmt::format("<p>Files that were not found: {}.</p>\n", htmlText(join(run.missingFiles, ", ")));
    return page + "</body>\n</html>\n";
}

} // namespace secateur
