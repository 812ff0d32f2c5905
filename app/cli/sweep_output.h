#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/session/session.h"

#include <string>

namespace secateur::cli {

/// The files that `sweep` writes.
struct SweepFiles {
    std::string out;   ///< session
    std::string csv;   ///< folder for curves.csv; empty = none
    std::string masks; ///< folder for mask files; empty = none
    bool force = false;
};

/// Makes the folders, and checks that curves.csv can be written. @throws Error
void checkFiles(const SweepFiles& files);
/// Writes curves.csv and the masks of all points. @param session with the masks @throws Error
void writeFiles(const SweepFiles& files, const Session& session, const Curves& curves);

/// Prints the curves as a table or as JSON, and notes about warnings and failures.
void printSweep(const Session& session, const Curves& curves, double seconds, bool asJson);
/// Prints a set of curves as a table.
void printCurves(const Curves& curves);

} // namespace secateur::cli
