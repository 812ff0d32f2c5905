#include "widgets/window/head_search.h"

#include <QRegularExpression>

#include <algorithm>

namespace secateur {

namespace {

/// Numbers below a limit that begin with these digits: the number itself, then 30 to 39, 300 to 399 and so on. No
/// digits = all.
std::vector<int> numbersFrom(const QString& digits, int limit) {
    std::vector<int> numbers;
    if (digits.isEmpty()) {
        for (int number = 0; number < limit; ++number)
            numbers.push_back(number);
        return numbers;
    }
    const qint64 typed = digits.toLongLong();
    for (qint64 width = 1; typed * width < limit; width *= 10) {
        for (qint64 number = typed * width; number < std::min<qint64>((typed + 1) * width, limit); ++number)
            numbers.push_back(static_cast<int>(number));
        if (typed == 0)
            break;
    }
    return numbers;
}

} // namespace

std::vector<std::variant<HeadId, LayerPlace>> placesFor(const QString& typed, const ModelSpec& spec, std::size_t most) {
    static const QRegularExpression form(
        "^\\s*(?:l(?:ayer)?\\s*)?(\\d{0,6})(\\s*[.,:/]?\\s*)(?:(h)(?:ead)?\\s*)?(\\d{0,6})\\s*$",
        QRegularExpression::CaseInsensitiveOption);
    std::vector<std::variant<HeadId, LayerPlace>> places;
    const QRegularExpressionMatch match = form.match(typed);
    const QString layerDigits = match.captured(1);
    const QString headDigits = match.captured(4);
    if (!match.hasMatch() || (layerDigits.isEmpty() && headDigits.isEmpty()))
        return places;
    const bool asksForHead = !headDigits.isEmpty() || !match.captured(3).isEmpty() ||
                             match.captured(2).contains(QRegularExpression("[.,:/]"));
    const auto addHeads = [&](int layer) {
        const int heads = spec.layers[static_cast<std::size_t>(layer)].heads;
        for (const int head : numbersFrom(headDigits, heads))
            if (places.size() < most)
                places.emplace_back(HeadId{layer, head});
    };
    const std::vector<int> layers = numbersFrom(layerDigits, spec.layerCount());
    if (asksForHead) {
        // "L1.H2" is not an unfinished "L12.H2": who typed the head has finished the layer.
        for (const int layer : layers)
            if (layerDigits.isEmpty() || layer == layerDigits.toInt())
                addHeads(layer);
        return places;
    }
    for (const int layer : layers)
        if (places.size() < most)
            places.emplace_back(LayerPlace{layer});
    if (!layers.empty() && layers.front() == layerDigits.toInt())
        addHeads(layers.front());
    return places;
}

} // namespace secateur
