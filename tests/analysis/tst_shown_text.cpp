// What is shown of names and notes in files: one line, without control characters, of bounded length; and ids that were
// probably meant.

#include "analysis/base/error.h"
#include "analysis/base/known_ids.h"
#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace secateur;

namespace {

std::string unknown(std::string_view id, const std::vector<std::string_view>& known) {
    try {
        refuseUnknown("metric", id, known);
    } catch (const UsageError& error) {
        return error.what();
    }
}

qsizetype characters(const std::string& text) {
    return QString::fromStdString(text).toUcs4().size();
}

} // namespace

class TestShownText : public QObject {
    Q_OBJECT

private slots:
    void controlCharactersAreEscaped() {
        using namespace std::string_view_literals;
        QCOMPARE(shownLine("plain, with ümläuts and 漢字"), "plain, with ümläuts and 漢字");
        QCOMPARE(shownLine("a\nb\tc\rd"), "a\\nb\\tc\\rd");
        QCOMPARE(shownLine("\x1b[2J\x07\x7f"), "\\u001b[2J\\u0007\\u007f");
        QCOMPARE(shownLine("a\0b"sv), "a\\u0000b");
        QCOMPARE(shownLine("\u009b31m"), "\\u009b31m"); // C1: a terminal may read it as an escape sequence
        QCOMPARE(shownLine("safe\u202etxt.exe"), "safe\\u202etxt.exe"); // right to left
        QCOMPARE(shownLine("one\u2028two"), "one\\u2028two");
        QCOMPARE(shownText("a\n\tb\x1b[2J\n"), "a\n\tb\\u001b[2J\n");
    }

    void brokenUtf8IsReplaced() {
        QCOMPARE(shownLine("a\xff\xfe b"), "a\uFFFD\uFFFD b");
        QCOMPARE(shownLine("\xe2\x82"), "\uFFFD");
    }

    void longNamesAreShortenedBetweenCharacters() {
        std::string name;
        for (int i = 0; i < 70'000; ++i)
            name += "é";
        const std::string shown = shownLine("tensor " + name + " of it");
        QCOMPARE(characters(shown), 7 + 200 + 6);
        QVERIFY(shown.find("é…é") != std::string::npos);
        QCOMPARE(shownLine(std::string(200, 'a')), std::string(200, 'a'));
        const std::string path = "/" + std::string(150, 'a') + "/" + std::string(150, 'b');
        QCOMPARE(shownLine(path), path);
        std::string text;
        for (int i = 0; i < 3000; ++i)
            text += "word ";
        QCOMPARE(characters(shownLine(text)), 2000);
    }

    void anyBytesGiveOneLineOfValidText() {
        std::mt19937 random(1);
        for (int i = 0; i < 2000; ++i) {
            std::string bytes(random() % 300, '\0');
            for (char& byte : bytes)
                byte = static_cast<char>(random() % 3 == 0 ? random() : 'a' + random() % 26);
            for (const std::string& shown : {shownLine(bytes), markdownLine(bytes)}) {
                QVERIFY(!firstInvalidUtf8(shown));
                QVERIFY(std::ranges::none_of(shown, [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
            }
            QCOMPARE(shownLine(shownLine(bytes)), shownLine(bytes));
        }
    }

    void errorsAreShownSo() {
        const Error error("holds \"\x1b[2J\"", "a\nb", "Look");
        QCOMPARE(error.what(), "a\\nb: holds \"\\u001b[2J\". Look");
        QCOMPARE(error.within("c\td").subject(), "c\\td: a\\nb");
    }

    void markdownShowsTheText() {
        QCOMPARE(markdownLine("gate_norm_head: 12.5%"), "gate_norm_head: 12.5%");
        QCOMPARE(markdownLine("<b>*a* [b](c) `d` | e # f & _g_ \\ ~h~"),
                 "\\<b\\>\\*a\\* \\[b\\](c) \\`d\\` \\| e \\# f \\& \\_g\\_ \\\\ \\~h\\~");
        QCOMPARE(markdownLine("a\n# b"), "a\\\\n\\# b");
    }

    void unknownIdsNameTheOneThatWasMeant() {
        const std::vector<std::string_view> known{"gate_norm", "gate_norm_head", "sink_head", "sink_layer", "amp_head"};
        QCOMPARE(unknown("sink_had", known), "Unknown metric \"sink_had\". Did you mean sink_head?");
        QCOMPARE(unknown("gate_nrom", known), "Unknown metric \"gate_nrom\". Did you mean gate_norm?");
        QCOMPARE(unknown("gatenorm", known), "Unknown metric \"gatenorm\". Did you mean gate_norm?");
        QCOMPARE(unknown("amp", known), "Unknown metric \"amp\". Did you mean amp_head?");
        for (const std::string id : {"", "sink", "perplexity"})
            QCOMPARE(unknown(id, known),
                     "Unknown metric \"" + id +
                         "\". The known ones are gate_norm, gate_norm_head, sink_head, sink_layer, amp_head");
        QVERIFY(unknown(std::string(100'000, 'x'), known).size() < 600);
        QCOMPARE(unknown("a", {}), "Unknown metric \"a\". The known ones are ");
    }
};

SECATEUR_SUITE(TestShownText)
#include "tst_shown_text.moc"
