#include "analysis/export/loading_snippets.h"

#include <fmt/format.h>

namespace secateur {

namespace {

constexpr std::string_view ownCodeVersions = "tried with 4.56, 4.57, 5.0, 5.14 and 5.23";

std::string block(std::string_view heading, std::string_view language, std::string_view code) {
    return fmt::format("{}:\n\n```{}\n{}```\n\n", heading, language, code);
}

/// A string literal of Python, which is also a quoted word of a shell for names without $, ` and !.
std::string inQuotes(std::string_view name) {
    std::string text = "\"";
    for (const char c : name) {
        if (c == '"' || c == '\\')
            text += '\\';
        text += c == '\n' ? ' ' : c;
    }
    return text + "\"";
}

std::string_view autoClass(const ModelSpec& spec) {
    if (spec.family == Family::decoder)
        return "AutoModelForCausalLM";
    return spec.classes > 0 ? "AutoModelForSequenceClassification" : "AutoModel";
}

/// @param options further arguments of from_pretrained(), with a comma before them
std::string transformersCode(const ModelSpec& spec, std::string_view name, std::string_view options) {
    const std::string use = spec.family == Family::decoder
                                ? "print(tokenizer.decode(model.generate(**text, max_new_tokens=50)[0]))\n"
                                : "print(model(**text))\n";
    return fmt::format("from transformers import {0}, AutoTokenizer\n\n"
                       "model = {0}.from_pretrained({1}{2})\n"
                       "tokenizer = AutoTokenizer.from_pretrained({1})\n"
                       "text = tokenizer(\"Once upon a time\", return_tensors=\"pt\")\n{3}",
                       autoClass(spec), inQuotes(name), options, use);
}

std::string llamaCppText(const ModelSpec& spec, std::string_view name) {
    if (spec.family == Family::encoder)
        return block("llama.cpp", "sh", fmt::format("llama-embedding -m {} -p \"Once upon a time\"\n", inQuotes(name)));
    return block("llama.cpp", "sh",
                 fmt::format("llama-completion -m {} -p \"Once upon a time\" -n 50\n", inQuotes(name))) +
           block("llama-cpp-python", "python",
                 fmt::format("from llama_cpp import Llama\n\n"
                             "print(Llama({})(\"Once upon a time\", max_tokens=50)[\"choices\"][0][\"text\"])\n",
                             inQuotes(name)));
}

std::string onnxCode(std::string_view name) {
    return fmt::format("import onnxruntime\nfrom transformers import AutoTokenizer\n\n"
                       "session = onnxruntime.InferenceSession({})\n"
                       "tokenizer = AutoTokenizer.from_pretrained({})\n"
                       "text = tokenizer(\"Once upon a time\", return_tensors=\"np\")\n"
                       "names = [value.name for value in session.get_inputs()]\n"
                       "print(session.run(None, {{name: text[name] for name in names}}))\n",
                       inQuotes(std::string(name) + "/model.onnx"), inQuotes(name));
}

} // namespace

std::string loadingText(Loader loader, const ModelSpec& spec, std::string_view format, std::string_view name) {
    switch (loader) {
    case Loader::none:
        return {};
    case Loader::ofSource:
        return loadingText(format == "gguf" ? Loader::llamaCpp : Loader::transformers, spec, format, name);
    case Loader::llamaCpp:
        return llamaCppText(spec, name);
    case Loader::transformers:
        return block("transformers", "python", transformersCode(spec, name, ""));
    case Loader::transformersOwnCode:
        return block(fmt::format("transformers ({})", ownCodeVersions), "python",
                     transformersCode(spec, name, ", trust_remote_code=True"));
    case Loader::transformers4:
        return block("transformers 4 (transformers 5 does not read `pruned_heads`)", "python",
                     transformersCode(spec, name, ""));
    case Loader::vllm:
        return block("vLLM (not tried)", "sh", fmt::format("vllm serve {}\n", inQuotes(name)));
    case Loader::vllmDeciLm:
        return block("vLLM (not tried)", "sh", fmt::format("vllm serve {} --trust-remote-code\n", inQuotes(name)));
    case Loader::onnxRuntime:
        return block("ONNX Runtime", "python", onnxCode(name));
    }
    return {};
}

} // namespace secateur
