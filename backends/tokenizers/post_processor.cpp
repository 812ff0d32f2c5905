#include "backends/tokenizers/post_processor.h"

#include <algorithm>

namespace secateur {

namespace {

void append(Encoding& whole, const Encoding& part, int type) {
    whole.ids.insert(whole.ids.end(), part.ids.begin(), part.ids.end());
    whole.ranges.insert(whole.ranges.end(), part.ranges.begin(), part.ranges.end());
    whole.types.insert(whole.types.end(), part.ids.size(), type);
}

} // namespace

void PostProcessor::trim(Encoding& encoding, std::string_view text) const {
    if (!trimsBlanks)
        return;
    for (std::size_t i = 0; i < encoding.ranges.size(); ++i) {
        TextRange& range = encoding.ranges[i];
        const auto isBlank = [&](std::size_t at) { return at < text.size() && text[at] == ' '; };
        std::size_t leading = 0;
        while (range.begin + leading < range.end && isBlank(range.begin + leading))
            ++leading;
        if (!((i == 0 || range.begin == 0) && keepsPrefix && leading == 1))
            range.begin += leading;
        while (range.end > range.begin && isBlank(range.end - 1))
            --range.end;
    }
}

Encoding PostProcessor::join(Encoding first, const Encoding* second, const EncodeOptions& options) const {
    const std::vector<TemplateItem>& items = second ? pair : single;
    if (!second && items.size() == 1 && items.front().kind == TemplateItem::Kind::first) {
        first.types.assign(first.ids.size(), items.front().type);
        return first;
    }
    Encoding whole;
    for (const TemplateItem& item : items) {
        if (item.kind == TemplateItem::Kind::first) {
            append(whole, first, item.type);
        } else if (item.kind == TemplateItem::Kind::second && second) {
            append(whole, *second, item.type);
        } else if (item.kind == TemplateItem::Kind::special && options.addSpecial) {
            Encoding special{item.ids, {}, {}};
            if (options.ranges)
                special.ranges.resize(item.ids.size());
            append(whole, special, item.type);
        }
    }
    return whole;
}

} // namespace secateur
