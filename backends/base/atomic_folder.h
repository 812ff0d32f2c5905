#pragma once

#include "backends/base/unfinished.h"

#include <optional>
#include <string>

namespace secateur {

/// A folder filled beside its target and renamed into place by commit(): whoever looks at the target sees the whole new
/// folder, or what was there. Without commit() nothing is left.
class AtomicFolder {
public:
    /// Makes an empty folder beside the target.
    /// @param mayReplace a folder of that name, if it holds a file called `mark` and no folders
    /// @throws Error naming the target when something is there that may not be replaced, or there is no permission
    AtomicFolder(const std::string& target, bool mayReplace, const std::string& mark);
    ~AtomicFolder();
    AtomicFolder(const AtomicFolder&) = delete;
    AtomicFolder& operator=(const AtomicFolder&) = delete;

    /// Where to write until commit().
    const std::string& path() const { return m_aside->path(); }
    /// Puts all files on the disk and takes the target's name. @throws Error
    void commit();

private:
    std::string m_name;                ///< the target as the person called it
    std::string m_target;              ///< the same with links followed
    std::optional<Unfinished> m_aside; ///< removed at the end
};

} // namespace secateur
