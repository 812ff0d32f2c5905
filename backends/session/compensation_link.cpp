#include "backends/session/compensation_link.h"

#include "analysis/base/error.h"
#include "backends/base/atomic_file.h"
#include "backends/base/file_output.h"
#include "backends/base/json_object.h"
#include "backends/base/mapped_file.h"
#include "backends/base/sha256.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/provenance_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <vector>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t sumDigits = 64;
constexpr std::size_t digitsInName = 16;

std::string requiredLinkText(const JsonObject& object, const char* key) {
    const auto text = object.text(key);
    if (!text)
        object.refuse(key, "is missing");
    return *text;
}

/// Whether a name is that of a file in the same folder.
bool isNameBeside(std::string_view name) {
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

/// The folder of a mask file. A link is followed, so that the compensation lies beside the file itself.
fs::path maskFolder(const std::string& path) {
    std::error_code failure;
    const fs::path whole = fs::weakly_canonical(path, failure);
    return (failure ? fs::path(path) : whole).parent_path();
}

/// The name that the compensation of a mask file gets.
std::string nameBeside(const std::string& path, const std::string& sum) {
    std::string name = fs::path(path).filename().string();
    for (const std::string_view ending : {".json", ".mask"})
        if (name.size() > ending.size() && name.ends_with(ending))
            name = name.substr(0, name.size() - ending.size());
    return fmt::format("{}.{}.compensation.safetensors", name, sum.substr(0, digitsInName));
}

std::string fileSum(std::span<const std::byte> bytes) {
    Sha256 sum;
    sum.add(bytes.data(), bytes.size());
    return sum.hexadecimal();
}

/// The digits in a name that nameBeside() gives; empty for other names.
std::string digitsOf(std::string_view name) {
    constexpr std::string_view ending = ".compensation.safetensors";
    if (!name.ends_with(ending) || name.size() < ending.size() + digitsInName)
        return {};
    return std::string(name.substr(name.size() - ending.size() - digitsInName, digitsInName));
}

/// Whether a file was written at least a minute ago, so that no process is still about to write its mask.
bool isOld(const fs::path& file) {
    std::error_code failure;
    const auto written = fs::last_write_time(file, failure);
    return !failure && fs::file_time_type::clock::now() - written >= std::chrono::minutes(1);
}

/// Whether a JSON file of a folder states a sum. Also true if one cannot be read. @param names in the folder
/// @param sum its first digits
bool isStatedIn(const fs::path& folder, const std::vector<std::string>& names, const std::string& sum) {
    std::error_code ignored;
    for (const std::string& name : names) {
        const fs::path file = folder / name;
        if (file.extension() != ".json" || !fs::is_regular_file(file, ignored))
            continue;
        try {
            if (charactersOf(MappedFile::open(file.string())->bytes()).find(sum) != std::string_view::npos)
                return true;
        } catch (const Error&) {
            return true;
        }
    }
    return false;
}

} // namespace

std::optional<CompensationLink> compensationLinkOf(const JsonObject& mask) {
    const bool isEarlier = mask.isSet("bias_compensation");
    if (isEarlier && mask.isSet("compensation"))
        mask.refuse("bias_compensation", "is given together with \"compensation\", which replaces it");
    const auto object = mask.object(isEarlier ? "bias_compensation" : "compensation");
    if (!object)
        return {};
    object->allowOnly({"file", "sha256", "mode"});
    CompensationLink link{requiredLinkText(*object, "file"), requiredLinkText(*object, "sha256"),
                          isEarlier ? object->text("mode").value_or("bias") : requiredLinkText(*object, "mode")};
    if (!isNameBeside(link.file))
        object->refuse("file", fmt::format("\"{}\" is not the name of a file beside the mask", link.file));
    const auto isDigit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (link.sum.size() != sumDigits || !std::ranges::all_of(link.sum, isDigit))
        object->refuse("sha256", fmt::format("expected {} lower-case hexadecimal digits", sumDigits));
    constexpr std::array<std::string_view, 4> modes{"bias", "scale", "both", "weights"};
    if (std::ranges::find(modes, link.mode) == modes.end())
        object->refuse("mode", fmt::format("expected one of {}, found \"{}\"", fmt::join(modes, ", "), link.mode));
    return link;
}

std::string compensationLinkJson(const PruningMask& mask, std::string_view file) {
    if (!mask.isCompensated())
        return "null";
    return fmt::format("{{\"file\": {}, \"sha256\": \"{}\", \"mode\": \"{}\"}}", quoted(std::string(file)),
                       compensationSum(mask), compensationMode(mask));
}

bool addLinkedCompensation(const std::string& path, const CompensationLink& link, const ModelSpec& spec,
                           PruningMask& mask) {
    const std::string file = (maskFolder(path) / link.file).string();
    std::error_code failure;
    if (!fs::exists(file, failure) && !failure)
        return false;
    const auto opened = MappedFile::open(file);
    if (fileSum(opened->bytes()) != link.sum)
        throw Error(fmt::format("is not the compensation of {}: its SHA-256 differs from the one in the mask",
                                fs::path(path).filename().string()),
                    file, "Put back the file that was written with the mask, or remove \"compensation\" from the mask");
    const CompensationTensors tensors = readCompensationTensors(file, opened->bytes());
    opened->checkWhole();
    try {
        addCompensation(mask, tensors, spec);
    } catch (const Error& error) {
        throw error.within(file);
    }
    return true;
}

CompensationFile::CompensationFile(const std::string& path, const PruningMask& mask) {
    if (!mask.isCompensated())
        return;
    m_name = nameBeside(path, compensationSum(mask));
    m_path = (maskFolder(path) / m_name).string();
    std::error_code failure;
    const bool isThere = fs::exists(m_path, failure);
    writeWhole(m_path, compensationBytes(mask), FileKind::compensation);
    m_isNew = !isThere;
}

CompensationFile::~CompensationFile() {
    std::error_code ignored;
    if (m_isNew)
        fs::remove(m_path, ignored);
}

void removeUnusedCompensations(const std::string& path, const std::string& current,
                               const std::optional<CompensationLink>& earlier) {
    const fs::path folder = maskFolder(path);
    const std::vector<std::string> names = namesIn(folder.string());
    std::error_code ignored;
    for (const std::string& name : names) {
        const std::string digits = digitsOf(name);
        if (digits.empty() || name != nameBeside(path, digits) || name == current)
            continue;
        const bool isReplaced = earlier && name == earlier->file;
        if ((isReplaced || isOld(folder / name)) && !isStatedIn(folder, names, digits))
            fs::remove(folder / name, ignored);
    }
}

} // namespace secateur
