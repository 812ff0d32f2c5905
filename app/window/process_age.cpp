#include "app/window/process_age.h"

#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>

namespace secateur {

namespace {

double bootSeconds() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Field 22 of /proc/self/stat, in clock ticks since boot. Field 2 is a name in brackets that may hold spaces.
std::optional<double> launchSeconds() {
    std::ifstream file("/proc/self/stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const auto name = stat.rfind(')');
    if (name == std::string::npos)
        return {};
    std::istringstream rest(stat.substr(name + 1));
    std::string field;
    for (int i = 3; i <= 22; ++i)
        rest >> field;
    char* end = nullptr;
    const double ticks = std::strtod(field.c_str(), &end);
    if (!rest || *end != '\0')
        return {};
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

} // namespace

double processAge() {
    static const double begin = launchSeconds().value_or(bootSeconds());
    return bootSeconds() - begin;
}

} // namespace secateur
