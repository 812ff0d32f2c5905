#include "analysis/text.h"
#include "app/cli_common.h"
#include "backends/open_model.h"
#include "backends/result_json.h"
#include "backends/session_hdf5.h"

#include <fmt/core.h>

#include <algorithm>

namespace secateur::cli {

namespace {

struct Arguments {
    std::string path;
    bool tensors = false;
};

/// "9", or "6 to 9" where layers differ.
std::string range(const ModelSpec& spec, int LayerSpec::*member) {
    const auto [least, most] = std::minmax_element(spec.layers.begin(), spec.layers.end(),
                                                   [&](const auto& a, const auto& b) { return a.*member < b.*member; });
    if (least == spec.layers.end())
        return "0";
    return (*least).*member == (*most).*member ? fmt::format("{}", (*least).*member)
                                               : fmt::format("{} to {}", (*least).*member, (*most).*member);
}

std::string shapeText(const TensorInfo& tensor) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : tensor.shape)
        sizes.push_back(std::to_string(size));
    return join(sizes, " x ");
}

void printCard(const ModelCard& card) {
    const ModelSpec& spec = card.spec;
    std::vector<std::vector<std::string>> rows{
        {"model", card.name},
        {"path", card.path},
        {"format", card.format},
        {"architecture", fmt::format("{} ({})", spec.architecture, name(spec.family))},
        {"layers", std::to_string(spec.layerCount())},
        {"hidden", std::to_string(spec.hidden)},
        {"heads", fmt::format("{} of {}, {} KV", range(spec, &LayerSpec::heads), range(spec, &LayerSpec::headDim),
                              range(spec, &LayerSpec::kvHeads))},
        {"MLP", range(spec, &LayerSpec::ffn)},
        {"vocabulary", std::to_string(spec.vocab)},
        {"context", std::to_string(spec.context)},
        {"embeddings", spec.tiedEmbeddings ? "tied" : "separate"},
        {"parameters", fmt::format("{} ({})", shortCount(static_cast<double>(card.parameters)), card.parameters)},
        {"size", fmt::format("{}, {}", shortBytes(static_cast<double>(card.bytes)), card.dtype)},
        {"tokenizer", card.tokenizer.empty() ? "none" : card.tokenizer},
        {"fingerprint", card.fingerprint}};
    fmt::print("{}", table(rows));
}

void inspect(const Arguments& arguments, const Console& console) {
    const bool stored = isSession(arguments.path);
    const ModelCard card =
        stored ? readSession(arguments.path).model : fullCard(*open(arguments.path, console, console.progress()));
    if (!arguments.tensors) {
        if (console.json)
            fmt::print("{}\n", inspectJson(card));
        else
            printCard(card);
    } else {
        if (stored)
            throw Error("is a session, which holds no tensors", arguments.path, "Name the checkpoint itself");
        const std::vector<TensorInfo> tensors = listTensors(arguments.path);
        if (console.json) {
            fmt::print("{}\n", inspectJson(card, tensors));
            return;
        }
        std::vector<std::vector<std::string>> rows{{"tensor", "type", "shape", "size", "file"}};
        for (const TensorInfo& tensor : tensors)
            rows.push_back({tensor.name, tensor.dtype, shapeText(tensor), shortBytes(static_cast<double>(tensor.bytes)),
                            tensor.file});
        fmt::print("{}", table(rows));
    }
    if (!console.json)
        for (const std::string& warning : card.warnings)
            fmt::print(stderr, "note: {}\n", warning);
}

} // namespace

void addInspect(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* verb = program.add_subcommand("inspect", "Show the model card of a checkpoint or a session");
    verb->add_option("MODEL", arguments->path, "Hugging Face directory, .safetensors, .gguf or session .h5")
        ->required();
    verb->add_flag("--tensors", arguments->tensors, "List the tensors instead");
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli inspect SmolLM2-135M-Instruct.Q4_1.gguf --json");
    verb->callback([arguments, &console] { inspect(*arguments, console); });
}

} // namespace secateur::cli
