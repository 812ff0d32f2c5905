#include "backends/base/atomic_folder.h"

#include "analysis/base/error.h"
#include "backends/base/file_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace secateur {

namespace {

namespace fs = std::filesystem;

void checkReplaceable(const std::string& name, const fs::path& target, bool mayReplace, const std::string& mark) {
    if (!mayReplace)
        throw Error("exists", name, "Choose another name, or say that it may be replaced (--force)");
    const auto refuse = [&](const char* why) {
        throw Error(fmt::format("is not replaced: {}", why), name, "Remove it yourself or choose another name");
    };
    if (!fs::is_directory(target))
        refuse("it is not a folder");
    if (!fs::is_empty(target) && !fs::exists(target / mark))
        refuse("it is a folder that no export wrote");
    if (std::ranges::any_of(fs::directory_iterator(target), [](const auto& item) { return item.is_directory(); }))
        refuse("it holds other folders");
}

} // namespace

AtomicFolder::AtomicFolder(const std::string& target, bool mayReplace, const std::string& mark)
    : m_name(target) {
    fs::path path = fs::absolute(target).lexically_normal();
    if (!path.has_filename()) // "folder/"
        path = path.parent_path();
    std::error_code ignored;
    if (const fs::path real = fs::canonical(path, ignored); !ignored)
        path = real;
    m_target = path.string();
    if (fs::exists(fs::symlink_status(path)))
        checkReplaceable(m_name, path, mayReplace, mark);
    if (!fs::is_directory(path.parent_path()))
        throw Error(fmt::format("cannot be written: there is no folder {}", path.parent_path().string()), m_name,
                    "Make it first");
    m_aside.emplace(path.parent_path().string(), Unfinished::Kind::folder, m_name);
}

AtomicFolder::~AtomicFolder() {
    std::error_code ignored;
    fs::remove_all(path(), ignored);
}

void AtomicFolder::commit() {
    for (const fs::directory_entry& item : fs::directory_iterator(path()))
        syncFile(item.path().string(), m_name);
    syncFolder(path());
    // An empty folder gives way to a rename, so do names that nobody has; what is full changes places with the new one
    // and is removed with the temporary name.
    if (std::rename(path().c_str(), m_target.c_str()) != 0 &&
        ((errno != ENOTEMPTY && errno != EEXIST) ||
         renameat2(AT_FDCWD, path().c_str(), AT_FDCWD, m_target.c_str(), RENAME_EXCHANGE) != 0))
        failWriting(m_name);
    syncFolder(fs::path(m_target).parent_path().string());
}

} // namespace secateur
