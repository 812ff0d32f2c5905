#pragma once

#include "analysis/gallery/figure_table.h"
#include "analysis/metrics/measure.h"
#include "analysis/session/services.h"

#include <memory>
#include <string>

namespace secateur {

/// A run of the model for an item that is not drawn from the session.
struct ItemRun {
    std::shared_ptr<const Model> model;
    std::string path; ///< the model's, for commands
    FigureRequest request;
    std::string prompt = {}; ///< for items of a prompt
    MeasureChoice text = {}; ///< for items of a calibration text
};

/// Whether the services that an item needs are there. False for items of a session.
bool canRun(const FigureInfo& item, const Services& services);

/// Runs the dense model on the prompt or the text and draws the item, with the command that draws it again. Runs on a
/// worker thread. @throws Error; Cancelled
Figure runItem(const ItemRun& run, const Services& services, const Progress& progress);

/// The work for an item on a calibration text, in forward passes over it; 0 for other items.
double passesOf(const FigureInfo& item);

} // namespace secateur
