#include "analysis/session.h"

#include <algorithm>

namespace secateur {

const MetricResult* Session::latest(std::string_view resultId) const {
    const auto found = std::find_if(results.rbegin(), results.rend(),
                                    [&](const MetricResult& result) { return result.request.resultId() == resultId; });
    return found == results.rend() ? nullptr : &*found;
}

void add(Session& session, MetricResult result) {
    // Measured again the same way: the time of measuring does not make it another measurement.
    const auto isSame = [&](const MetricResult& other) {
        Measurement now = result.measurement;
        now.created = other.measurement.created;
        return other.request.resultId() == result.request.resultId() && other.measurement == now;
    };
    std::erase_if(session.results, isSame);
    session.results.push_back(std::move(result));
}

} // namespace secateur
