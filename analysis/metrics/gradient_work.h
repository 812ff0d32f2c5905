#pragma once

#include "analysis/base/progress.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace secateur {

/// Something that gives values of heads to one or more requests while it runs.
class GradientWork {
public:
    virtual ~GradientWork() = default;

    /// @param more hears when there is more to tell @throws Cancelled
    virtual void run(const Progress& progress, const std::function<void()>& more) = 0;
    /// Of a layer's kept heads, so far.
    virtual std::vector<double> values(std::size_t request, int layer) const = 0;
    virtual std::int64_t tokens() const = 0;    ///< that are through
    virtual std::int64_t sequences() const = 0; ///< those of them
    virtual std::int64_t allTokens() const = 0; ///< that it has to do with
    virtual std::vector<std::string> warnings() const { return {}; }
};

} // namespace secateur
