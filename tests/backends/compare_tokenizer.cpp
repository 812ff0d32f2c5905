// compare_tokenizer TOKENIZER CASES [--plain] [--bare]: counts the cases in which the tokenizer's ids differ from the
// expected ids in CASES, a file written by tests/data/tokenizer_judge.py. --plain: encode the text of special tokens as
// plain text. --bare: add no BOS or EOS tokens.

#include "analysis/text/tokenizer.h"
#include "backends/base/mapped_file.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

using namespace secateur;

namespace {

struct Case {
    std::string text;
    std::vector<int> ids;
    std::vector<TextRange> ranges;
    std::string decoded;
};

std::string textOf(ByteReader& reader) {
    const auto bytes = reader.take(reader.u32("a length"), "a text");
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<Case> readCases(const MappedFile& file) {
    ByteReader reader(file.bytes(), file.path());
    reader.take(8, "the magic bytes");
    std::vector<Case> cases(reader.u32("the number of cases"));
    for (Case& item : cases) {
        item.text = textOf(reader);
        item.ids.resize(reader.u32("the number of ids"));
        for (int& id : item.ids)
            id = static_cast<int>(reader.u32("an id"));
        item.ranges.resize(reader.u32("the number of ranges"));
        for (TextRange& range : item.ranges)
            range = {reader.u32("a range"), reader.u32("a range")};
        item.decoded = textOf(reader);
    }
    return cases;
}

std::string shown(std::string_view text) {
    std::string escaped;
    for (const char byte : text)
        escaped += byte >= 0x20 && byte < 0x7F ? std::string(1, byte)
                                               : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return escaped;
}

std::string shown(const std::vector<TextRange>& ranges) {
    std::string text;
    for (const TextRange& range : ranges)
        text += fmt::format(" {}-{}", range.begin, range.end);
    return text;
}

struct Count {
    const char* what;
    int differing = 0;
    int compared = 0;

    template <typename Show>
    void add(bool same, Show show) {
        constexpr int mostShown = 6;
        ++compared;
        if (!same && ++differing <= mostShown)
            show();
    }
};

std::string streamed(const Tokenizer& tokenizer, const std::vector<int>& ids) {
    TextStream stream(tokenizer);
    std::string text;
    for (const int id : ids)
        text += stream.add(id);
    return text + stream.finish();
}

int compare(const Tokenizer& tokenizer, const std::vector<Case>& cases, const EncodeOptions& options) {
    Count ids{"ids"};
    Count ranges{"ranges"};
    Count decoded{"decoded"};
    Count stream{"streamed"};
    for (const Case& item : cases) {
        const Encoding encoding = tokenizer.encode(item.text, options);
        ids.add(encoding.ids == item.ids, [&] {
            fmt::print("ids of \"{}\"\n  ours {}\n  judge {}\n", shown(item.text), encoding.ids, item.ids);
        });
        if (encoding.ids == item.ids && (!item.ranges.empty() || item.ids.empty())) {
            ranges.add(encoding.ranges == item.ranges, [&] {
                fmt::print("ranges of \"{}\"\n  ours {}\n  judge {}\n", shown(item.text), shown(encoding.ranges),
                           shown(item.ranges));
            });
        }
        const std::string text = tokenizer.decode(item.ids);
        decoded.add(text == item.decoded, [&] {
            fmt::print("decoded {}\n  ours \"{}\"\n  judge \"{}\"\n", item.ids, shown(text), shown(item.decoded));
        });
        const std::string grown = streamed(tokenizer, item.ids);
        stream.add(grown == text, [&] {
            fmt::print("streamed {}\n  ours \"{}\"\n  whole \"{}\"\n", item.ids, shown(grown), shown(text));
        });
    }
    for (const Count& count : {ids, ranges, decoded, stream})
        fmt::print("{}: {} of {} differ\n", count.what, count.differing, count.compared);
    return ids.differing == 0 ? 0 : 1;
}

} // namespace

int main(int count, char** values) {
    const std::vector<std::string> arguments(values + 1, values + count);
    if (arguments.size() < 2)
        return fmt::print(stderr, "usage: compare_tokenizer TOKENIZER CASES [--plain] [--bare]\n"), 2;
    const auto given = [&](const char* flag) { return std::ranges::find(arguments, flag) != arguments.end(); };
    try {
        const auto tokenizer = openTokenizer(arguments[0]);
        const EncodeOptions options{.addSpecial = !given("--bare"),
                                    .special = given("--plain") ? SpecialText::plain : SpecialText::parsed,
                                    .ranges = true};
        return compare(*tokenizer, readCases(*MappedFile::open(arguments[1])), options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
