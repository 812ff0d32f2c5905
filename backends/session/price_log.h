#pragma once

#include "analysis/strategies/prune.h"

#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A file of the prices that a search has measured, beside the mask that it makes. A search that was interrupted reads
/// it and goes on. The file is text: a JSON object with the key, then a JSON array for each call of add().
class PriceLog {
public:
    /// Reads the prices of an earlier run with the same key, and continues its file. A file with another key is
    /// replaced; a line that was cut short is dropped.
    /// @param key everything on which the prices depend
    /// @throws Error if the file cannot be written, or is not a file of prices
    PriceLog(std::string path, const std::string& key);

    const std::vector<StepPrice>& known() const { return m_known; }
    /// Appends prices and flushes them. @throws Error
    void add(std::span<const StepPrice> prices);
    /// Removes the file, once the result is written.
    void remove();

private:
    bool readEarlier(const std::string& key);
    void append(const std::string& line);

    std::string m_path;
    std::vector<StepPrice> m_known;
    std::ofstream m_file;
};

} // namespace secateur
