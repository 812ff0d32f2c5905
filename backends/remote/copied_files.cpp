#include "backends/remote/copied_files.h"

#include "analysis/base/error.h"
#include "backends/base/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t mostBytes = std::uintmax_t{256} << 20U;
constexpr std::size_t mostFiles = 10'000;

/// The regular files at a path, in the order of their names.
std::vector<fs::path> regularFiles(const fs::path& path) {
    std::error_code problem;
    if (!fs::is_directory(path, problem))
        return {path};
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied))
        if (entry.is_regular_file() && files.size() < mostFiles)
            files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

/// The name of a file or folder, also of "folder/".
std::string nameOf(const fs::path& path) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

/// Whether a relative path stays in its folder.
bool staysInside(const fs::path& name) {
    return !name.empty() && name.is_relative() &&
           std::ranges::none_of(name, [](const fs::path& part) { return part == ".." || part == "." || part.empty(); });
}

} // namespace

CopiedFiles filesAt(const std::string& path) {
    CopiedFiles copied{.name = nameOf(path), .isFolder = fs::is_directory(path), .files = {}};
    std::uintmax_t all = 0;
    for (const fs::path& file : regularFiles(path)) {
        const std::string name = copied.isFolder ? fs::relative(file, path).generic_string() : copied.name;
        if (copied.isFolder && fs::file_size(file) == 0) { // cannot be mapped
            copied.files.push_back({name, {}});
            continue;
        }
        const auto mapped = MappedFile::open(file.string());
        all += mapped->bytes().size();
        if (all > mostBytes)
            throw Error("is too large to be sent to a server: a text may have 256 MiB", path);
        copied.files.push_back({name, std::string(charactersOf(mapped->bytes()))});
        mapped->checkWhole();
    }
    return copied;
}

std::string stateOf(const std::string& path) {
    std::string state = path;
    std::error_code problem;
    for (const fs::path& file : regularFiles(path))
        state += fmt::format("\n{} {} {}", file.string(), fs::file_size(file, problem),
                             fs::last_write_time(file, problem).time_since_epoch().count());
    return state;
}

void writeFile(const std::string& path, const std::string& bytes) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush())
        throw Error("cannot be written", path);
}

TemporaryFolder::TemporaryFolder()
    : m_path((fs::temp_directory_path() / "secateur-remote-XXXXXX").string()) {
    if (!mkdtemp(m_path.data()))
        throw Error(fmt::format("No temporary folder can be made: {}", std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
}

std::string KeptFiles::keep(const CopiedFiles& files) {
    if (!m_folder)
        m_folder.emplace();
    const fs::path folder = fs::path(m_folder->path()) / std::to_string(++m_count);
    const bool isSound =
        staysInside(files.name) && fs::path(files.name).filename() == files.name &&
        (files.isFolder || (files.files.size() == 1 && files.files.front().name == files.name)) &&
        std::ranges::all_of(files.files, [](const CopiedFile& file) { return staysInside(file.name); });
    if (!isSound)
        throw Error("A message has files that lead elsewhere");
    const fs::path target = folder / files.name;
    fs::create_directories(files.isFolder ? target : folder);
    for (const CopiedFile& file : files.files)
        writeFile(((files.isFolder ? target : folder) / file.name).string(), file.bytes);
    return target.string();
}

} // namespace secateur
