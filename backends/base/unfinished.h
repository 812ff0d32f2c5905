#pragma once

#include <string>

namespace secateur {

/// What is being written beside its target: a file or folder of a name that tells what it is, ".secateur-NUMBER.tmp",
/// and locked for as long as its writer lives. A kill leaves it behind; whoever writes in the same folder a minute
/// later or after that takes it away.
class Unfinished {
public:
    enum class Kind { file, folder };

    /// Makes it, empty. @param name what the person calls the target, for errors @throws Error
    Unfinished(const std::string& folder, Kind kind, const std::string& name);
    ~Unfinished(); ///< unlocks, removes nothing
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    const std::string& path() const { return m_path; }
    int descriptor() const { return m_descriptor; }
    void unlock();

private:
    std::string m_path;
    int m_descriptor = -1;
};

} // namespace secateur
