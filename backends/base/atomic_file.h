#pragma once

#include "backends/base/unfinished.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// A file written beside its target and renamed into place by commit(): whoever reads the target sees the old file or
/// the whole new one. Without commit() the target stays as it was and nothing is left beside it.
class AtomicFile {
public:
    /// Makes an empty file in the target's folder, with the target's permissions where there is one.
    /// @throws Error naming the target when there is no such folder, no permission, or something else of that name
    explicit AtomicFile(const std::string& target);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// Where to write until commit().
    const std::string& path() const { return m_aside->path(); }
    /// All that the file is to hold. @throws Error
    void write(std::string_view bytes);
    /// Puts the bytes on the disk, ahead of commit(), which then takes no time. @throws Error
    void sync();
    /// Removes what has the target's name, as far as there is something. @throws Error
    void removeTarget();
    /// Puts the bytes on the disk and takes the target's name. @throws Error
    void commit();

private:
    std::string m_name;                ///< the target as the person called it
    std::string m_target;              ///< the same with links followed
    std::optional<Unfinished> m_aside; ///< empty once committed
};

/// Puts bytes in a file, beside its target, and renames. @throws Error
void writeWhole(const std::string& target, std::string_view bytes);

/// Refuses at once what would only fail after the work: makes a file beside the target and removes it. @throws Error
void checkCanWrite(const std::string& target);

} // namespace secateur
