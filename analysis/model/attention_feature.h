#pragma once

namespace secateur {

/// A number computed from the attention probabilities of each query over the keys that it sees.
struct AttentionFeature {
    enum class Kind {
        key,        ///< probability of the key at position `first`; a negative one counts from the row's end, -1 = last
        band,       ///< summed probability of the keys at offsets `first` to `last` from the query, without key 0
        entropy,    ///< -sum a ln a over the probabilities a, in nats
        shiftedLog, ///< -sum a ln(a + epsilon)
        shifted,    ///< -sum (a + epsilon) ln(a + epsilon)
    };
    Kind kind = Kind::key;
    int first = 0;
    int last = 0;
    float epsilon = 0; ///< of the shifted kinds; above 0
    bool operator==(const AttentionFeature&) const = default;
};

} // namespace secateur
