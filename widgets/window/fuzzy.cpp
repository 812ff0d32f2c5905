#include "widgets/window/fuzzy.h"

namespace secateur {

namespace {

constexpr int forLetter = 1;
constexpr int forNeighbour = 4;
constexpr int forWordStart = 6;
constexpr int forWhole = 20;

bool startsWord(const QString& text, qsizetype position) {
    return position == 0 || !text[position - 1].isLetterOrNumber();
}

/// Takes the letters greedily from `from` on.
std::optional<int> scoreFrom(const QString& typed, const QString& text, qsizetype from) {
    int score = 0;
    qsizetype previous = -2;
    qsizetype at = from;
    for (const QChar letter : typed) {
        if (letter.isSpace())
            continue;
        while (at < text.size() && text[at].toLower() != letter.toLower())
            ++at;
        if (at == text.size())
            return {};
        score += forLetter + (at == previous + 1 ? forNeighbour : 0) + (startsWord(text, at) ? forWordStart : 0);
        previous = at++;
    }
    return score;
}

} // namespace

std::optional<int> fuzzyScore(const QString& typed, const QString& text) {
    const QString wanted = typed.trimmed();
    if (wanted.isEmpty())
        return 0;
    std::optional<int> best;
    for (qsizetype from = 0; from < text.size(); ++from) {
        if (text[from].toLower() != wanted[0].toLower())
            continue;
        const auto score = scoreFrom(wanted, text, from);
        if (!score)
            break; // later starts have even fewer letters left
        best = std::max(best.value_or(0), *score);
    }
    if (best && text.compare(wanted, Qt::CaseInsensitive) == 0)
        best = *best + forWhole;
    return best;
}

} // namespace secateur
