#include "analysis/base/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>

namespace secateur {

namespace {

std::string scaled(double value, std::initializer_list<const char*> units) {
    auto unit = units.begin();
    while (std::abs(value) >= 1000 && unit + 1 != units.end()) {
        value /= 1000;
        ++unit;
    }
    const int decimals = unit == units.begin() ? 0 : value < 10 ? 2 : 1;
    return fmt::format("{:.{}f}{}{}", value, decimals, **unit ? " " : "", *unit);
}

} // namespace

std::string significant(double value, int digits) {
    if (std::isnan(value))
        return "–";
    const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
    if (value == 0 || !std::isfinite(value))
        return fmt::format("{:.{}f}", value, digits - 1);
    const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1)); // after rounding
    if (exponent < -3 || exponent > 5)
        return scientific;
    return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string withError(double value, double error) {
    if (!(error > 0) || !std::isfinite(error) || !std::isfinite(value))
        return significant(value);
    // One digit of an error says enough, unless it is a 1, which rounds by half.
    const auto exponentOf = [](double number) { return static_cast<int>(std::floor(std::log10(number))); };
    const double leading = error / std::pow(10.0, exponentOf(error));
    const int lastDigit = exponentOf(error) - (leading < 1.95 ? 1 : 0);
    const int exponent = exponentOf(std::max(std::abs(value), error));
    if (exponent >= -3 && exponent <= 5)
        return fmt::format("{:.{}f} ± {:.{}f}", value, std::max(0, -lastDigit), error, std::max(0, -lastDigit));
    const double scale = std::pow(10.0, exponent);
    const int decimals = std::max(0, exponent - lastDigit);
    return fmt::format("({:.{}f} ± {:.{}f})e{:+03d}", value / scale, decimals, error / scale, decimals, exponent);
}

std::string exactly(double value) {
    return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

std::string exactlyWithError(double value, double error) {
    if (!(error > 0))
        return exactly(value);
    return fmt::format("{} ± {} (estimate ± its standard error)", exactly(value), significant(error));
}

std::string shortCount(double count) {
    return scaled(count, {"", "k", "M", "B", "T"});
}

std::string grouped(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string counted(std::uint64_t count, std::string_view thing) {
    return fmt::format("{} {}{}", grouped(count), thing, count == 1 ? "" : "s");
}

std::string shortBytes(double bytes) {
    return scaled(bytes, {"B", "kB", "MB", "GB", "TB"});
}

std::string headName(int layer, int head) {
    return fmt::format("L{}.H{}", layer, head);
}

std::string utcNow() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1)
        parts.emplace_back(text.substr(begin, end - begin));
    parts.emplace_back(text.substr(begin));
    return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
    return fmt::format("{}", fmt::join(parts, separator));
}

} // namespace secateur
