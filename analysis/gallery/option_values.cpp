#include "analysis/gallery/option_values.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/core.h>

#include <charconv>
#include <vector>

namespace secateur {

std::optional<int> wholeNumberIn(std::string_view text) {
    int value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failure == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

int integerOption(const FigureOptions& options, const std::string& name) {
    const std::string& text = options.at(name);
    const std::optional<int> value = wholeNumberIn(text);
    if (!value)
        throw UsageError("is out of range", fmt::format("{}={}", name, text));
    return *value;
}

HeadId headOfOption(std::string_view option, const std::string& text) {
    const std::vector<std::string> parts = split(text, '.');
    const HeadId head{wholeNumberIn(parts.front()).value_or(-1), wholeNumberIn(parts.back()).value_or(-1)};
    if (parts.size() != 2 || head.layer < 0 || head.head < 0)
        throw UsageError("should name a head: LAYER.HEAD", fmt::format("{}={}", option, text));
    return head;
}

} // namespace secateur
