#pragma once

namespace secateur {

/// A number computed from the attention probabilities of a query over the keys that it sees.
struct AttentionFeature {
    enum class Kind {
        key,        ///< probability of the key at position `first`; negative = from the row's end, -1 = last
        band,       ///< summed probability of the keys at offsets `first` to `last` from the query, without key 0
        entropy,    ///< -sum a ln a over the probabilities a, in nats
        shiftedLog, ///< -sum a ln(a + epsilon)
        shifted,    ///< -sum (a + epsilon) ln(a + epsilon)
    };
    Kind kind = Kind::key;
    int first = 0;
    int last = 0;
    float epsilon = 0; ///< epsilon of the features shiftedLog and shifted; above 0
    bool operator==(const AttentionFeature&) const = default;
};

} // namespace secateur
