#pragma once

#include "analysis/base/error.h"
#include "analysis/model/model_card.h"
#include "analysis/session/session.h"
#include "app/cli/cli_common.h"
#include "backends/cluster/rank_cluster.h"

#include <memory>
#include <string>
#include <string_view>

namespace secateur::cli {

// Runs of the program as several processes, which mpirun started (resources/manual/clusters.md).

/// Joins the job that started this process, if there is one. Only rank 0 prints and writes results. Verbs that do not
/// share their work run on rank 0 alone.
class Ranks {
public:
    /// @param verb the first argument of the program @throws Error if this build has no MPI
    Ranks(std::string_view verb, Console& console);

    /// Whether this process runs the verb.
    bool runsVerb() const;
    /// Ends the job. @param status exit status of this rank's work @param sentence why it failed; empty = it did not
    /// @returns the exit status of the process
    int leave(int status, const std::string& sentence, const Console& console);

private:
    std::unique_ptr<RankCluster> m_cluster;
    bool m_isShared = false;
};

/// The ranks that share the work of the verb; null = this process runs it alone.
const RankCluster* cluster();

/// Whether this process writes results.
bool writesResults();

/// The session at a path, which results will be added to; an empty one if there is no file. Rank 0 reads it for all
/// ranks, so that they begin with the same results.
/// @param card of the session if there is no file @throws Error if the file cannot be extended, or belongs to another
/// model
Session sessionToExtend(const std::string& path, const ModelCard& card);

/// Rank 0 adds results to the session at a path. @throws Error
void addToResults(const Session& additions, const std::string& path);

/// Refuses an option that times the model, because the ranks of a node would disturb each other. @throws UsageError
void checkTimesAlone(bool isWanted);

} // namespace secateur::cli
