#include "analysis/strategies/step_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace secateur {

Progress stepProgress(const Progress& all, std::size_t step, std::size_t steps) {
    const auto share = [&](std::size_t done) { return static_cast<double>(done) / static_cast<double>(steps + 1); };
    return Progress(
        [own = all.part(share(step), share(step + 1)), step, steps](double fraction, std::string_view text) {
            own.report(fraction, fmt::format("step {} of {}, {}", std::min(step + 1, steps), steps, text));
        });
}

} // namespace secateur
