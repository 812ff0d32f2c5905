#include "analysis/base/shown_number.h"

#include "analysis/base/text.h"

#include <fmt/format.h>

#include <cmath>

namespace secateur {

std::string withMinus(std::string number) {
    for (std::size_t at = 0; (at = number.find('-', at)) != std::string::npos;)
        number.replace(at, 1, "−");
    return number;
}

std::string shownNumber(double value, int digits) {
    return withMinus(significant(value, digits));
}

std::string shownWithError(double value, double error) {
    return withMinus(withError(value, error));
}

std::string shownChange(double value, double error) {
    return (value > 0 ? "+" : "") + shownWithError(value, error);
}

std::string shownShare(double share) {
    return std::isnan(share) ? "–" : withMinus(fmt::format("{:.1f} %", 100 * share));
}

std::string shownShare(double share, double error) {
    if (std::isnan(share) || !(error > 0) || !std::isfinite(error))
        return shownShare(share);
    return withMinus(fmt::format("{:.1f} ± {:.1f} %", 100 * share, 100 * error));
}

} // namespace secateur
