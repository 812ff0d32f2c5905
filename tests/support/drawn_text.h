#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/text/scored_text.h"

#include <algorithm>
#include <random>
#include <vector>

namespace secateur::test {

/// Generates texts of random token ids, divided into windows. The tokens have no meaning, so a loss on them can be
/// compared only with another loss of the same model.
class DrawnText {
public:
    explicit DrawnText(int vocab, unsigned seed = 1)
        : m_vocab(vocab)
        , m_random(seed) {}

    ScoredText fixedWindows(std::size_t count, int length) {
        ScoredText text{{TextProtocol::tokenPpl, BosMode::firstOnly, length}, false, {}, {}, {}};
        for (std::size_t i = 0; i < count; ++i)
            add(text, length, 1, i);
        return text;
    }

    /// A text of `count` pages with one to three windows each.
    ScoredText pages(std::size_t count, int length) {
        ScoredText text{{TextProtocol::wordPpl, BosMode::firstOnly, length}, false, {}, {}, {}};
        for (std::size_t page = 0; page < count; ++page) {
            const int windows = 1 + static_cast<int>(m_random() % 3);
            for (int i = 0; i + 1 < windows; ++i)
                add(text, length, 1, page);
            const int last = 2 + static_cast<int>(m_random() % static_cast<unsigned>(length - 1));
            add(text, last, 1 + m_random() % static_cast<unsigned>(last - 1), page);
            text.pages.push_back({windows * 4 + last, windows * 20 + last, page});
        }
        return text;
    }

private:
    void add(ScoredText& text, int length, std::size_t firstScored, std::size_t document) {
        TokenSequence window;
        for (int i = 0; i < length; ++i)
            window.ids.push_back(static_cast<int>(m_random() % static_cast<unsigned>(m_vocab)));
        window.types.assign(window.ids.size(), 0);
        window.document = document;
        text.windows.tokens += length;
        text.windows.sequences.push_back(std::move(window));
        text.firstScored.push_back(firstScored);
    }

    int m_vocab;
    std::mt19937 m_random;
};

/// Generates a sequence of masks like those of a user who edits one layer at a time. Each mask changes one layer of the
/// previous one. On average every eighth starts again from the mask that cuts nothing.
class Edits {
public:
    explicit Edits(const ModelSpec& spec, unsigned seed)
        : m_spec(spec)
        , m_mask(spec)
        , m_random(seed) {}

    const PruningMask& next() {
        if (draw(8) == 0)
            m_mask = PruningMask(m_spec);
        return next(static_cast<int>(draw(static_cast<unsigned>(m_spec.layerCount()))));
    }

    const PruningMask& next(int index) {
        LayerMask layer = m_mask.layer(index);
        switch (draw(6)) {
        case 0:
            layer.block = !layer.block;
            break;
        case 1:
            layer.mlp = !layer.mlp;
            break;
        case 2:
            layer.attention = layer.attention == AttentionCut::drop ? AttentionCut::keep : AttentionCut::drop;
            break;
        case 3:
            if (!layer.heads.empty())
                layer.attention = AttentionCut::bypassQk, layer.alpha = 0.25 * draw(8);
            break;
        case 4:
            flip(layer.neurons, 4);
            break;
        default:
            flip(layer.heads, 3);
        }
        if (layer.attention != AttentionCut::bypassQk)
            layer.alpha = 1;
        m_mask.setLayer(index, layer);
        return m_mask;
    }

private:
    unsigned draw(unsigned below) { return static_cast<unsigned>(m_random()) % below; }
    void flip(std::vector<bool>& flags, unsigned oneIn) {
        for (std::size_t i = 0; i < flags.size(); ++i)
            if (draw(oneIn) == 0)
                flags[i] = !flags[i];
    }

    const ModelSpec& m_spec;
    PruningMask m_mask;
    std::mt19937 m_random;
};

} // namespace secateur::test
