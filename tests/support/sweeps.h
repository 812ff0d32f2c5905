#pragma once

#include "analysis/campaigns/campaign.h"
#include "analysis/campaigns/curves_csv.h"
#include "analysis/session/sweep_known.h"

#include <QByteArray>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace secateur::test {

/// A text of `count` sentences. @param end what follows each: two empty lines end a document
inline QByteArray numberedSentences(int count, const char* end) {
    QByteArray text;
    for (int i = 0; i < count; ++i)
        text += "the model reads a text and the mask cuts its heads number " + QByteArray::number(i) + end;
    return text;
}

/// A point with all times set to 0.
inline void clearTimes(CurvePoint& point) {
    for (double CurvePoint::*time : {&CurvePoint::choosingSeconds, &CurvePoint::scoringSeconds,
                                      &CurvePoint::trainingSeconds, &CurvePoint::tokensPerSecond})
        if (!std::isnan(point.*time))
            point.*time = 0;
}

/// All bits of a set of curves except for times, as text.
inline std::string bitsOf(Curves curves) {
    clearTimes(curves.dense);
    for (Curve& curve : curves.curves)
        for (CurvePoint& point : curve.points)
            clearTimes(point);
    std::string bits = curvesCsv(curves);
    for (const std::string& warning : curves.warnings)
        bits += warning + "\n";
    for (const CurveTask& task : curves.tasks)
        bits += task.name + " " + task.digest + "\n";
    return bits;
}

/// The bits of all curves of a session, and the digests of its masks. Sessions that were merged may have a mask twice, as
/// two strategies chose it.
inline std::string bitsOf(const Session& session) {
    std::string bits;
    for (const Curves& curves : session.curves)
        bits += bitsOf(curves);
    std::set<std::string> digests;
    for (const SessionMask& mask : session.masks)
        digests.insert(mask.digest);
    for (const std::string& digest : digests)
        bits += digest + "\n";
    return bits;
}

/// Adds news to a session as the program does.
inline void keep(Session& session, const SweepNews& news) {
    Session more;
    more.model = session.model;
    more.results = news.results;
    for (const ChosenMask& mask : news.masks)
        more.masks.push_back({mask.name, mask.digest, mask.record});
    more.evaluations = news.evaluations;
    if (news.curves)
        more.curves.push_back(*news.curves);
    join(session, more);
}

} // namespace secateur::test
