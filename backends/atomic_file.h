#pragma once

#include <string>
#include <string_view>

namespace secateur {

/// A file written beside its target and renamed into place by commit(): whoever reads the target sees the old file or
/// the whole new one. Without commit() the target stays as it was.
class AtomicFile {
public:
    /// Makes an empty file in the target's folder. @throws Error naming the target
    explicit AtomicFile(std::string target);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// Where to write until commit().
    const std::string& path() const { return m_path; }
    /// Puts the bytes on the disk and takes the target's name. @throws Error
    void commit();

private:
    std::string m_target;
    std::string m_path; ///< empty once committed
};

/// @throws Error
void writeTextFile(const std::string& target, std::string_view text);

} // namespace secateur
