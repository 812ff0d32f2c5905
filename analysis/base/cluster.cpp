#include "analysis/base/cluster.h"

#include "analysis/base/bytes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace secateur {

void shareWithAll(const Cluster& cluster, std::size_t count, const Cluster::Work& work, const Cluster::Take& take,
                  const Progress& progress) {
    std::vector<std::string> results(count);
    const auto takeHere = [&](std::size_t item, std::string_view bytes) {
        results[item] = bytes;
        take(item, bytes);
    };
    cluster.share(count, work, takeHere, progress);
    const std::string all = cluster.broadcast(packed(results));
    if (cluster.rank() == 0)
        return;
    results = unpacked<std::vector<std::string>>(all);
    for (std::size_t item = 0; item < count; ++item)
        take(item, results[item]);
}

void shareInOrder(const Cluster& cluster, std::size_t count, const Cluster::Work& work, const Cluster::Take& take,
                  const Progress& progress) {
    std::map<std::size_t, std::string> waiting;
    std::size_t next = 0;
    const auto takeHere = [&](std::size_t item, std::string_view bytes) {
        waiting.emplace(item, bytes);
        for (auto first = waiting.begin(); first != waiting.end() && first->first == next; ++next) {
            take(next, first->second);
            first = waiting.erase(first);
        }
    };
    cluster.share(count, work, takeHere, progress);
}

void shareBatches(
    const Cluster& cluster, std::size_t batches, bool isResident,
    const std::function<std::vector<std::string>(std::size_t first, std::size_t count, const Progress& progress)>& run,
    const Cluster::Take& take, const Progress& progress) {
    const std::size_t items = isResident ? batches : std::min(batches, static_cast<std::size_t>(cluster.size()));
    const auto begin = [&](std::size_t item) { return item * batches / items; };
    const auto work = [&](std::size_t item, const Progress& own) {
        return packed(run(begin(item), begin(item + 1) - begin(item), own));
    };
    const auto takeBatches = [&](std::size_t item, std::string_view bytes) {
        const auto results = unpacked<std::vector<std::string>>(bytes);
        for (std::size_t i = 0; i < results.size(); ++i)
            take(begin(item) + i, results[i]);
    };
    shareInOrder(cluster, items, work, takeBatches, progress);
}

} // namespace secateur
