#include "backends/base/signal_text.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace secateur {

namespace {

/// Writes a number with leading zeros.
char* writeDigits(char* begin, std::int64_t number, int digits) {
    for (int place = digits - 1; place >= 0; --place) {
        begin[place] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
    return begin + digits;
}

struct CivilDate {
    std::int64_t year;
    std::int64_t month;
    std::int64_t day;
};

/// The date of a day, counted from 1970-01-01. gmtime_r() may take a lock.
/// Source: Howard Hinnant, chrono-Compatible Low-Level Date Algorithms, civil_from_days.
CivilDate civilDate(std::int64_t days) {
    constexpr std::int64_t daysOfEra = 146097;
    days += 719468; // from 0000-03-01
    const std::int64_t era = days / daysOfEra;
    const std::int64_t ofEra = days - era * daysOfEra;
    const std::int64_t year = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
    const std::int64_t ofYear = ofEra - (365 * year + year / 4 - year / 100);
    const std::int64_t month = (5 * ofYear + 2) / 153; // from March
    return {year + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9,
            ofYear - (153 * month + 2) / 5 + 1};
}

} // namespace

std::string_view signalName(int number) {
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV, segmentation fault";
    case SIGBUS:
        return "SIGBUS, bus error";
    case SIGFPE:
        return "SIGFPE, arithmetic error";
    case SIGILL:
        return "SIGILL, illegal instruction";
    case SIGABRT:
        return "SIGABRT, abort";
    default:
        return "another signal";
    }
}

std::string_view compilerName() {
#ifdef __clang__
    return "Clang " __clang_version__;
#else
    return "GCC " __VERSION__;
#endif
}

void writeAll(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::size_t writeTime(char* begin, std::time_t time, TimeForm form) {
    constexpr std::int64_t daySeconds = 86400;
    const std::int64_t seconds = time % daySeconds;
    const CivilDate date = civilDate(time / daySeconds);
    const bool isName = form == TimeForm::name;
    char* at = begin;
    if (form != TimeForm::clock) {
        at = writeDigits(at, date.year, 4);
        for (const std::int64_t part : {date.month, date.day}) {
            if (!isName)
                *at++ = '-';
            at = writeDigits(at, part, 2);
        }
        *at++ = isName ? '-' : ' ';
    }
    at = writeDigits(at, seconds / 3600, 2);
    for (const std::int64_t part : {seconds / 60 % 60, seconds % 60}) {
        if (!isName)
            *at++ = ':';
        at = writeDigits(at, part, 2);
    }
    return static_cast<std::size_t>(at - begin);
}

} // namespace secateur
