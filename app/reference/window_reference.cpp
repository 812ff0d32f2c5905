#include "app/reference/window_reference.h"

#include "app/reference/window_options.h"

#include <string>
#include <utility>

namespace secateur {

namespace {

std::string phraseOf(std::string text) {
    text.pop_back(); // the full stop
    return text;
}

OptionReference optionOfQt(std::vector<std::string> names, const char* description) {
    OptionReference option;
    option.names = std::move(names);
    option.description = description;
    return option;
}

} // namespace

VerbReference windowReference() {
    VerbReference program;
    program.path = {"secateur"};
    program.summary = phraseOf(windowSummary);
    program.notes =
        "The window shows the importance metrics of a model, cuts its heads, neurons, sublayers and blocks, "
        "evaluates the result and exports it. Without MODEL it opens on its welcome page. F1 lists all keys. "
        "The menu Help has the manual.";
    program.examples = {"secateur SmolLM2-135M-Instruct.Q4_1.gguf",
                        "secateur llama.h5 --filter \"layer 3-12, not cut\""};
    OptionReference model;
    model.names = {"MODEL"};
    model.value = "MODEL";
    model.description = phraseOf(windowArgument);
    model.kind = ValueKind::path;
    program.arguments.push_back(std::move(model));
    for (const WindowOption& row : windowOptions) {
        OptionReference option = optionOfQt({std::string("--") + row.name}, "");
        option.description = phraseOf(row.description);
        option.value = row.value;
        option.kind = option.value == "FILE" ? ValueKind::path : ValueKind::text;
        program.options.push_back(std::move(option));
    }
    program.options.push_back(optionOfQt({"-h", "--help"}, "Print this help message and exit"));
    program.options.push_back(optionOfQt({"--help-all"}, "Print a help message with the options of Qt and exit"));
    program.options.push_back(optionOfQt({"-v", "--version"}, "Display program version information and exit"));
    return program;
}

} // namespace secateur
