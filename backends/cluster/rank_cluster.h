#pragma once

#include "analysis/base/cluster.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace secateur {

/// The place of this process in a job.
struct Launch {
    int rank = 0;
    bool isShared = false; ///< whether a launcher of MPI started more than one process
};

/// What mpirun or srun says in the environment. Does not call MPI.
Launch launchOfProcess();

/// Why the ranks of a job were stopped.
struct RankFailure {
    std::string sentence;
    int status = 1; ///< exit status of the program
};

/// A job of several processes.
class RankCluster : public Cluster {
public:
    /// Number of threads for a rank: the node's cores divided by its ranks, but no more than the rank may use, and at
    /// least 1.
    virtual int threads() const = 0;
    /// Rank 0: the first failure of another rank. Empty = none.
    virtual std::optional<RankFailure> failure() const = 0;
    /// Other ranks: reports a failure, so that rank 0 prints it and stops all ranks. Rank 0 is given a second to fail
    /// in the same way, because most failures are those of all ranks.
    virtual void fail(const RankFailure& failure) = 0;
    /// The last call: rank 0 stops the others, and all wait for each other.
    virtual void leave() = 0;
};

/// Joins the job that started this process. @param stop called on another thread to stop the work of this rank
/// @throws Error if this build has no MPI
std::unique_ptr<RankCluster> joinCluster(std::function<void()> stop);

} // namespace secateur
