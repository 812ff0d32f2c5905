#include "backends/export/merge_scores.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace secateur {

namespace {

/// The first and the last place in the list of the merges into a token.
struct MergePlaces {
    int result = 0;
    std::size_t first = 0;
    std::size_t last = 0;
};

/// The places of merges by result, in order of the first place.
std::vector<MergePlaces> placesByResult(const std::vector<BpeMerge>& merges) {
    std::vector<MergePlaces> places;
    std::map<int, std::size_t> known; // index in `places` by result
    for (std::size_t i = 0; i < merges.size(); ++i) {
        const auto [found, isNew] = known.emplace(merges[i].result, places.size());
        if (isNew)
            places.push_back({merges[i].result, i, i});
        places[found->second].last = i;
    }
    return places;
}

void checkAllMerges(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges, const std::vector<float>& scores,
                    const std::vector<bool>& usable, const std::string& subject) {
    std::set<std::pair<int, int>> pairs;
    for (const BpeMerge& merge : merges)
        pairs.emplace(merge.left, merge.right);
    for (const BpeMerge& merge : mergesByScore(vocabulary, scores, usable)) {
        if (!pairs.contains({merge.left, merge.right}))
            throw Error(fmt::format("lack {} and {}, which llama.cpp would merge because their union is a token",
                                    inQuotes(vocabulary.text(merge.left)), inQuotes(vocabulary.text(merge.right))),
                        subject);
    }
}

} // namespace

MergeScores scoresOfMerges(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges,
                           const std::vector<bool>& usable, const std::string& subject) {
    MergeScores found;
    found.scores.assign(static_cast<std::size_t>(vocabulary.size()), 0.F);
    std::size_t end = 0; // of the places of all results with the latest score
    float score = 0;
    int shared = 0; // number of results with the latest score
    for (const MergePlaces& places : placesByResult(merges)) {
        const bool isTied = places.first < end;
        score -= isTied ? 0.F : 1.F;
        shared = isTied ? shared + 1 : 1;
        found.equal += shared == 2 ? 2 : shared > 2 ? 1 : 0;
        end = std::max(end, places.last + 1);
        found.scores[static_cast<std::size_t>(places.result)] = score;
    }
    checkAllMerges(vocabulary, merges, found.scores, usable, subject);
    return found;
}

} // namespace secateur
