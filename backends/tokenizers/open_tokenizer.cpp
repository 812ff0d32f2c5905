#include "backends/tokenizers/open_tokenizer.h"

#include "analysis/base/error.h"
#include "backends/formats/gguf.h"
#include "backends/formats/gguf_split.h"
#include "backends/formats/hub_cache.h"
#include "backends/base/mapped_file.h"
#include "backends/tokenizers/gguf_tokenizer.h"
#include "backends/tokenizers/hf_tokenizer.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr const char* tokenizerHint = "Open a Hugging Face directory with a tokenizer.json, tokenizer.model, vocab.txt or "
                             "vocab.json and merges.txt, or a .gguf file";

bool beginsAsGguf(const std::string& path) {
    const auto file = MappedFile::open(path);
    const auto bytes = file->bytes();
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with("GGUF");
}

/// The first part of a split model holds its metadata.
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
        if (holdsTokenizer(path.string()))
            return readHfTokenizer(path.string());
        if (holdsGguf(path.string()))
            return fromGguf(ggufModelIn(path.string()));
        throw Error("holds no tokenizer", path.string(), tokenizerHint);
    }
    if (beginsAsGguf(path.string()))
        return fromGguf(path);
    if (isTokenizerFile(path.string()))
        return readTokenizerFile(path.string());
    // A weights file: the tokenizer lies beside it.
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (holdsTokenizer(folder.string()))
        return readHfTokenizer(folder.string());
    throw Error("is no tokenizer, and none lies beside it", path.string(), tokenizerHint);
}

/// Runs one opening; what the standard library throws on files becomes an Error.
template <typename Work>
auto openingTokenizer(const std::string& path, Work work) {
    try {
        return work();
    } catch (const fs::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? path : error.path1().string());
    } catch (const std::bad_alloc&) {
        throw Error("needs more memory to open than there is", path);
    }
}

} // namespace

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
