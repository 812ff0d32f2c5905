#include "analysis/base/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
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

unsigned byteAt(std::string_view text, std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

/// White space outside ASCII, but for U+2000 to U+200A: U+0085, A0, 1680, 2028, 2029, 202F, 205F, 3000.
constexpr std::array<std::string_view, 8> wideSpaces{"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\xA8",
                                                     "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

} // namespace

std::string significant(double value, int digits) {
    if (std::isnan(value))
        return "–";
    const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
    if (value == 0 || !std::isfinite(value))
        return fmt::format("{:.{}f}", value, digits - 1);
    const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1)); // exponent after rounding
    if (exponent < -3 || exponent > 5)
        return scientific;
    return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string withError(double value, double error) {
    if (!(error > 0) || !std::isfinite(error) || !std::isfinite(value))
        return significant(value);
    // One digit of the error suffices, unless this digit is 1. Rounding to 1 could change the error by up to half.
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

std::string naturalKey(std::string_view name) {
    constexpr std::size_t digits = 9;
    std::string key;
    for (std::size_t i = 0; i < name.size();) {
        const std::size_t end = std::min(name.find_first_not_of("0123456789", i), name.size());
        if (end > i)
            key += std::string(digits - std::min(digits, end - i), '0') + std::string(name.substr(i, end - i));
        else
            key += name[i];
        i = std::max(end, i + 1);
    }
    return key;
}

std::size_t validLength(std::string_view text, std::size_t at, std::size_t& broken) {
    const auto byte = [&](std::size_t i) { return byteAt(text, at + i); };
    broken = 1;
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // The second byte's range excludes overlong forms, surrogates and code points beyond U+10FFFF (Unicode standard,
    // table 3-7).
    const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < least || byte(1) > most)
        return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) {
            broken = i;
            return 0;
        }
    }
    return length;
}

std::optional<std::size_t> firstInvalidUtf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t broken = 0;
        const std::size_t length = validLength(text, at, broken);
        if (length == 0)
            return at;
        at += length;
    }
    return std::nullopt;
}

std::size_t whiteSpaceAt(std::string_view text, std::size_t at) {
    const unsigned lead = byteAt(text, at);
    if (lead < 0x80)
        return at < text.size() && (lead == ' ' || (lead >= 0x09 && lead <= 0x0D) || (lead >= 0x1C && lead <= 0x1F));
    // U+2000 to U+200A
    if (lead == 0xE2 && byteAt(text, at + 1) == 0x80 && byteAt(text, at + 2) >= 0x80 && byteAt(text, at + 2) <= 0x8A)
        return 3;
    const auto space = std::ranges::find_if(wideSpaces, [&](auto s) { return text.substr(at).starts_with(s); });
    return space == wideSpaces.end() ? 0 : space->size();
}

std::string_view trimmed(std::string_view text) {
    std::size_t begin = 0;
    while (const std::size_t space = whiteSpaceAt(text, begin))
        begin += space;
    std::size_t end = begin;
    for (std::size_t at = begin; at < text.size();) {
        const std::size_t space = whiteSpaceAt(text, at);
        at += space > 0 ? space : 1;
        if (space == 0)
            end = at;
    }
    return text.substr(begin, end - begin);
}

} // namespace secateur
