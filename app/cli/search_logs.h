#pragma once

#include "analysis/strategies/prune.h"
#include "backends/session/price_log.h"

#include <list>
#include <string>

namespace secateur::cli {

/// The files of prices of a command's searches, beside its result: OUT.0123abcd.prices. The same command goes on from
/// them if it was interrupted.
class SearchLogs {
public:
    /// @param out the file that the command writes
    explicit SearchLogs(std::string out);

    /// Lets a search go on from the prices of an interrupted run of the same request, and stores what it measures.
    /// Other strategies have no prices. This object must outlive the inputs.
    void serve(const Model& model, const PruneRequest& request, PruneInputs& inputs);
    /// Removes the files, once the result is written.
    void remove();

private:
    std::string m_out;
    std::list<PriceLog> m_logs;
};

} // namespace secateur::cli
