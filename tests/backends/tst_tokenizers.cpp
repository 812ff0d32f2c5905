// Tokenizers give the same ids as the original libraries, for small vocabularies of every kind and, where installed,
// for those of real models. Further tests: special tokens around a text, offsets of tokens in the text, and decoding
// token by token.

#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/text/tokenizer.h"
#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/tokenizers/pre_tokenizers.h"
#include "backends/tokenizers/regex.h"
#include "backends/tokenizers/unicode.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>
#endif

#include <QtTest>

#include <QDir>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

using namespace secateur;
using namespace secateur::test;

namespace {

const QString folder = SECATEUR_TEST_SOURCES "/tokenizers";

QString dataFolder() {
    return qEnvironmentVariable("SECATEUR_TEST_DATA");
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", qPrintable(path));
    return file.readAll();
}

std::shared_ptr<const Tokenizer> open(const QString& path) {
    return openTokenizer(path.toStdString());
}

QString shown(const std::vector<int>& ids) {
    QStringList numbers;
    for (const int id : ids)
        numbers << QString::number(id);
    return numbers.join(' ');
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<int>& ids) {
    TextStream stream(tokenizer);
    std::string text;
    for (const int id : ids) {
        const std::string piece = stream.add(id);
        if (!unicode::isValid(piece))
            return "half a character";
        text += piece;
    }
    return text + stream.finish();
}

} // namespace

class TestTokenizers : public QObject {
    Q_OBJECT

private slots:
    void idsAreThoseOfTheOriginal_data() {
        QTest::addColumn<QString>("name");
        for (const QString& name : QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            QTest::newRow(qPrintable(name)) << name;
    }
    void idsAreThoseOfTheOriginal() {
        QFETCH(QString, name);
        const auto tokenizer = open(folder + "/" + name);
        const auto document = nlohmann::json::parse(contentOf(folder + "/" + name + "/cases.json").toStdString());
        const bool special = document.at("special").get<bool>();
        const EncodeOptions options{
            .addSpecial = special, .special = special ? SpecialText::parsed : SpecialText::plain, .ranges = true};
        QVERIFY(document.at("cases").size() > 100);
        for (const auto& item : document.at("cases")) {
            const QByteArray bytes =
                QByteArray::fromHex(QByteArray::fromStdString(item.at("bytes").get<std::string>()));
            const std::string text = bytes.toStdString();
            const auto expected = item.at("ids").get<std::vector<int>>();
            const Encoding encoding = tokenizer->encode(text, options);
            QVERIFY2(encoding.ids == expected,
                     qPrintable(QString("\"%1\": %2, expected %3")
                                    .arg(QString::fromUtf8(bytes), shown(encoding.ids), shown(expected))));
            QCOMPARE(encoding.types.size(), encoding.ids.size());
            QCOMPARE(encoding.ranges.size(), encoding.ids.size());
            for (const TextRange& range : encoding.ranges)
                QVERIFY(range.begin <= range.end && range.end <= text.size());
            if (special)
                QCOMPARE(QByteArray::fromStdString(tokenizer->decode(expected)),
                         QByteArray::fromStdString(item.at("decoded").get<std::string>()));
            QCOMPARE(QByteArray::fromStdString(streamed(*tokenizer, expected)),
                     QByteArray::fromStdString(tokenizer->decode(expected)));
        }
    }

    void llamaCppsVectorsAgree_data() {
        QTest::addColumn<QString>("tokenizer");
        QTest::addColumn<QString>("vectors");
        const QString vocabularies = "tokenizers/llama.cpp/ggml-vocab-";
        QTest::newRow("bert-bge") << vocabularies + "bert-bge.gguf" << vocabularies + "bert-bge.gguf";
        QTest::newRow("gpt-2") << vocabularies + "gpt-2.gguf" << vocabularies + "gpt-2.gguf";
        QTest::newRow("llama-spm") << vocabularies + "llama-spm.gguf" << vocabularies + "llama-spm.gguf";
        QTest::newRow("llama-bpe") << "tokenizers/llama3/tokenizer.json" << vocabularies + "llama-bpe.gguf";
        QTest::newRow("roberta-bpe") << "tokenizers/roberta-base/tokenizer.json" << vocabularies + "roberta-bpe.gguf";
    }
    void llamaCppsVectorsAgree() {
        if (dataFolder().isEmpty())
            QSKIP("SECATEUR_TEST_DATA names no folder of real vocabularies");
        QFETCH(QString, tokenizer);
        QFETCH(QString, vectors);
        const auto opened = open(dataFolder() + "/" + tokenizer);
        QByteArray inputs = contentOf(dataFolder() + "/" + vectors + ".inp");
        const QByteArray separator = "\n__ggml_vocab_test__\n";
        QByteArrayList texts;
        for (qsizetype end = inputs.indexOf(separator); end >= 0; end = inputs.indexOf(separator)) {
            texts << inputs.left(end);
            inputs.remove(0, end + separator.size());
        }
        const QByteArrayList outputs = contentOf(dataFolder() + "/" + vectors + ".out").split('\n');
        QVERIFY(texts.size() > 40 && outputs.size() >= texts.size());
        int differing = 0;
        for (qsizetype i = 0; i < texts.size(); ++i) {
            const auto ids =
                opened->encode(texts[i].toStdString(), {.addSpecial = false, .special = SpecialText::plain}).ids;
            if (shown(ids) != QString::fromLatin1(outputs[i]).simplified()) {
                ++differing;
                qInfo() << texts[i] << shown(ids) << outputs[i];
            }
        }
        qInfo("%d of %d vectors differ", differing, static_cast<int>(texts.size()));
        QCOMPARE(differing, 0);
    }

    void aModelsTokenizerIsFoundInEveryForm_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("size");
        QTest::addColumn<QString>("first");
        QTest::newRow("tokenizer.json") << "tokenizers/llama2/tokenizer.json"
                                        << "BPE" << 32000 << "1 15043 3186";
        QTest::newRow("tokenizer.model") << "tokenizers/llama2/tokenizer.model"
                                         << "BPE" << 32000 << "15043 3186";
        QTest::newRow("GGUF") << "models/stories260K/stories260K.gguf"
                              << "BPE" << 512 << "1";
        QTest::newRow("vocab.txt") << "tokenizers/bert-base-uncased/vocab.txt"
                                   << "WordPiece" << 30522 << "101 7592 2088 102";
        QTest::newRow("vocab.json, merges.txt") << "tokenizers/gpt2"
                                                << "BPE" << 50257 << "15496 995";
        QTest::newRow("a folder") << "tokenizers/all-MiniLM-L6-v2"
                                  << "WordPiece" << 30522 << "101 7592 2088 102";
    }
    void aModelsTokenizerIsFoundInEveryForm() {
        if (dataFolder().isEmpty())
            QSKIP("SECATEUR_TEST_DATA names no folder of real vocabularies");
        QFETCH(QString, path);
        QFETCH(QString, kind);
        QFETCH(int, size);
        QFETCH(QString, first);
        const auto tokenizer = open(dataFolder() + "/" + path);
        QCOMPARE(QString::fromStdString(tokenizer->card().kind), kind);
        QCOMPARE(tokenizer->card().size, size);
        const QString ids = shown(tokenizer->encode("Hello world").ids);
        QVERIFY2(ids.startsWith(first), qPrintable(ids));
    }

    void aVocabularyLargerThanTheEmbeddingIsRefused() {
        ModelCard card;
        card.path = (folder + "/byte-level").toStdString();
        const auto whole = openTokenizer(card.path);
        card.spec.vocab = whole->card().size;
        QVERIFY(openTokenizer(card)->card().warnings.empty());
        card.spec.vocab = 420; // smaller than the largest ids of added tokens, which only gives a warning
        QCOMPARE(openTokenizer(card)->card().warnings.size(), std::size_t{1});
        card.spec.vocab = 300;
        QVERIFY_EXCEPTION_THROWN(openTokenizer(card), Error);
    }

    void specialTextIsParsedOrNot() {
        const auto tokenizer = open(folder + "/byte-level");
        const int begin = *tokenizer->id("<|begin|>");
        const auto parsed = tokenizer->encode("<|begin|>a").ids;
        QCOMPARE(parsed.size(), std::size_t{3});
        QCOMPARE(parsed[1], begin);
        const auto plain = tokenizer->encode("<|begin|>a", {.addSpecial = false, .special = SpecialText::plain}).ids;
        QVERIFY(std::ranges::find(plain, begin) == plain.end());
        QCOMPARE(tokenizer->decode(plain), std::string("<|begin|>a"));
        QVERIFY(tokenizer->card().addsBos);
        QVERIFY(tokenizer->isSpecial(begin));
        QCOMPARE(tokenizer->decode(parsed, true), std::string("a"));
    }

    void aPairIsJoinedAsTheCheckpointSays() {
        const auto tokenizer = open(folder + "/word-piece");
        const Encoding pair = tokenizer->encodePair("the dog", "a fox", {.ranges = true});
        const Encoding first = tokenizer->encode("the dog");
        QVERIFY(std::equal(first.ids.begin(), first.ids.end(), pair.ids.begin()));
        QCOMPARE(pair.ids.back(), *tokenizer->id("[SEP]"));
        QCOMPARE(pair.types.front(), 0);
        QCOMPARE(pair.types.back(), 1);
        QCOMPARE(std::ranges::count(pair.types, 0), static_cast<std::ptrdiff_t>(first.ids.size()));
        QCOMPARE(pair.ranges[first.ids.size()].begin, std::size_t{0});
    }

    void rangesLeadBackToTheText() {
        const auto tokenizer = open(folder + "/word-piece");
        const std::string text = "The DOG, Größe \xFF fox";
        const Encoding encoding = tokenizer->encode(text, {.addSpecial = false, .ranges = true});
        std::string covered;
        for (const TextRange& range : encoding.ranges)
            covered += text.substr(range.begin, range.end - range.begin);
        QCOMPARE(QByteArray::fromStdString(covered), QByteArray("TheDOG,Größefox"));
    }

    void halfACharacterIsNeverShown() {
        const auto tokenizer = open(folder + "/byte-level");
        const auto ids = tokenizer->encode("🦊 東", {.addSpecial = false}).ids;
        QVERIFY(ids.size() > 4);
        TextStream stream(*tokenizer);
        QCOMPARE(stream.add(ids[0]), std::string());
        QCOMPARE(streamed(*tokenizer, ids), std::string("🦊 東"));
        QCOMPARE(streamed(*tokenizer, {ids[0], ids[1]}), tokenizer->decode(std::vector{ids[0], ids[1]}));
    }

    void bytesThatFitNothingDoNotStopTheStream() {
        const auto tokenizer = open(folder + "/byte-fallback");
        const auto byte = [&](const char* name) { return *tokenizer->id(name); };
        const std::vector<int> whole{byte("<0xE4>"), byte("<0xB8>"), byte("<0xAD>")};
        const auto letters = tokenizer->encode("fox", {.addSpecial = false}).ids;
        std::vector<int> ids = whole;
        ids.insert(ids.end(), whole.begin(), whole.end());
        QCOMPARE(streamed(*tokenizer, ids), std::string("中中"));
        ids.push_back(byte("<0xFF>"));
        ids.insert(ids.end(), letters.begin(), letters.end());
        const QString text = QString::fromStdString(streamed(*tokenizer, ids));
        QVERIFY2(text.startsWith("中中\uFFFD") && text.endsWith("fox"), qPrintable(text));
    }

    void expressionsMeanWhatTheOriginalMakesOfThem_data() {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("matches");
        QTest::newRow("begin of a line") << "^a"
                                         << "a\na ba" << QStringList{"a", "a"};
        QTest::newRow("end of a line") << "a$"
                                       << "a\nba\n"
                                       << QStringList{"a", "a"};
        QTest::newRow("word characters") << "\\w+"
                                         << "e\u0301x \u0903a a_b\u203Fc"
                                         << QStringList{"e\u0301x", "\u0903a", "a_b\u203Fc"};
        QTest::newRow("hexadecimal digits") << "\\h+"
                                            << "af zz  \t" << QStringList{"af"};
        QTest::newRow("a class in a class") << "[a[bc]]+"
                                            << "xabcx" << QStringList{"abc"};
        QTest::newRow("dots match line ends") << "(?m:a.b)"
                                              << "a\nb" << QStringList{"a\nb"};
        QTest::newRow("no word characters")
            << " ?[^(\\s|[.,!?\u2026])]+"
            << "Hi there, you (x) a)]b" << QStringList{"Hi", " there", " you", "x", " a", "]b"};
    }
    void expressionsMeanWhatTheOriginalMakesOfThem() {
        QFETCH(QString, pattern);
        QFETCH(QString, text);
        const std::string bytes = text.toStdString();
        QStringList found;
        Regex(pattern.toStdString(), "test").forEach(bytes, [&](std::size_t begin, std::size_t end) {
            found << QString::fromStdString(bytes.substr(begin, end - begin));
        });
        QTEST(found, "matches");
    }

    void aMapNeverCutsACharacter() {
        // A precompiled map of SentencePiece: a double-array trie with a single key, 0xC3, which it maps to "x". 0xC3
        // is the first of the two bytes of "é", and a map must not replace half a character.
        constexpr quint32 lead = 0xC3;
        constexpr quint32 leaf = 0x100;
        std::vector<quint32> units(0x200, 0);
        units[lead] = (leaf << 10U) | 0x100U | lead;
        units[lead ^ leaf] = 0x80000000U;
        const auto size = static_cast<quint32>(units.size() * sizeof(quint32));
        std::string blob(reinterpret_cast<const char*>(&size), sizeof size);
        blob.append(reinterpret_cast<const char*>(units.data()), size).append("x", 2);
        const Charsmap map(blob, "test");
        QVERIFY(map.longest("\xC3", 0).has_value());
        QVERIFY(!map.longest("é", 0).has_value());
        QVERIFY(!map.shortest("é", 0).has_value());
    }

    void fastScannersCutAsTheirExpressionsDo_data() {
        QTest::addColumn<QString>("pattern");
        QTest::newRow("gpt-2") << R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
        QTest::newRow("llama 3")
            << R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
        QTest::newRow("qwen 2")
            << R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    }
    void fastScannersCutAsTheirExpressionsDo() {
        QFETCH(QString, pattern);
        const auto rule = knownScanRule(pattern.toStdString());
        QVERIFY(rule.has_value());
        const Regex regex(pattern.toStdString(), "test");
        const std::vector<std::string> letters{" ", " ",  "\n", "\r", "\t", "\u00A0", "\u3000", "a",   "B",
                                               "é", "東", "ſ",  "'",  "'",  "s",      "S",      "ll",  "vE",
                                               "7", "٣",  "½",  ".",  "-",  "🦊",   "\u0301", "\x01"};
        std::mt19937 random(5);
        for (int round = 0; round < 20000; ++round) {
            std::string text;
            for (std::size_t i = random() % 12; i > 0; --i)
                text += letters[random() % letters.size()];
            std::vector<WordRange> pieces;
            scan(*rule, text, {0, static_cast<std::uint32_t>(text.size())}, pieces);
            std::size_t next = 0;
            regex.forEach(text, [&](std::size_t begin, std::size_t end) {
                QVERIFY2(next < pieces.size() && pieces[next].begin == begin && pieces[next].end == end,
                         qPrintable(QString::fromStdString(text).toHtmlEscaped()));
                ++next;
            });
            QCOMPARE(next, pieces.size());
        }
    }

    void aLongTextWithoutBlanksTakesLessThanASecond() {
        const std::string text(1'000'000, 'x');
        for (const char* name : {"byte-level", "byte-fallback", "word-piece", "unigram", "sentencepiece-bpe"}) {
            const auto tokenizer = open(folder + "/" + name);
            QElapsedTimer timer;
            timer.start();
            QVERIFY(!tokenizer->encode(text).ids.empty());
            QVERIFY2(timer.elapsed() < 1000, name);
        }
    }

    void everyCallMayComeFromAnyThread() {
        const auto tokenizer = open(folder + "/byte-level");
        const std::string text = "The quick brown fox's 東京 🦊";
        const auto expected = tokenizer->encode(text).ids;
        std::atomic<int> wrong = 0;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i)
                threads.emplace_back([&] {
                    for (int round = 0; round < 200; ++round)
                        wrong += tokenizer->encode(text).ids != expected;
                });
        }
        QCOMPARE(wrong.load(), 0);
    }
};

SECATEUR_SUITE(TestTokenizers)
#include "tst_tokenizers.moc"
