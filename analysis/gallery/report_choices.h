#pragma once

#include "analysis/session/session.h"

#include <string>
#include <vector>

namespace secateur {

// What a report shows of a session if the user chooses no figures: option texts for FigureInfo::inReport.

/// Each metric of heads and KV groups.
std::vector<std::string> headMapsOfReport(const Session& session);
/// The metrics of layers; those with the same unit and sizes within a factor of ten together.
std::vector<std::string> layerLinesOfReport(const Session& session);
/// Each metric of neurons.
std::vector<std::string> neuronBandsOfReport(const Session& session);
/// The evaluations, if there are several on a text.
std::vector<std::string> evaluationsOfReport(const Session& session);
/// Each set of curves that was scored, with its loss and with each of its tasks.
std::vector<std::string> curvesOfReport(const Session& session);
/// Each set of curves that was scored.
std::vector<std::string> setsOfReport(const Session& session);

} // namespace secateur
