// Training data of each format. Ids, and which of them the loss counts, are those of transformers: for small
// tokenizers, and for real vocabularies where they are installed.
#ifndef Q_MOC_RUN
#include "backends/engine/open_model.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/training/row_templates.h"
#include "backends/training/training_data.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <random>
#include <set>

using namespace secateur;
using namespace secateur::test;
using nlohmann::json;

namespace {

const json& expectedData() {
    static const json expected = readJson(data().filePath("training_data.json"));
    return expected;
}

std::vector<std::string> namesIn(const json& object) {
    std::vector<std::string> names;
    for (const auto& item : object.items())
        names.push_back(item.key());
    return names;
}

/// A tokenizer of tests/data with the special tokens of chat templates.
std::shared_ptr<const Tokenizer> smallTokenizer(const std::string& name) {
    const Scratch place;
    json document = readJson(data().filePath(QString::fromStdString("tokenizers/" + name + "/tokenizer.json")));
    int id = 423;
    if (name == "byte-level")
        for (const char* text :
             {"<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"})
            document["added_tokens"].push_back({{"id", id++},
                                                {"content", text},
                                                {"single_word", false},
                                                {"lstrip", false},
                                                {"rstrip", false},
                                                {"normalized", false},
                                                {"special", true}});
    place.write("tokenizer.json", QByteArray::fromStdString(document.dump()));
    if (name == "byte-level")
        place.write("tokenizer_config.json", R"({"bos_token": "<|begin|>", "eos_token": "<|end|>"})");
    if (name == "byte-fallback")
        place.write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})");
    return openTokenizer(place.path().toStdString());
}

std::shared_ptr<const Tokenizer> realTokenizer(const std::string& name, const QByteArray& config) {
    const Scratch place;
    QFile::copy(realData() + "/tokenizers/" + QString::fromStdString(name) + "/tokenizer.json",
                place.path("tokenizer.json"));
    place.write("tokenizer_config.json", config);
    return openTokenizer(place.path().toStdString());
}

ModelCard decoderCard() {
    ModelCard card;
    card.path = "model";
    card.spec.family = Family::decoder;
    return card;
}

ModelCard encoderCard(int classes = 0) {
    ModelCard card = decoderCard();
    card.spec.family = Family::encoder;
    card.spec.classes = classes;
    return card;
}

QByteArray linesOf(const json& rows) {
    QByteArray lines;
    for (const json& row : rows)
        lines += QByteArray::fromStdString(row.dump()) + "\n";
    return lines;
}

json chatRows() {
    json rows = json::array();
    for (const json& messages : expectedData().at("chats"))
        rows.push_back({{"messages", messages}});
    return rows;
}

/// The targets of ids of which the loss counts some.
std::vector<int> targetsOf(const std::vector<int>& ids, const std::string& trained) {
    std::vector<int> targets(ids.size(), -1);
    for (std::size_t i = 1; i < ids.size(); ++i)
        if (trained[i] == '1')
            targets[i - 1] = ids[i];
    return targets;
}

void compare(const TrainingSet& set, const json& expected) {
    QCOMPARE(set.examples.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto ids = expected[i].at("ids").get<std::vector<int>>();
        QCOMPARE(set.examples[i].ids, ids);
        QCOMPARE(set.examples[i].targets, targetsOf(ids, expected[i].at("trained").get<std::string>()));
        QCOMPARE(set.examples[i].label, -1);
    }
    QVERIFY(set.classes.empty());
}

void compareSums(const TrainingSet& set, const json& expected) {
    QCOMPARE(set.examples.size(), expected.at("examples").get<std::size_t>());
    QCOMPARE(set.tokens, expected.at("tokens").get<std::int64_t>());
    QCOMPARE(set.targets, expected.at("targets").get<std::int64_t>());
    QCOMPARE(set.truncated, expected.at("truncated").get<std::int64_t>());
    QCOMPARE(set.digest, expected.at("digest").get<std::string>());
}

/// The only warning that has a text; empty if none has.
QString warningWith(const TrainingSet& set, const QString& text) {
    QStringList found;
    for (const std::string& warning : set.warnings)
        if (QString::fromStdString(warning).contains(text))
            found << QString::fromStdString(warning);
    return found.join(" / ");
}

} // namespace

class TestTrainingData : public QObject {
    Q_OBJECT

private:
    const std::shared_ptr<const Tokenizer> m_bytes = smallTokenizer("byte-level");
    const std::shared_ptr<const Tokenizer> m_words = smallTokenizer("word-piece");
    const ModelCard m_decoder = decoderCard();

    QString refusal(const QString& file, const QByteArray& content, TrainingDataRequest request = {}) const {
        const Scratch folder;
        request.path = folder.write(file, content);
        return folder.refusal([&] { readTrainingSet(m_decoder, *m_bytes, request); });
    }

    TrainingSet labelled(const QString& file, const QByteArray& content, const ModelCard& model = encoderCard()) const {
        const Scratch folder;
        return readTrainingSet(model, *m_words, {.path = folder.write(file, content), .length = 16});
    }

private slots:
    void rowsAreEncodedAsByTransformers_data() {
        QTest::addColumn<QString>("tokenizer");
        QTest::addColumn<QString>("templateName");
        for (const char* const tokenizer : {"byte-level", "byte-fallback"})
            for (const std::string& name : namesIn(expectedData().at("small").at(tokenizer)))
                QTest::addRow("%s %s", tokenizer, name.c_str()) << tokenizer << QString::fromStdString(name);
    }
    void rowsAreEncodedAsByTransformers() {
        QFETCH(QString, tokenizer);
        QFETCH(QString, templateName);
        const std::string name = templateName.toStdString();
        const json& expected = expectedData().at("small").at(tokenizer.toStdString()).at(name);
        const Scratch folder;
        TrainingDataRequest request;
        if (name == "text") {
            json rows = json::array();
            for (const json& text : expectedData().at("documents"))
                rows.push_back({{"text", text}});
            request.path = folder.write("rows.jsonl", linesOf(rows));
            request.length = 40;
        } else {
            const bool isAlpaca = templateName.startsWith("alpaca");
            request.path =
                folder.write("rows.jsonl", linesOf(isAlpaca ? expectedData().at("instructions") : chatRows()));
            request.templateName = name;
        }
        const TrainingSet set = readTrainingSet(m_decoder, *smallTokenizer(tokenizer.toStdString()), request);
        compare(set, expected);
        QCOMPARE(set.templateName, request.templateName);
        QCOMPARE(set.warnings.size(), std::size_t{name == "text" && tokenizer == "byte-level"}); // a short rest
    }

    void listsAndLinesAreTheSame() {
        const Scratch folder;
        const json& rows = expectedData().at("instructions");
        const auto read = [&](const QString& name, const QByteArray& content) {
            return readTrainingSet(m_decoder, *m_bytes, {.path = folder.write(name, content)});
        };
        const TrainingSet lines = read("rows.jsonl", linesOf(rows));
        QCOMPARE(lines.format, std::string("instructions"));
        QCOMPARE(lines.templateName, std::string("alpaca"));
        for (const int indent : {-1, 0, 4}) {
            const TrainingSet list = read("rows.json", QByteArray::fromStdString(" \n" + rows.dump(indent) + "\n"));
            QVERIFY(list.examples == lines.examples);
            QCOMPARE(list.digest, lines.digest);
        }
    }

    void chatTemplatesAreRecognisedByTheirDigest() {
        for (const auto& item : expectedData().at("templates").items()) {
            std::string text = item.value().get<std::string>();
            const RowTemplate* found = recognisedTemplate(text);
            QVERIFY2(found, item.key().c_str());
            QCOMPARE(std::string(found->name), item.key());
            text.insert(text.size() / 2, " ");
            QVERIFY(!recognisedTemplate(text));
        }
        QVERIFY(!recognisedTemplate(""));
    }

    void unknownChatTemplatesAreRefused() {
        const QString why = refusal("rows.jsonl", linesOf(chatRows()));
        QCOMPARE(why, QString("model: has no chat template. Name the template of the chats by --template: alpaca, "
                              "alpaca_code, chatml, smollm2, qwen2, llama2, llama3"));
        QVERIFY(refusal("rows.jsonl", linesOf(chatRows()), {.templateName = "vicuna"})
                    .startsWith("template vicuna: is not known; the templates are alpaca, "));
    }

    void specialTokensInMessagesAreText() {
        const Scratch folder;
        const json row{{"messages",
                        {{{"role", "user"}, {"content", "a<|im_end|>\n<|im_start|>assistant\nb"}},
                         {{"role", "assistant"}, {"content", "<|begin|>c<|im_end|>"}}}}};
        TrainingDataRequest request{.path = folder.write("rows.jsonl", linesOf(json::array({row}))),
                                    .templateName = "chatml"};
        const TrainingExample chat = readTrainingSet(m_decoder, *m_bytes, request).examples.front();
        QCOMPARE(std::ranges::count(chat.ids, *m_bytes->id("<|im_end|>")), 2);
        QCOMPARE(std::ranges::count(chat.ids, *m_bytes->id("<|im_start|>")), 2);
        QCOMPARE(std::ranges::count(chat.ids, *m_bytes->id("<|begin|>")), 0);
        QCOMPARE(m_bytes->decode(chat.ids),
                 std::string("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
                             "<|im_start|>assistant\n<|begin|>c<|im_end|><|im_end|>\n"));
        std::vector<int> trained;
        std::ranges::copy_if(chat.targets, std::back_inserter(trained), [](int id) { return id >= 0; });
        QCOMPARE(m_bytes->decode(trained), std::string("<|begin|>c<|im_end|><|im_end|>"));
        QCOMPARE(trained.back(), *m_bytes->id("<|im_end|>"));
    }

    void anyMessageIsKeptAsItIs() {
        const std::vector<std::string> pieces{"a",      " b",         "\n",         "\n\n",  "  ",
                                              "\u00e9", "\U0001F98A", "<|im_end|>", "<|im_", "<|begin|>",
                                              "12",     "<tool>",     "\t",         "'ll",   "###"};
        std::mt19937 random(5);
        const RowTemplate& row = rowTemplate("chatml");
        for (int i = 0; i < 300; ++i) {
            std::vector<ChatMessage> messages;
            std::string text;
            std::string answers;
            for (const char* const role : {"user", "assistant", "user", "assistant"}) {
                ChatMessage message{role, ""};
                for (auto count = random() % 6; count > 0; --count)
                    message.content += pieces[random() % pieces.size()];
                text += "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n";
                answers += message.role == "assistant" ? message.content + "<|im_end|>" : "";
                messages.push_back(message);
            }
            const EncodedRow encoded = encodedRow(row.parts(row, messages, *m_bytes), *m_bytes, {});
            QCOMPARE(m_bytes->decode(encoded.ids), text);
            QCOMPARE(std::ranges::count(encoded.ids, *m_bytes->id("<|im_end|>")), 4);
            std::vector<int> trained;
            for (std::size_t j = 0; j < encoded.ids.size(); ++j)
                if (encoded.isTrained[j])
                    trained.push_back(encoded.ids[j]);
            const std::string decoded = m_bytes->decode(trained); // with what shares a token with an answer
            QVERIFY2(decoded.size() >= answers.size() && decoded.size() <= answers.size() + 4, decoded.c_str());
        }
    }

    void damagedFilesAreErrors() {
        const Scratch folder;
        const QByteArray list = QByteArray::fromStdString(expectedData().at("instructions").dump(1));
        const QByteArray lines = linesOf(chatRows());
        std::mt19937 random(9);
        int refused = 0;
        for (int i = 0; i < 400; ++i) {
            QByteArray content = i % 2 == 0 ? list : lines;
            for (int j = 0; j < 3; ++j)
                content[static_cast<int>(random() % static_cast<unsigned>(content.size()))] =
                    "[]{}\",:\\ 7\n\xC3"[random() % 12];
            if (i % 5 == 0)
                content.truncate(static_cast<int>(random() % static_cast<unsigned>(content.size())));
            const std::string path = folder.write(i % 2 == 0 ? "rows.json" : "rows.jsonl", content);
            for (const bool skips : {false, true}) {
                const QString why = folder.refusal([&] {
                    readTrainingSet(m_decoder, *m_bytes,
                                    {.path = path, .templateName = "chatml", .skipsBrokenRows = skips});
                });
                refused += why != "accepted" ? 1 : 0;
                QVERIFY2(why == "accepted" || why.startsWith("rows.json"), qPrintable(why));
            }
        }
        QVERIFY(refused > 300);
    }

    void instructionsMayUseAChatTemplate() {
        const Scratch folder;
        const json instruction{{"instruction", "Add."}, {"input", "1, 2"}, {"output", "3"}};
        const json chat{
            {"messages", {{{"role", "user"}, {"content", "Add.\n\n1, 2"}}, {{"role", "assistant"}, {"content", "3"}}}}};
        const auto read = [&](const json& row) {
            const std::string path = folder.write("rows.jsonl", linesOf(json::array({row})));
            return readTrainingSet(m_decoder, *m_bytes, {.path = path, .templateName = "llama3"}).examples;
        };
        QVERIFY(read(instruction) == read(chat));
    }

    void chatsMayUseTheAlpacaTemplate() {
        const Scratch folder;
        const json row{{"messages",
                        {{{"role", "system"}, {"content", "Be brief."}},
                         {{"role", "user"}, {"content", "Who?"}},
                         {{"role", "assistant"}, {"content", "He."}},
                         {{"role", "user"}, {"content", "Why?"}},
                         {{"role", "assistant"}, {"content", "So."}}}}};
        const std::string path = folder.write("rows.jsonl", linesOf(json::array({row})));
        const TrainingSet set = readTrainingSet(m_decoder, *m_bytes, {.path = path, .templateName = "alpaca"});
        QCOMPARE(m_bytes->decode(set.examples.front().ids),
                 std::string("<|begin|>Be brief.\n\n### Instruction:\nWho?\n\n### Response:\nHe.<|end|>\n\n"
                             "### Instruction:\nWhy?\n\n### Response:\nSo.<|end|>"));
        QCOMPARE(set.targets, std::int64_t(2 + std::ssize(m_bytes->encode("He.", {.addSpecial = false}).ids) +
                                           std::ssize(m_bytes->encode("So.", {.addSpecial = false}).ids)));
    }

    void missingSpecialTokensAreSaid() {
        const Scratch folder;
        const std::string path = folder.write("rows.jsonl", linesOf(chatRows()));
        const auto tokenizer = smallTokenizer("byte-fallback");
        const TrainingSet set = readTrainingSet(m_decoder, *tokenizer, {.path = path, .templateName = "chatml"});
        QCOMPARE(warningWith(set, "<|im_end|>"), QString("the tokenizer has no special token <|im_end|>, which the "
                                                         "template chatml writes: it is encoded as text"));
        const QByteArray text = QByteArray("several words of a text without end\n").repeated(20);
        const TrainingSet plain = readTrainingSet(m_decoder, *smallTokenizer("digits"),
                                                  {.path = folder.write("text.txt", text), .length = 16});
        QVERIFY(warningWith(plain, "no EOS").startsWith("the tokenizer has no EOS token"));
    }

    void longRowsAreCutAndCounted() {
        const Scratch folder;
        json rows = expectedData().at("instructions");
        const std::string word = "word ";
        std::string longText;
        for (int i = 0; i < 700; ++i)
            longText += word;
        rows.push_back({{"instruction", "Go on."}, {"output", longText}});
        rows.push_back({{"instruction", longText}, {"output", "Done."}});
        const std::string path = folder.write("rows.jsonl", linesOf(rows));
        const TrainingSet set = readTrainingSet(m_decoder, *m_bytes, {.path = path});
        QCOMPARE(set.examples.size(), std::size_t{6});
        QCOMPARE(set.examples.back().ids.size(), std::size_t{512});
        QCOMPARE(set.examples.back().targets.size(), std::size_t{512});
        QCOMPARE(set.truncated, std::int64_t{1});
        QCOMPARE(set.skipped, std::int64_t{1});
        QCOMPARE(warningWith(set, "cut"), QString("1 of 7 rows were longer than 512 tokens and were cut"));
        QCOMPARE(warningWith(set, "no answer"),
                 QString("1 of 7 rows have no answer within 512 tokens and were left out"));
        std::int64_t tokens = 0;
        std::int64_t targets = 0;
        for (const TrainingExample& example : set.examples) {
            tokens += std::ssize(example.ids);
            targets += example.targetCount();
        }
        QCOMPARE(set.tokens, tokens);
        QCOMPARE(set.targets, targets);
        const TrainingSet first = readTrainingSet(m_decoder, *m_bytes, {.path = path, .mostExamples = 2});
        QVERIFY(std::ranges::equal(first.examples, std::span(set.examples).first(2)));
    }

    void plainTextIsPacked() {
        const Scratch folder;
        const std::string path = folder.write("text.txt", "First words of a text.\n\n\n\nSecond document, 12345.\n");
        const auto idsOf = [&](TrainingDataRequest request) {
            request.path = path;
            std::vector<int> all;
            for (const TrainingExample& example : readTrainingSet(m_decoder, *m_bytes, request).examples)
                all.insert(all.end(), example.ids.begin(), example.ids.end());
            return m_bytes->decode(all);
        };
        QCOMPARE(idsOf({}),
                 std::string("<|begin|>First words of a text.<|end|><|begin|>Second document, 12345.<|end|>"));
        QCOMPARE(idsOf({.bos = BosRule::never}),
                 std::string("First words of a text.<|end|>Second document, 12345.<|end|>"));
        QCOMPARE(idsOf({.bos = BosRule::firstOnly}),
                 std::string("<|begin|>First words of a text.<|end|>Second document, 12345.<|end|>"));
        QCOMPARE(idsOf({.split = TextSplit::stream, .bos = BosRule::never}),
                 std::string("First words of a text.\n\n\n\nSecond document, 12345.\n<|end|>"));
    }

    void shortRestsAreLeftOut() {
        const Scratch folder;
        const std::string path = folder.write("text.txt", QByteArray("a b c d e f g h i j ").repeated(4));
        const TrainingSet whole = readTrainingSet(m_decoder, *m_bytes, {.path = path});
        const auto tokens = whole.tokens;
        const auto rest = tokens % 19;
        QVERIFY(rest > 0 && rest < 16);
        const TrainingSet set = readTrainingSet(m_decoder, *m_bytes, {.path = path, .length = 19});
        QCOMPARE(set.tokens, tokens - rest);
        QCOMPARE(set.targets, set.tokens - std::ssize(set.examples));
        QCOMPARE(warningWith(set, "left out"),
                 QString("the last %1 tokens of the text are too few for a sequence and were left out").arg(rest));
    }

    void brokenRowsAreNamed_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QByteArray>("rows");
        QTest::addColumn<QString>("why");
        const QByteArray good = R"({"instruction": "a", "output": "b"})";
        const auto add = [](const char* name, const QString& file, const QByteArray& rows, const QString& why) {
            QTest::newRow(name) << file << rows << why;
        };
        add("no JSON", "rows.jsonl", good + "\n\n{\"instruction\": \n",
            "rows.jsonl: line 3: is not valid JSON (byte 17)");
        add("no field", "rows.jsonl", good + "\n{\"instruction\": \"a\"}\n", "rows.jsonl: line 2: output: is missing");
        add("a number", "rows.jsonl", good + "\n{\"instruction\": 7, \"output\": \"b\"}\n",
            "rows.jsonl: line 2: instruction: expected text, found 7");
        add("in a list", "rows.json", "[\n" + good + ",\n\n{\"instruction\": [\"]\", \"}\"], \"output\": \"b\"}\n]",
            "rows.json: line 4: instruction: expected text, found [\"]\",\"}\"]");
        add("no object", "rows.json", "[" + good + ",\n 7]", "rows.json: line 2: is not a JSON object");
        const QByteArray chat =
            R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})";
        add("role", "rows.jsonl", chat + "\n{\"messages\": [{\"role\": \"robot\", \"content\": \"a\"}]}",
            "rows.jsonl: line 2: messages[0]: role: expected system, user or assistant, found \"robot\"");
        add("no messages", "rows.jsonl", chat + "\n{\"messages\": []}",
            "rows.jsonl: line 2: messages: is missing or empty");
        add("turn", "rows.jsonl",
            chat + "\n{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"user\", \"content\": "
                   "\"b\"}]}",
            "rows.jsonl: line 2: has a message of the role user where the template llama2 has assistant");
    }
    void brokenRowsAreNamed() {
        QFETCH(QString, file);
        QFETCH(QByteArray, rows);
        QFETCH(QString, why);
        const bool isChat = rows.contains("messages");
        TrainingDataRequest request{.templateName = isChat ? "llama2" : ""};
        QCOMPARE(refusal(file, rows, request), why);
        request.skipsBrokenRows = true;
        const Scratch folder;
        request.path = folder.write(file, rows);
        const TrainingSet set = readTrainingSet(m_decoder, *m_bytes, request);
        QCOMPARE(set.examples.size(), std::size_t{1});
        QCOMPARE(set.skipped, std::int64_t{1});
        QCOMPARE(warningWith(set, "invalid").remove(folder.path() + "/"),
                 "1 of 2 rows are invalid and were left out; the first: " + why);
    }

    void unusableFilesAreRefused_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("why");
        const auto add = [](const char* name, const QString& file, const QByteArray& content, const QString& why) {
            QTest::newRow(name) << file << content << why;
        };
        add("list cut", "rows.json", "[{\"instruction\": \"a\", \"output\": \"b\"},",
            "rows.json: ends inside of the list of rows. The file is incomplete");
        add("text cut", "rows.json", "[{\"instruction\": \"a\\",
            "rows.json: ends inside of the list of rows. The file is incomplete");
        add("empty element", "rows.json", "[{\"instruction\": \"a\", \"output\": \"b\"},\n]",
            "rows.json: line 2: has an empty element in the list of rows");
        add("more", "rows.json", "[{\"instruction\": \"a\", \"output\": \"b\"}]\n[]",
            "rows.json: line 1: goes on after the end of the list of rows");
        add("empty list", "rows.json", "[ ]", "rows.json: holds no rows");
        add("blank", "rows.jsonl", "\n \n", "rows.jsonl: holds no rows");
        add("Latin-1", "rows.jsonl", "{\"text\": \"\xE9\"}",
            "rows.jsonl: is not UTF-8: invalid byte at offset 10 (from 0)");
        add("no answers", "rows.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}",
            "rows.jsonl: holds nothing to train on");
        add("short text", "text.txt", "a", "text.txt: holds nothing to train on");
    }
    void unusableFilesAreRefused() {
        QFETCH(QString, file);
        QFETCH(QByteArray, content);
        QFETCH(QString, why);
        const bool isChat = content.contains("messages");
        QCOMPARE(refusal(file, content, {.templateName = isChat ? "chatml" : ""}), why);
    }

    void requestsAreChecked() {
        QVERIFY(refusal("a.txt", "a", {.length = 15}).startsWith("length: expected at least 16 tokens, found 15"));
        QCOMPARE(refusal("a.txt", "a", {.format = "poems"}),
                 QString("format poems: is not known; the formats are text, instructions, chat, classification"));
        QCOMPARE(refusal("a.txt", "a", {.format = "chat"}),
                 QString("a.txt: is not a .json or .jsonl file, as the format chat needs"));
        QVERIFY(refusal("a.txt", "a@b", {.format = "classification"}).startsWith("model: has no classes to train"));
        const Scratch folder;
        QCOMPARE(folder.refusal(
                     [&] { readTrainingSet(m_decoder, *m_bytes, {.path = folder.path("none.jsonl").toStdString()}); }),
                 QString("none.jsonl: does not exist"));
        QVERIFY(folder
                    .refusal([&] {
                        readTrainingSet(encoderCard(), *m_words,
                                        {.path = folder.write("t.txt", "a@b"), .format = "text"});
                    })
                    .startsWith("model: is an encoder, which cannot be trained on text"));
    }

    void labelledTextsAreClassified() {
        const json& texts = expectedData().at("labelled");
        const json& ids = expectedData().at("small").at("word-piece");
        QByteArray lines;
        json rows = json::array();
        for (const json& text : texts) {
            const auto words = text[0].get<std::string>();
            const auto label = text[1].get<std::string>();
            lines += QByteArray::fromStdString("  " + words + " @" + label + "\r\n");
            rows.push_back({{"text", words}, {"label", label}});
        }
        const TrainingSet set = labelled("phrases.txt", lines);
        QCOMPARE(set.format, std::string("classification"));
        QCOMPARE(set.classes, (std::vector<std::string>{"negative", "neutral", "positive"}));
        QCOMPARE(set.examples.size(), ids.size());
        const std::vector<int> labels{2, 1, 0};
        for (std::size_t i = 0; i < ids.size(); ++i) {
            QCOMPARE(set.examples[i].ids, ids[i].get<std::vector<int>>());
            QCOMPARE(set.examples[i].types.size(), set.examples[i].ids.size());
            QCOMPARE(set.examples[i].label, labels[i]);
            QVERIFY(set.examples[i].targets.empty());
        }
        QCOMPARE(set.targets, std::int64_t{3});
        QVERIFY(set.truncated >= 1);
        QVERIFY(warningWith(set, "cut").endsWith("of 3 rows were longer than 16 tokens and were cut"));
        QVERIFY(labelled("phrases.jsonl", linesOf(rows)).examples == set.examples);
    }

    void numbersAsLabelsKeepTheirOrder() {
        json rows = json::array();
        for (const int label : {10, 2, 0, 1, 9, 2})
            rows.push_back({{"text", "a"}, {"label", label}});
        const TrainingSet set = labelled("rows.jsonl", linesOf(rows));
        QCOMPARE(set.classes, (std::vector<std::string>{"0", "1", "2", "9", "10"}));
        std::vector<int> labels;
        for (const TrainingExample& example : set.examples)
            labels.push_back(example.label);
        QCOMPARE(labels, (std::vector<int>{4, 2, 0, 1, 3, 2}));
    }

    void labelsAreTheClassesOfTheClassifier() {
        const Scratch folder;
        ModelCard model = encoderCard(3);
        model.path = folder.path().toStdString();
        folder.write("config.json", R"({"id2label": {"0": "POSITIVE", "1": "neutral", "2": "negative"}})");
        const TrainingSet known = labelled("phrases.txt", "a@positive\nb@2\n", model);
        QCOMPARE(known.classes, (std::vector<std::string>{"POSITIVE", "neutral", "negative"}));
        QCOMPARE(known.examples[0].label, 0);
        QCOMPARE(known.examples[1].label, 2);
        const TrainingSet other = labelled("phrases.txt", "a@good\nb@bad\n", model);
        QCOMPARE(other.classes, (std::vector<std::string>{"bad", "good"}));
        QCOMPARE(warningWith(other, "classifier"), QString("the labels are not the classes of the model's classifier"));
    }

    void linesWithoutLabelAreRefused() {
        const Scratch folder;
        const auto why = [&](const QByteArray& content) {
            const std::string path = folder.write("phrases.txt", content);
            return folder.refusal([&] { readTrainingSet(encoderCard(), *m_words, {.path = path}); });
        };
        QCOMPARE(why("a@b\n\nc\n"), QString("phrases.txt: line 3: has no label: expected TEXT@LABEL"));
        QCOMPARE(why("a@b\nc@ \n"), QString("phrases.txt: line 2: has no label: expected TEXT@LABEL"));
        QCOMPARE(why("@b\n"), QString("phrases.txt: line 1: has no text: expected TEXT@LABEL"));
        QCOMPARE(why("a@b\n\xE9@b\n"), QString("phrases.txt: is not UTF-8: invalid byte at offset 4 (from 0)"));
    }

    void digestsCoverTargetsAndLabels() {
        TrainingSet set;
        set.examples = {{{1, 2}, {}, {2, -1}, -1}};
        const std::string digest = dataDigest(set);
        // hashlib.sha256(struct.pack("<8q", 1, 2, 1, 2, 2, 2, -1, -1))
        QCOMPARE(digest, std::string("sha256:b6df27d47f18acd5325ea915e95be8d82cdde5fc36fa41d046bbefd0dd908c45"));
        set.examples[0].targets[0] = -1;
        QVERIFY(dataDigest(set) != digest);
        set.examples[0] = {{1, 2}, {}, {2, -1}, 0};
        QVERIFY(dataDigest(set) != digest);
    }

    void ordersAreThoseOfTheDefinition() {
        for (const json& item : expectedData().at("orders")) {
            const auto order = epochOrder(item.at("count").get<std::size_t>(), item.at("seed").get<std::uint64_t>(),
                                          item.at("epoch").get<int>());
            QCOMPARE(order, item.at("order").get<std::vector<std::size_t>>());
        }
        QVERIFY(epochOrder(0, 1, 0).empty());
        QVERIFY(epochOrder(50, 1, 0) != epochOrder(50, 2, 0));
        QVERIFY(epochOrder(50, 1, 0) != epochOrder(50, 1, 1));
    }

    void partsAreHeldOut() {
        const auto counts = [](std::size_t count, const HeldOutRules& rules = {}) {
            TrainingSet set;
            set.digest = "d";
            for (std::size_t i = 0; i < count; ++i)
                set.examples.push_back({{static_cast<int>(i), 1}, {}, {1, -1}, -1});
            const TrainingSplit split = splitOff(set, rules);
            std::set<int> seen;
            for (const TrainingSet* const part : {&split.training, &split.heldOut}) {
                for (const TrainingExample& example : part->examples)
                    seen.insert(example.ids.front());
                const bool isSorted = std::ranges::is_sorted(
                    part->examples, {}, [](const TrainingExample& example) { return example.ids.front(); });
                if (!isSorted || part->targets != std::ssize(part->examples) || part->digest != "d" ||
                    part->tokens != 2 * std::ssize(part->examples))
                    return std::pair(std::size_t{0}, std::size_t{0});
            }
            return seen.size() == count ? std::pair(split.training.examples.size(), split.heldOut.examples.size())
                                        : std::pair(std::size_t{0}, std::size_t{0});
        };
        using Sizes = std::pair<std::size_t, std::size_t>;
        QCOMPARE(counts(1), Sizes(1, 0));
        QCOMPARE(counts(2), Sizes(1, 1));
        QCOMPARE(counts(100), Sizes(95, 5));
        QCOMPARE(counts(10'000), Sizes(9'800, 200));
        QCOMPARE(counts(100, {.share = 0}), Sizes(100, 0));
        QCOMPARE(counts(10, {.share = 1}), Sizes(1, 9));
        TrainingSet set;
        for (int i = 0; i < 100; ++i)
            set.examples.push_back({{i}, {}, {}, 0});
        QVERIFY(splitOff(set, {.seed = 1}).heldOut.examples == splitOff(set, {.seed = 1}).heldOut.examples);
        QVERIFY(splitOff(set, {.seed = 1}).heldOut.examples != splitOff(set, {.seed = 2}).heldOut.examples);
        QVERIFY_EXCEPTION_THROWN(splitOff(set, {.share = -0.1}), Error);
    }

    void realVocabulariesAgree() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const json& expected = expectedData().at("real").at("llama3");
        const auto tokenizer =
            realTokenizer("llama3", R"({"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"})");
        const std::string alpaca = (realData() + "/tasks/alpaca/alpaca_en_demo.json").toStdString();
        compareSums(readTrainingSet(m_decoder, *tokenizer, {.path = alpaca, .length = 256}), expected.at("alpaca"));
        const std::string web = (realData() + "/text/c4/c4_demo.jsonl").toStdString();
        compareSums(readTrainingSet(m_decoder, *tokenizer, {.path = web}), expected.at("text"));
        const Scratch folder;
        const std::string chats = folder.write("rows.jsonl", linesOf(chatRows()));
        compare(readTrainingSet(m_decoder, *tokenizer, {.path = chats, .templateName = "llama3"}),
                expected.at("chats"));
    }

    void financialPhrasesAgree() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        const auto tokenizer = realTokenizer("all-MiniLM-L6-v2", "{}");
        const std::string path = (realData() + "/tasks/financial-phrasebank/Sentences_AllAgree.txt").toStdString();
        const TrainingSet set = readTrainingSet(encoderCard(), *tokenizer, {.path = path, .length = 48});
        compareSums(set, expectedData().at("real").at("phrases"));
        QCOMPARE(set.classes, (std::vector<std::string>{"negative", "neutral", "positive"}));
    }

    void demoModelAgrees() {
        if (demoModel().isEmpty())
            QSKIP("the demo model is not here");
        const auto model = openModel(demoModel().toStdString());
        const json& expected = expectedData().at("real").at("demo");
        const Scratch folder;
        const TrainingSet chats = readTrainingSet(*model, {.path = folder.write("rows.jsonl", linesOf(chatRows()))});
        compare(chats, expected.at("chats"));
        QCOMPARE(chats.templateName, std::string("smollm2"));
        if (realData().isEmpty())
            return;
        const std::string alpaca = (realData() + "/tasks/alpaca/alpaca_en_demo.json").toStdString();
        compareSums(readTrainingSet(*model, {.path = alpaca, .length = 256}), expected.at("alpaca"));
        const std::string web = (realData() + "/text/c4/c4_demo.jsonl").toStdString();
        compareSums(readTrainingSet(*model, {.path = web}), expected.at("text"));
    }
};

SECATEUR_SUITE(TestTrainingData)
#include "tst_training_data.moc"
