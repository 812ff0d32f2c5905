#include "backends/data_digest.h"

#include "backends/sha256.h"

namespace secateur {

std::string dataDigest(const SequenceSet& set) {
    Sha256 sum;
    sum.add(static_cast<std::int64_t>(set.sequences.size()));
    for (const TokenSequence& sequence : set.sequences) {
        sum.add(static_cast<std::int64_t>(sequence.ids.size()));
        for (const int id : sequence.ids)
            sum.add(std::int64_t{id});
    }
    return "sha256:" + sum.hexadecimal();
}

} // namespace secateur
