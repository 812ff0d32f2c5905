#include "backends/session/mask_digest.h"

#include "backends/base/sha256.h"

namespace secateur {

namespace {

void add(Sha256& sum, const std::string& text) {
    sum.add(text.c_str(), text.size() + 1);
}

std::int64_t code(AttentionCut cut) {
    switch (cut) {
    case AttentionCut::keep:
        return 0;
    case AttentionCut::drop:
        return 1;
    case AttentionCut::bypassQk:
        return 2;
    }
    return -1;
}

void addCut(Sha256& sum, const std::vector<bool>& marks) {
    std::vector<std::int64_t> numbers{0};
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (!marks[i])
            numbers.push_back(static_cast<std::int64_t>(i));
    }
    numbers.front() = std::ssize(numbers) - 1;
    sum.add(numbers.data(), numbers.size() * sizeof numbers.front());
}

} // namespace

std::string maskDigest(const PruningMask& mask) {
    if (mask.keepsAll())
        return "dense";
    Sha256 sum;
    add(sum, mask.architecture());
    add(sum, mask.structure());
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerMask& layer = mask.layer(index);
        if (layer.keepsAll())
            continue;
        sum.add(std::int64_t{index});
        sum.add(std::int64_t{!layer.block});
        sum.add(code(layer.attention));
        sum.add(&layer.alpha, sizeof layer.alpha);
        sum.add(std::int64_t{!layer.mlp});
        addCut(sum, layer.heads);
        addCut(sum, layer.neurons);
    }
    return "sha256:" + sum.hexadecimal();
}

} // namespace secateur
