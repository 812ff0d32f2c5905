#include "backends/tokenizers/unicode.h"

#include "analysis/base/text.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <memory>

namespace secateur::unicode {

namespace {

constexpr std::size_t codePoints = 0x110000;

struct Addition {
    char32_t first, last;
    std::uint8_t bits;
};

/// Characters that Unicode 15.1 and 16 added, for older versions of ICU.
constexpr std::array additions{
    Addition{0x897, 0x897, mark},
    Addition{0x1B4E, 0x1B4F, punctuation},
    Addition{0x1B7F, 0x1B7F, punctuation},
    Addition{0x1C89, 0x1C8A, letter},
    Addition{0x2427, 0x2429, symbol},
    Addition{0x2FFC, 0x2FFF, symbol},
    Addition{0x31E4, 0x31E5, symbol},
    Addition{0x31EF, 0x31EF, symbol},
    Addition{0xA7CB, 0xA7CD, letter},
    Addition{0xA7DA, 0xA7DC, letter},
    Addition{0x105C0, 0x105F3, letter},
    Addition{0x10D40, 0x10D49, number},
    Addition{0x10D4A, 0x10D65, letter},
    Addition{0x10D69, 0x10D6D, mark},
    Addition{0x10D6E, 0x10D6E, punctuation},
    Addition{0x10D6F, 0x10D85, letter},
    Addition{0x10D8E, 0x10D8F, symbol},
    Addition{0x10EC2, 0x10EC4, letter},
    Addition{0x10EFC, 0x10EFC, mark},
    Addition{0x11380, 0x11389, letter},
    Addition{0x1138B, 0x1138B, letter},
    Addition{0x1138E, 0x1138E, letter},
    Addition{0x11390, 0x113B5, letter},
    Addition{0x113B7, 0x113B7, letter},
    Addition{0x113B8, 0x113C0, mark},
    Addition{0x113C2, 0x113C2, mark},
    Addition{0x113C5, 0x113C5, mark},
    Addition{0x113C7, 0x113CA, mark},
    Addition{0x113CC, 0x113D0, mark},
    Addition{0x113D1, 0x113D1, letter},
    Addition{0x113D2, 0x113D2, mark},
    Addition{0x113D3, 0x113D3, letter},
    Addition{0x113D4, 0x113D5, punctuation},
    Addition{0x113D7, 0x113D8, punctuation},
    Addition{0x113E1, 0x113E2, mark},
    Addition{0x116D0, 0x116E3, number},
    Addition{0x11BC0, 0x11BE0, letter},
    Addition{0x11BE1, 0x11BE1, punctuation},
    Addition{0x11BF0, 0x11BF9, number},
    Addition{0x11F5A, 0x11F5A, mark},
    Addition{0x13460, 0x143FA, letter},
    Addition{0x16100, 0x1611D, letter},
    Addition{0x1611E, 0x1612F, mark},
    Addition{0x16130, 0x16139, number},
    Addition{0x16D40, 0x16D6C, letter},
    Addition{0x16D6D, 0x16D6F, punctuation},
    Addition{0x16D70, 0x16D79, number},
    Addition{0x18CFF, 0x18CFF, letter},
    Addition{0x1CC00, 0x1CCEF, symbol},
    Addition{0x1CCF0, 0x1CCF9, number},
    Addition{0x1CD00, 0x1CEB3, symbol},
    Addition{0x1E5D0, 0x1E5ED, letter},
    Addition{0x1E5EE, 0x1E5EF, mark},
    Addition{0x1E5F0, 0x1E5F0, letter},
    Addition{0x1E5F1, 0x1E5FA, number},
    Addition{0x1E5FF, 0x1E5FF, punctuation},
    Addition{0x1F8B2, 0x1F8BB, symbol},
    Addition{0x1F8C0, 0x1F8C1, symbol},
    Addition{0x1FA89, 0x1FA89, symbol},
    Addition{0x1FA8F, 0x1FA8F, symbol},
    Addition{0x1FABE, 0x1FABE, symbol},
    Addition{0x1FAC6, 0x1FAC6, symbol},
    Addition{0x1FADC, 0x1FADC, symbol},
    Addition{0x1FADF, 0x1FADF, symbol},
    Addition{0x1FAE9, 0x1FAE9, symbol},
    Addition{0x1FBCB, 0x1FBEF, symbol},
    Addition{0x2EBF0, 0x2EE5D, letter},
};

using Table = std::array<std::uint8_t, codePoints>;

std::uint8_t bitsOf(UCharCategory category) {
    const std::uint32_t mask = U_MASK(category);
    if (mask & U_GC_L_MASK)
        return letter;
    if (mask & U_GC_N_MASK)
        return number;
    if (mask & U_GC_M_MASK)
        return mark;
    if (mask & U_GC_P_MASK)
        return punctuation;
    return (mask & U_GC_S_MASK) != 0 ? symbol : 0;
}

UBool fill(const void* context, UChar32 start, UChar32 limit, UCharCategory category) {
    Table& table = **static_cast<Table* const*>(context);
    const std::uint8_t bits = bitsOf(category);
    for (UChar32 code = start; code < limit; ++code)
        table[static_cast<std::size_t>(code)] = bits;
    return 1;
}

std::unique_ptr<const Table> makeTable() {
    auto table = std::make_unique<Table>();
    Table* filled = table.get();
    u_enumCharTypes(fill, &filled);
    for (const Addition& row : additions) {
        for (char32_t code = row.first; code <= row.last; ++code)
            (*table)[code] = row.bits;
    }
    // White_Space has not changed since Unicode 6.3.
    for (const char32_t code : {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000})
        (*table)[code] |= space;
    for (char32_t code = '\t'; code <= '\r'; ++code)
        (*table)[code] |= space;
    for (char32_t code = 0x2000; code <= 0x200A; ++code)
        (*table)[code] |= space;
    (*table)['\n'] |= newline;
    (*table)['\r'] |= newline;
    return table;
}

std::uint32_t maskOf(char32_t code) {
    return U_GET_GC_MASK(static_cast<UChar32>(code));
}

/// Whether a character was assigned in Unicode version `version` or before.
bool isAsOldAs(char32_t code, int version) {
    UVersionInfo age{};
    u_charAge(static_cast<UChar32>(code), age);
    return age[0] > 0 && age[0] <= version;
}

} // namespace

const std::uint8_t* classes() {
    static const std::unique_ptr<const Table> table = makeTable();
    return table->data();
}

void append(std::string& text, char32_t code) {
    const auto put = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
    if (code < 0x80)
        return put(code);
    if (code < 0x800) {
        put(0xC0U | (code >> 6U));
    } else {
        if (code < 0x10000) {
            put(0xE0U | (code >> 12U));
        } else {
            put(0xF0U | (code >> 18U));
            put(0x80U | ((code >> 12U) & 0x3FU));
        }
        put(0x80U | ((code >> 6U) & 0x3FU));
    }
    put(0x80U | (code & 0x3FU));
}

std::string utf8(char32_t code) {
    std::string text;
    append(text, code);
    return text;
}

bool isValid(std::string_view text) {
    std::size_t broken = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (static_cast<unsigned char>(text[at]) < 0x80) {
            ++at;
            continue;
        }
        const std::size_t length = validLength(text, at, broken);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

std::string repaired(std::string_view text) {
    std::string valid;
    valid.reserve(text.size());
    std::size_t broken = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = validLength(text, at, broken);
        if (length > 0)
            valid += text.substr(at, length);
        else
            append(valid, replacement);
        at += length > 0 ? length : broken;
    }
    return valid;
}

bool isBertPunctuation(char32_t code) {
    if (code < 0x80)
        return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') ||
               (code >= '{' && code <= '~');
    // In Unicode 8, these two characters were still punctuation.
    return code == 0x166D || code == 0x111C9 || ((maskOf(code) & U_GC_P_MASK) != 0 && isAsOldAs(code, 8));
}

bool isBertControl(char32_t code) {
    if (code == '\t' || code == '\n' || code == '\r')
        return false;
    return (maskOf(code) & U_GC_C_MASK & ~U_GC_CN_MASK) != 0 && isAsOldAs(code, 8);
}

bool isNonspacingMark(char32_t code) {
    if (code < 0x300)
        return false;
    // Characters whose category changed after Unicode 8.
    if (code == 0x1734)
        return true;
    if (code == 0x1885 || code == 0x1886 || code == 0xA9BD || code == 0x111C9)
        return false;
    return (maskOf(code) & U_GC_MN_MASK) != 0 && isAsOldAs(code, 8);
}

bool isStrippedAccent(char32_t code) {
    if (code < 0x300)
        return false;
    // Characters whose category changed after Unicode 9.
    if (code == 0x1CF2 || code == 0x1CF3)
        return true;
    return code != 0x111C9 && (maskOf(code) & U_GC_M_MASK) != 0 && isAsOldAs(code, 9);
}

bool isChinese(char32_t code) {
    const auto within = [&](char32_t first, char32_t last) { return code >= first && code <= last; };
    return within(0x4E00, 0x9FFF) || within(0x3400, 0x4DBF) || within(0x20000, 0x2A6DF) || within(0x2A700, 0x2B73F) ||
           within(0x2B740, 0x2B81F) || within(0x2B920, 0x2CEAF) || within(0xF900, 0xFAFF) || within(0x2F800, 0x2FA1F);
}

bool isWordCharacter(char32_t code) {
    const auto point = static_cast<UChar32>(code);
    return u_hasBinaryProperty(point, UCHAR_ALPHABETIC) || u_hasBinaryProperty(point, UCHAR_JOIN_CONTROL) ||
           (maskOf(code) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0;
}

std::vector<std::pair<char32_t, char32_t>> addedAfter(int version, std::string_view category) {
    struct Category {
        std::string_view name;
        std::uint32_t mask;
        std::uint8_t bits; ///< bit in classes(), which also covers characters that an older ICU lacks; 0 = no such bit
    };
    static constexpr std::array<Category, 13> categories{{{"L", U_GC_L_MASK, letter},
                                                          {"N", U_GC_N_MASK, number},
                                                          {"M", U_GC_M_MASK, mark},
                                                          {"P", U_GC_P_MASK, punctuation},
                                                          {"S", U_GC_S_MASK, symbol},
                                                          {"Lu", U_GC_LU_MASK, 0},
                                                          {"Ll", U_GC_LL_MASK, 0},
                                                          {"Lt", U_GC_LT_MASK, 0},
                                                          {"Lm", U_GC_LM_MASK, 0},
                                                          {"Lo", U_GC_LO_MASK, 0},
                                                          {"Mn", U_GC_MN_MASK, 0},
                                                          {"Mc", U_GC_MC_MASK, 0},
                                                          {"Nd", U_GC_ND_MASK, 0}}};
    const auto found =
        std::find_if(categories.begin(), categories.end(), [&](const Category& row) { return row.name == category; });
    std::vector<std::pair<char32_t, char32_t>> runs;
    if (found == categories.end())
        return runs;
    for (char32_t code = 0x80; code < codePoints; ++code) {
        const bool member =
            (maskOf(code) & found->mask) != 0 || (found->bits != 0 && (classes()[code] & found->bits) != 0);
        if (!member || isAsOldAs(code, version))
            continue;
        if (!runs.empty() && runs.back().second + 1 == code)
            runs.back().second = code;
        else
            runs.emplace_back(code, code);
    }
    return runs;
}

void appendLower(std::string& text, char32_t code) {
    if (code < 0x80)
        text.push_back(static_cast<char>(code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code));
    else if (code == 0x130)
        text += "i\xCC\x87"; // the only character whose lower case is two characters
    else
        append(text, static_cast<char32_t>(u_tolower(static_cast<UChar32>(code))));
}

} // namespace secateur::unicode
