#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/session/command_line.h"

#include <string>
#include <vector>

namespace secateur {

/// The commands that run the sweeps of a set of curves: one for all strategies with equal budgets, repetitions and
/// compensations. Curves do not record the examples of tasks nor the field of a .jsonl file. Points after a training
/// are left out. @param maskFile file of the mask that the strategies extend; empty = none @param out path of the
/// session
std::vector<CommandLine> sweepCommands(const std::string& model, const Curves& curves, const std::string& maskFile,
                                       const std::string& out);

} // namespace secateur
