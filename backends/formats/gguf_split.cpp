#include "backends/formats/gguf_split.h"

#include "analysis/base/error.h"
#include "backends/formats/foreign_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".gguf";
constexpr std::int64_t mostParts = 65535; // both numbers are stored in 16 bits

/// A number of five digits at the end of a text, which is taken off; nothing when there is none.
std::optional<int> takeNumber(std::string_view& text) {
    constexpr std::size_t digits = 5;
    if (text.size() < digits)
        return std::nullopt;
    const std::string_view written = text.substr(text.size() - digits);
    int number = 0;
    const auto result = std::from_chars(written.data(), written.data() + digits, number);
    if (result.ptr != written.data() + digits || number < 1)
        return std::nullopt;
    text.remove_suffix(digits);
    return number;
}

bool takeSuffix(std::string_view& text, std::string_view suffix) {
    if (!text.ends_with(suffix))
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

std::string partFileName(const std::string& model, int number, int count) {
    return fmt::format("{}-{:05}-of-{:05}{}", model, number, count, extension);
}

/// How many parts a file says that its model has; 0 or 1 = it is not split.
int partCount(const GgufMetadata& metadata) {
    return static_cast<int>(metadata.integer("split.count", 0, mostParts).value_or(0));
}

GgufPartName nameOf(const fs::path& file, int count) {
    const auto name = ggufPartName(file.filename().string());
    if (!name)
        throw Error(fmt::format("is one of {} parts of a model, but is not named as a part", count), file.string(),
                    "Parts are found by names like " + partFileName("model", 1, count));
    if (name->count != count)
        throw Error(fmt::format("is one of {} parts by its name, but one of {} by its split.count", name->count, count),
                    file.string());
    return *name;
}

/// That a part carries the number and the count which its name says.
void checkPart(const GgufPart& part, int number, int count) {
    const int found = partCount(part.metadata);
    if (found != count)
        throw Error(fmt::format("is one of {} parts by its name, but one of {} by its split.count", count, found),
                    part.file->path());
    const auto stored = part.metadata.integer("split.no", 0, mostParts).value_or(-1);
    if (stored != number - 1)
        throw Error(fmt::format("is part {} by its name, but part {} by its split.no", number, stored + 1),
                    part.file->path());
}

void checkTensorCount(const std::vector<GgufPart>& parts) {
    std::size_t found = 0;
    for (const GgufPart& part : parts)
        found += part.tensors.size();
    const GgufMetadata& first = parts.front().metadata;
    const auto stated = first.integer("split.tensors.count", 0, std::numeric_limits<std::int32_t>::max());
    if (stated && static_cast<std::size_t>(*stated) != found)
        first.refuse("split.tensors.count",
                     fmt::format("expected {} tensors in {} parts, found {}", *stated, parts.size(), found));
}

/// Files of a directory: one of each model, the lowest part of a split one.
std::map<std::string, std::string> modelsIn(const std::string& directory) {
    std::map<std::string, std::string> models; // by name without part number
    for (const fs::directory_entry& item : fs::directory_iterator(directory)) {
        if (item.path().extension() != extension || !item.is_regular_file())
            continue;
        const std::string file = item.path().filename().string();
        const auto part = ggufPartName(file);
        std::string& known = models[part ? partFileName(part->model, 1, part->count) : file];
        known = known.empty() ? file : std::min(known, file);
    }
    return models;
}

} // namespace

std::optional<GgufPartName> ggufPartName(const std::string& fileName) {
    std::string_view rest = fileName;
    if (!takeSuffix(rest, extension))
        return std::nullopt;
    const auto count = takeNumber(rest);
    if (!count || !takeSuffix(rest, "-of-"))
        return std::nullopt;
    const auto number = takeNumber(rest);
    if (!number || !takeSuffix(rest, "-") || rest.empty() || *number > *count)
        return std::nullopt;
    return GgufPartName{std::string(rest), *number, *count};
}

std::vector<GgufPart> readGgufParts(const std::string& path, const Progress& progress) {
    GgufPart given = readGguf(openWeights(path));
    std::vector<GgufPart> parts;
    const int count = partCount(given.metadata);
    if (count <= 1) {
        parts.push_back(std::move(given));
        return parts;
    }
    const fs::path file(path);
    const GgufPartName name = nameOf(file, count);
    for (int number = 1; number <= count; ++number) {
        const std::string part = partFileName(name.model, number, count);
        const fs::path place = file.parent_path() / part;
        progress.report(static_cast<double>(number - 1) / count, "reading " + part);
        if (!fs::exists(place))
            throw Error(fmt::format("is missing, part {} of {} of a split model", number, count), place.string());
        parts.push_back(number == name.number ? std::move(given) : readGguf(openWeights(place.string())));
        checkPart(parts.back(), number, count);
    }
    checkTensorCount(parts);
    return parts;
}

bool holdsGguf(const std::string& directory) {
    return !modelsIn(directory).empty();
}

std::string ggufModelIn(const std::string& directory) {
    const auto models = modelsIn(directory);
    if (models.empty())
        throw Error("holds no .gguf file", directory);
    if (models.size() == 1)
        return (fs::path(directory) / models.begin()->second).string();
    constexpr std::size_t shown = 5;
    std::vector<std::string> names;
    for (const auto& [model, file] : models) {
        if (names.size() < shown)
            names.push_back(file);
    }
    throw Error(fmt::format("holds {} models: {}{}", models.size(), fmt::join(names, ", "),
                            models.size() > shown ? ", ..." : ""),
                directory, "Open one of these files");
}

} // namespace secateur
