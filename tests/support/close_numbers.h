#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace secateur::test {

/// The largest difference of two numbers at the same place of two JSON documents, relative to numbers above 1; infinite
/// if anything else differs.
inline double apart(const nlohmann::json& one, const nlohmann::json& other) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (one.is_number() && other.is_number())
        return std::abs(one.get<double>() - other.get<double>()) / std::max(1.0, std::abs(other.get<double>()));
    if (!one.is_structured() || one.type() != other.type() || one.size() != other.size())
        return one == other ? 0 : infinite;
    double most = 0;
    for (auto place = one.begin(), beside = other.begin(); place != one.end(); ++place, ++beside) {
        if (one.is_object() && place.key() != beside.key())
            return infinite;
        most = std::max(most, apart(*place, *beside));
    }
    return most;
}

} // namespace secateur::test
