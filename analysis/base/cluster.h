#pragma once

#include "analysis/base/progress.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Processes ("ranks") that run one command together. All ranks call the same functions of this class in the same
/// order; only rank 0 prints and stores results. A null pointer to a Cluster stands for a single process everywhere.
class Cluster {
public:
    virtual ~Cluster() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;

    /// Does the work on an item and returns its result as bytes (bytes.h). The result must not depend on the rank.
    using Work = std::function<std::string(std::size_t item, const Progress& progress)>;
    using Take = std::function<void(std::size_t item, std::string_view bytes)>;

    /// Does the work on the items 0 to count - 1. Each rank takes the next item as soon as it is free.
    /// @param take called on rank 0 only, between its own items, in the order in which results arrive
    /// @throws Error on all ranks, if an item throws one; Cancelled on all ranks, if one of them is asked to stop
    virtual void share(std::size_t count, const Work& work, const Take& take, const Progress& progress) const = 0;

    /// The bytes of rank 0, on all ranks. @throws Cancelled
    virtual std::string broadcast(std::string bytes) const = 0;
};

/// As Cluster::share(), but every rank takes all results: rank 0 as they arrive, the others at the end.
void shareWithAll(const Cluster& cluster, std::size_t count, const Cluster::Work& work, const Cluster::Take& take,
                  const Progress& progress);

/// As Cluster::share(), but results are taken in the order of the items, so that sums of them are the same for any
/// number of ranks.
void shareInOrder(const Cluster& cluster, std::size_t count, const Cluster::Work& work, const Cluster::Take& take,
                  const Progress& progress);

/// Shares out batches and takes the results in their order. With a resident plan the batches are taken one by one;
/// otherwise each rank runs neighbouring batches together, so that it reads the weights only once.
/// @param run returns the bytes of each of the batches [first, first + count)
void shareBatches(
    const Cluster& cluster, std::size_t batches, bool isResident,
    const std::function<std::vector<std::string>(std::size_t first, std::size_t count, const Progress& progress)>& run,
    const Cluster::Take& take, const Progress& progress);

} // namespace secateur
