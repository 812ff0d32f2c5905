// convert_tokenizer FROM TO: converts a tokenizer, so that other programs can open it. From a GGUF file to the folder
// TO, or from a Hugging Face folder or tokenizer file to the GGUF file TO, which then contains a vocabulary only.

#include "backends/base/mapped_file.h"
#include "backends/export/gguf_tokenizer_metadata.h"
#include "backends/export/hf_tokenizer_files.h"
#include "backends/formats/gguf.h"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

using namespace secateur;

namespace {

void print(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
        fmt::print("warning: {}\n", warning);
}

void toFolder(const std::string& gguf, const std::filesystem::path& folder) {
    const GgufPart part = readGguf(MappedFile::open(gguf));
    const HfTokenizerFiles written = hfTokenizerFilesOf(part.metadata);
    print(written.warnings);
    std::filesystem::create_directories(folder);
    for (const auto& file : written.files)
        std::ofstream(folder / file.name, std::ios::binary) << file.content;
}

void toGguf(const std::string& path, const std::string& target) {
    GgufTokenizer tokenizer = ggufTokenizerOf(path);
    print(tokenizer.warnings);
    tokenizer.fields.insert(tokenizer.fields.begin(), fieldOf("general.architecture", "llama"));
    std::vector<std::byte> bytes;
    for (const char letter : std::string_view("GGUF"))
        bytes.push_back(static_cast<std::byte>(letter));
    const auto append = [&](auto number) {
        const auto raw = std::as_bytes(std::span(&number, 1));
        bytes.insert(bytes.end(), raw.begin(), raw.end());
    };
    append(std::uint32_t{3});
    append(std::uint64_t{0});
    append(static_cast<std::uint64_t>(tokenizer.fields.size()));
    for (const GgufField& field : tokenizer.fields)
        appendField(bytes, field);
    bytes.resize((bytes.size() + 31) / 32 * 32);
    std::ofstream(target, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

int main(int count, char** values) {
    if (count != 3)
        return fmt::print(stderr, "usage: convert_tokenizer FROM TO\n"), 2;
    try {
        const std::string from = values[1];
        from.ends_with(".gguf") ? toFolder(from, values[2]) : toGguf(from, values[2]);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
