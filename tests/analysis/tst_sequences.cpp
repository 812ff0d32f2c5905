// Splitting of a text into documents, and of documents into token sequences.

#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/text/sequences.h"
#include "backends/text/sequence_text.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/text/text_source.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;

namespace {

std::shared_ptr<const Tokenizer> tokenizerOf(const char* name) {
    return openTokenizer(std::string(SECATEUR_TEST_SOURCES "/tokenizers/") + name);
}

QStringList documentsOf(std::string_view text, TextSplit split) {
    QStringList list;
    for (const std::string_view document : splitDocuments(text, split))
        list << QString::fromUtf8(document.data(), static_cast<qsizetype>(document.size()));
    return list;
}

} // namespace

class TestSequences : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;

private slots:
    void documentsAreSeparatedByTwoBlankLines() {
        const std::string_view text = "\n\na\nb\n\nc\n\n\n d \r\n \n\t\n\ne\n\n\n";
        QCOMPARE(documentsOf(text, TextSplit::document), (QStringList{"a\nb\n\nc", " d ", "e"}));
        QCOMPARE(documentsOf(text, TextSplit::line), (QStringList{"a", "b", "c", " d ", "e"}));
        QCOMPARE(documentsOf(text, TextSplit::stream).size(), 1);
        QVERIFY(documentsOf("\n \n\n", TextSplit::document).isEmpty());
        QVERIFY(documentsOf("", TextSplit::windows).isEmpty());
    }

    void eachSequenceBeginsAndEndsAsATextDoes() {
        const auto tokenizer = tokenizerOf("word-piece");
        const std::string text = "the quick brown fox jumps over the lazy dog and the quick brown fox jumps over it";
        const auto all = tokenizer->encode(text, {.addSpecial = false}).ids;
        const SequenceSet set = makeSequences({text}, *tokenizer, {.length = 10, .shortestTail = 1});
        std::vector<int> joined;
        for (const TokenSequence& sequence : set.sequences) {
            QVERIFY(sequence.ids.size() <= 10);
            QCOMPARE(sequence.ids.front(), *tokenizer->id("[CLS]"));
            QCOMPARE(sequence.ids.back(), *tokenizer->id("[SEP]"));
            joined.insert(joined.end(), sequence.ids.begin() + 1, sequence.ids.end() - 1);
        }
        QVERIFY(joined == all);
        QCOMPARE(set.droppedTails, 0);
    }

    void shortTailsAreDroppedAndCounted() {
        const auto tokenizer = tokenizerOf("byte-level");
        const std::string text(3 * 19 + 15, '#');
        std::string apart;
        for (const char letter : text)
            (apart += letter) += ' ';
        const auto tokens = tokenizer->encode(apart, {.addSpecial = false}).ids.size();
        const SequenceSet set = makeSequences({apart, "short"}, *tokenizer, {.length = 20});
        QCOMPARE(set.sequences.size(), tokens / 19 + (tokens % 19 >= 16 ? 1 : 0) + 1);
        QCOMPARE(set.droppedTails, tokens % 19 > 0 && tokens % 19 < 16 ? 1 : 0);
        QCOMPARE(set.sequences.back().document, std::size_t{1});
    }

    void bosIsPutWhereTheRuleSays() {
        const auto tokenizer = tokenizerOf("byte-level");
        const int bos = *tokenizer->id("<|begin|>");
        const std::string text = "one two three four five six seven eight nine ten";
        const auto begins = [&](BosRule rule) {
            QString pattern;
            for (const auto& sequence :
                 makeSequences({text, text}, *tokenizer, {.bos = rule, .length = 12, .shortestTail = 1}).sequences)
                pattern += sequence.ids.front() == bos ? '1' : '0';
            return pattern;
        };
        QVERIFY(begins(BosRule::tokenizerDefault).contains("11") && !begins(BosRule::tokenizerDefault).contains('0'));
        QVERIFY(!begins(BosRule::never).contains('1'));
        QCOMPARE(begins(BosRule::firstOnly).count('1'), 2);
        QVERIFY(begins(BosRule::firstOnly).startsWith("10"));
    }

    void tokensStopAtTheLimit() {
        const auto tokenizer = tokenizerOf("byte-level");
        const std::string text = "one two three four five six seven eight nine ten";
        const SequenceSet set = makeSequences({text, text}, *tokenizer, {.mostTokens = 7});
        QCOMPARE(set.tokens, 7);
        QCOMPARE(set.sequences.size(), std::size_t{1});
        QVERIFY_EXCEPTION_THROWN(makeSequences({text}, *tokenizer, {.length = 1}), Error);
    }

    void theBuiltInTextIsManyShortDocuments() {
        const auto documents = readDocuments("");
        QVERIFY(documents.size() > 30);
        std::size_t bytes = 0;
        for (const std::string& document : documents) {
            const QByteArray raw = QByteArray::fromStdString(document);
            QCOMPARE(QString::fromUtf8(raw).toUtf8(), raw);
            QVERIFY(document.size() > 200 && document.size() < 2000);
            bytes += document.size();
        }
        QVERIFY(bytes > 25'000 && bytes < 40'000);
        QCOMPARE(readDocuments("", {}, TextSplit::windows).size(), std::size_t{1});
        QCOMPARE(sourceName(""), "built-in");
        QCOMPARE(sourceName("a.txt"), "a.txt");
    }

    void theDigestIsOfTheIds() {
        const auto tokenizer = tokenizerOf("byte-level");
        const auto digest = [&](std::string_view text, std::int64_t length) {
            return dataDigest(makeSequences({text}, *tokenizer, {.length = length, .shortestTail = 1}));
        };
        const std::string text = "the quick brown fox jumps over the lazy dog";
        QCOMPARE(digest(text, 512), digest(text, 400));
        QVERIFY(digest(text, 512) != digest(text, 8));
        QVERIFY(digest(text, 512) != digest("the quick", 512));
        // The digest is the SHA-256 of int64 numbers: the count of sequences (1), the count of tokens (3), and the
        // token ids 5, 6 and 7.
        QCOMPARE(QByteArray::fromStdString(dataDigest({.sequences = {{{5, 6, 7}, {0, 0, 0}, 0}}})), [] {
            QByteArray bytes;
            for (const qint64 number : {1, 3, 5, 6, 7})
                bytes += little(number);
            return "sha256:" + QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex();
        }());
    }

    void documentsComeFromTextsFoldersAndRows() {
        const std::string plain = m_scratch.write("a.txt", "one\n\n\ntwo\n");
        QCOMPARE(readDocuments(plain), (std::vector<std::string>{"one", "two"}));
        const std::string rows =
            m_scratch.write("rows.jsonl", "{\"text\":\"x\",\"other\":\"y\"}\n\n{\"content\":\"z\",\"other\":\"w\"}\n");
        QCOMPARE(readDocuments(rows), (std::vector<std::string>{"x", "z"}));
        QCOMPARE(readDocuments(rows, "other"), (std::vector<std::string>{"y", "w"}));
        QVERIFY(m_scratch.refusal([&] { readDocuments(rows, "none"); }).contains("row 1"));
    }
};

SECATEUR_SUITE(TestSequences)
#include "tst_sequences.moc"
