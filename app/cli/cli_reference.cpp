#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "app/cli/cli_common.h"
#include "app/cli/list_items.h"
#include "app/cli/verbs.h"
#include "app/reference/completions.h"
#include "app/reference/man_pages.h"
#include "app/reference/window_reference.h"
#include "backends/json/result_json.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace secateur::cli {

namespace {

struct ReferenceArguments {
    std::string page;
    std::string shell;
    std::string program;
};

VerbReference ownReference(CLI::App& program) {
    return programReference(program, listedIds);
}

/// The pages of both programs.
std::vector<ManPage> allPages(CLI::App& program) {
    const VerbReference own = ownReference(program);
    const VerbReference window = windowReference();
    std::vector<ManPage> pages = manPages(own, SECATEUR_VERSION, {window.path.front()});
    std::ranges::copy(manPages(window, SECATEUR_VERSION, {own.path.front()}), std::back_inserter(pages));
    return pages;
}

void listPages(const std::vector<ManPage>& pages, const Console& console) {
    std::vector<ListItem> items;
    Rows<2> rows;
    for (const ManPage& page : pages) {
        items.push_back({page.name, page.summary, {}, {}, {{"text", page.text}}});
        rows.push_back({page.name, page.summary});
    }
    if (console.json)
        printJson(listJson("man", items));
    else
        print(Table({{}, {}}, rows));
}

/// Prints a page, or the names of all pages.
void manVerb(CLI::App& program, const ReferenceArguments& arguments, const Console& console) {
    std::vector<ManPage> pages = allPages(program);
    if (arguments.page.empty())
        return listPages(pages, console);
    const auto page = std::ranges::find(pages, arguments.page, &ManPage::name);
    if (page == pages.end())
        throw UsageError("there is no such page; `secateur-cli man` lists all", arguments.page);
    if (console.json)
        listPages({*page}, console);
    else
        printText(page->text);
}

void completionsVerb(CLI::App& program, const ReferenceArguments& arguments, const Console& console) {
    const std::span<const Shell> all = shells();
    const auto shell = std::ranges::find(all, arguments.shell, [](const Shell& row) { return std::string(row.id); });
    const VerbReference window = windowReference();
    const std::string script =
        shell->completion(arguments.program == window.path.front() ? window : ownReference(program));
    if (console.json)
        printJson(listJson("completions", {ListItem{shell->id, shell->summary, {}, {}, {{"text", script}}}}));
    else
        printText(script);
}

} // namespace

void addReference(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<ReferenceArguments>();
    CLI::App* man = program.add_subcommand("man", "Print a man page, or list all")->group("");
    man->add_option("PAGE", arguments->page, "Name of the page [lists the pages]");
    addCommonOptions(*man, console);
    man->footer("Example: secateur-cli man secateur-cli-measure | man -l -");
    man->callback([arguments, &program, &console] { manVerb(program, *arguments, console); });

    CLI::App* completions = program.add_subcommand("completions", "Print completions for a shell")->group("");
    std::vector<std::string> names;
    for (const Shell& shell : shells())
        names.emplace_back(shell.id);
    arguments->program = program.get_name();
    completions->add_option("SHELL", arguments->shell, join(names, ", "))->required()->check(CLI::IsMember(names));
    completions->add_option("--program", arguments->program, "Program to complete")
        ->check(CLI::IsMember({program.get_name(), windowReference().path.front()}))
        ->capture_default_str();
    addCommonOptions(*completions, console);
    completions->footer(
        "Example: secateur-cli completions bash > ~/.local/share/bash-completion/completions/secateur-cli");
    completions->callback([arguments, &program, &console] { completionsVerb(program, *arguments, console); });
}

} // namespace secateur::cli
