#include "backends/tokenizers/open_tokenizer.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"
#include "backends/base/mapped_file.h"
#include "backends/formats/gguf.h"
#include "backends/formats/hf_config.h"
#include "backends/formats/hub_cache.h"
#include "backends/tokenizers/gguf_tokenizer.h"
#include "backends/tokenizers/growth.h"
#include "backends/tokenizers/hf_vocabulary.h"
#include "backends/tokenizers/sentencepiece_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>

namespace secateur {

namespace fs = std::filesystem;

namespace {

/// The text of a file. The file stays mapped.
class Text {
public:
    explicit Text(const fs::path& path)
        : m_file(MappedFile::open(path.string())) {}
    std::string_view view() const { return charactersOf(m_file->bytes()); }
    void check() const { m_file->checkWhole(); }

private:
    std::shared_ptr<const MappedFile> m_file;
};

std::optional<JsonObject> jsonAt(const fs::path& path) {
    if (!fs::exists(path))
        return std::nullopt;
    const Text text(path);
    return JsonObject::parse(text.view(), path.string());
}

/// The token under a key such as "bos_token". Its value is a text, or an object with the key "content".
std::optional<std::string> namedToken(const std::optional<JsonObject>& object, const std::string& key) {
    if (!object || !object->has(key))
        return std::nullopt;
    if (object->isObject(key))
        return object->object(key)->text("content");
    return object->isText(key) ? object->text(key) : std::nullopt;
}

/// Reads the other files in the folder of a vocabulary file.
HfContext contextOf(const fs::path& folder) {
    HfContext context;
    context.folder = folder.string();
    const auto config = jsonAt(folder / "tokenizer_config.json");
    const auto map = jsonAt(folder / "special_tokens_map.json");
    const auto model = jsonAt(folder / "config.json");
    if (model)
        context.modelType = model->text("model_type").value_or("");
    if (config) {
        context.tokenizerClass = config->text("tokenizer_class").value_or("");
        context.addsBos = config->flag("add_bos_token");
        context.addsEos = config->flag("add_eos_token");
        context.lowerCase = config->flag("do_lower_case");
        context.stripAccents = config->flag("strip_accents");
        context.apartChinese = config->flag("tokenize_chinese_chars");
        if (config->isText("chat_template"))
            context.chatTemplate = *config->text("chat_template");
    }
    if (fs::exists(folder / "chat_template.jinja"))
        context.chatTemplate = Text(folder / "chat_template.jinja").view();
    for (const char* role : {"bos", "eos", "unk", "sep", "pad", "cls", "mask"}) {
        const std::string key = std::string(role) + "_token";
        const auto name = namedToken(config, key);
        if (const auto chosen = name ? name : namedToken(map, key))
            context.roles[role] = *chosen;
    }
    readAddedTokens(config, jsonAt(folder / "added_tokens.json"), context);
    return context;
}

TokenizerParts partsOf(const fs::path& path, const HfContext& context) {
    const Text text(path);
    const std::string name = path.filename().string();
    TokenizerParts parts;
    if (name == "vocab.txt")
        parts = readVocabText(text.view(), path.string(), context);
    else if (name == "vocab.json" || name == "merges.txt")
        parts = readVocabJson(Text(path.parent_path() / "vocab.json").view(),
                              Text(path.parent_path() / "merges.txt").view(), context);
    else if (path.extension() == ".json")
        parts = readTokenizerJson(text.view(), path.string());
    else
        parts = readHfSentencePiece(parseSentencePiece(text.view(), path.string()), path.string(), context);
    text.check();
    return parts;
}

/// Sets the ids of special tokens. Adds a warning for each special token that is not in the vocabulary.
void fillCard(const HfContext& context, TokenizerParts& parts) {
    TokenizerCard& card = parts.card;
    const auto find = [&](const char* role, std::optional<int>& id) {
        const auto name = context.roles.find(role);
        if (name == context.roles.end())
            return;
        const auto added = parts.added.id(name->second);
        const auto found = added ? added : parts.model->vocabulary().find(name->second);
        if (found)
            id = found;
        else
            card.warnings.push_back(
                fmt::format("tokenizer_config.json names {} as {} token, which is not in the vocabulary",
                            inQuotes(name->second), role));
    };
    find("bos", card.bos);
    find("eos", card.eos);
    find("unk", card.unknown);
    find("sep", card.separator);
    find("pad", card.padding);
    find("cls", card.classifier);
    find("mask", card.mask);
    card.chatTemplate = context.chatTemplate;
}

bool isTokenizerFile(const std::string& path) {
    const fs::path file(path);
    const std::string name = file.filename().string();
    if (name == "config.json" || name == "tokenizer_config.json" || name.ends_with(".index.json"))
        return false;
    return name == "vocab.txt" || name == "merges.txt" || file.extension() == ".json" || file.extension() == ".model" ||
           file.extension() == ".spm";
}

TokenizerParts readTokenizerFile(const std::string& path) {
    const fs::path file(path);
    const HfContext context = contextOf(file.has_parent_path() ? file.parent_path() : fs::path("."));
    TokenizerParts parts = partsOf(file, context);
    fillCard(context, parts);
    return parts;
}

constexpr const char* tokenizerHint = "Open a Hugging Face directory with a tokenizer.json, tokenizer.model, vocab.txt "
                                      "or vocab.json and merges.txt, or a "
                                      ".gguf file";

bool beginsAsGguf(const std::string& path) {
    return charactersOf(MappedFile::open(path)->bytes()).starts_with("GGUF");
}

/// The tokenizer of a GGUF model. If the model is split, the first part contains the metadata.
TokenizerParts fromGguf(const fs::path& path) {
    const std::vector<GgufPart> files = readGgufParts(path.string(), {});
    TokenizerParts parts = readGgufTokenizer(files.front().metadata);
    files.front().file->checkWhole();
    return parts;
}

TokenizerParts partsAt(const fs::path& path) {
    if (!fs::exists(path))
        throw Error("does not exist", path.string());
    if (fs::is_directory(path)) {
        if (const std::string name = tokenizerFileIn(path.string()); !name.empty())
            return readTokenizerFile((path / name).string());
        if (holdsGguf(path.string()))
            return fromGguf(ggufModelIn(path.string()));
        throw Error("has no tokenizer", path.string(), tokenizerHint);
    }
    if (beginsAsGguf(path.string()))
        return fromGguf(path);
    if (isTokenizerFile(path.string()))
        return readTokenizerFile(path.string());
    // For a weights file, the tokenizer is in the same folder.
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (const std::string name = tokenizerFileIn(folder.string()); !name.empty())
        return readTokenizerFile((folder / name).string());
    throw Error("is not a tokenizer, and its folder has none", path.string(), tokenizerHint);
}

/// Runs `work`, and converts exceptions of the standard library to Error.
template <typename Work>
auto openingTokenizer(const std::string& path, Work work) {
    try {
        return work();
    } catch (const GrowthError& error) {
        throw Error(error.message(), path); // of the text of an added token
    } catch (const fs::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? path : error.path1().string());
    } catch (const std::bad_alloc&) {
        throw Error("needs more memory to open than is available", path);
    }
}

} // namespace

TokenizerParts readTokenizerParts(const std::string& path) {
    return openingTokenizer(path, [&] { return partsAt(snapshotOf(path)); });
}

std::shared_ptr<const Tokenizer> openTokenizer(const std::string& path) {
    return openingTokenizer(path, [&] { return assemble(partsAt(snapshotOf(path))); });
}

std::shared_ptr<const Tokenizer> openTokenizer(const ModelCard& model) {
    return openingTokenizer(model.path, [&] {
        TokenizerParts parts = partsAt(snapshotOf(model.path));
        const int rows = model.spec.vocab;
        const int tokens = parts.model->vocabulary().size();
        if (tokens > rows)
            throw Error(fmt::format("has ids up to {}, but the model's embedding has {} rows", tokens - 1, rows),
                        parts.card.source);
        if (parts.added.largestId() >= rows)
            parts.card.warnings.push_back(
                fmt::format("added tokens have ids up to {}, but the model's embedding has {} rows",
                            parts.added.largestId(), rows));
        return assemble(std::move(parts));
    });
}

} // namespace secateur
