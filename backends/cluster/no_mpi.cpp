// Takes the place of mpi_post.cpp in builds without MPI.

#include "backends/cluster/rank_post.h"

#include "analysis/base/error.h"

namespace secateur {

RankPost::RankPost(Receive) {
    throw Error("This build has no MPI, so that every process would do the whole work", "mpirun",
                "Build with -DSECATEUR_MPI=ON, or divide a sweep by --part");
}

RankPost::~RankPost() = default;

void RankPost::send(int, std::string) {}

} // namespace secateur
