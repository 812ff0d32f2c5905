#include "analysis/session/sweep_known.h"

namespace secateur {

SweepKnown knownOf(const Session& session) {
    return {.curves = session.curves,
            .results = session.results,
            .evaluations = session.evaluations,
            .mask = [&session](std::string_view digest) {
                const SessionMask* mask = session.mask(digest);
                return mask ? &mask->record.mask : nullptr;
            }};
}

} // namespace secateur
