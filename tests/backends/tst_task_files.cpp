// Task files of every format, the prompts made from them, and the tokens of their options. Expected values come from
// lm-eval.
#ifndef Q_MOC_RUN
#include "tests/support/expected.h"
#include "tests/support/files.h"

#include "analysis/base/error.h"
#include "analysis/tasks/task.h"
#include "analysis/base/usage_error.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/text/task_file.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <set>

using namespace secateur;

namespace {

QString taskFile(const QString& format) {
    return test::data().filePath("tasks/" + format + ".jsonl");
}

std::vector<TaskQuestion> questionsOf(const QString& format) {
    return readTask(taskFile(format).toStdString(), {.format = format.toStdString()}).questions;
}

/// The error message with which readTask() refuses a file with these rows; "accepted" if it reads them.
QString refusal(const test::Scratch& folder, const QByteArray& rows, const TaskFileOptions& options = {}) {
    const std::string path = folder.write("task.jsonl", rows);
    return folder.refusal([&] { readTask(path, options); });
}

/// Opens a tokenizer.json of tests/data. If `bos` is not empty, a tokenizer_config.json states it as the BOS token.
std::shared_ptr<const Tokenizer> tokenizerOf(const QString& folder, const QByteArray& bos) {
    const test::Scratch place;
    QFile::copy(test::data().filePath("tokenizers/" + folder + "/tokenizer.json"), place.path("tokenizer.json"));
    if (!bos.isEmpty())
        place.write("tokenizer_config.json", "{\"bos_token\": \"" + bos + "\"}");
    return openTokenizer(place.path().toStdString());
}

TaskQuestion asked(const std::string& context, const std::string& continuation, const std::string& subject = {}) {
    TaskQuestion question;
    question.line = 7;
    question.subject = subject;
    question.options.push_back({context, continuation, continuation.size(), continuation.size()});
    return question;
}

} // namespace

class TestTaskFiles : public QObject {
    Q_OBJECT

private slots:
    void promptsAreThoseOfTheHarness_data() {
        QTest::addColumn<QString>("format");
        for (const TaskFormat& format : taskFormats())
            if (format.kind == TaskKind::choice || format.kind == TaskKind::lastWord)
                QTest::addRow("%s", format.id.data()) << QString(format.id.data());
    }
    void promptsAreThoseOfTheHarness() {
        QFETCH(QString, format);
        const auto expected = test::readJson(test::data().filePath("tasks/prompts.json")).at(format.toStdString());
        const Task task = readTask(taskFile(format).toStdString(), {.format = format.toStdString()});
        QCOMPARE(QString::fromStdString(task.name), format);
        QCOMPARE(task.questions.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const TaskQuestion& question = task.questions[i];
            const auto& judged = expected[i];
            QCOMPARE(question.line, i + 1);
            QCOMPARE(question.gold, judged.at("gold").get<std::size_t>());
            QCOMPARE(question.options.size(), judged.at("contexts").size());
            QCOMPARE(question.subject, judged.value("subject", ""));
            QCOMPARE(question.description, judged.value("description", ""));
            for (std::size_t j = 0; j < question.options.size(); ++j) {
                const TaskOption& option = question.options[j];
                QCOMPARE(option.context, judged.at("contexts")[j].get<std::string>());
                QCOMPARE(option.continuation, judged.at("continuations")[j].get<std::string>());
                QCOMPARE(option.codePoints, judged.at("code_points")[j].get<std::size_t>());
                QCOMPARE(option.bytes, judged.at("bytes")[j].get<std::size_t>());
            }
        }
    }

    void fieldsSpeakForTheFormat_data() { promptsAreThoseOfTheHarness_data(); }
    void fieldsSpeakForTheFormat() {
        QFETCH(QString, format);
        QCOMPARE(QString(readTask(taskFile(format).toStdString()).formatId.data()), format);
    }

    void nestedRowsAreToldApartByTheirIds() {
        const test::Scratch folder;
        const auto formatOf = [&](const QByteArray& id) {
            const QByteArray row = "{\"id\":\"" + id +
                                   "\",\"question\":{\"stem\":\"s\",\"choices\":[{\"text\":\"a\",\"label\":\"A\"},"
                                   "{\"text\":\"b\",\"label\":\"B\"}]},\"answerKey\":\"B\"}";
            return readTask(folder.write("nested.jsonl", row)).formatId;
        };
        QCOMPARE(formatOf("7-980"), std::string_view("openbookqa"));
        for (const char* id : {"Mercury_7175875", "MCAS_2000_4_6", "980", "-7", "AKDE&ED_2008_8_51"})
            QCOMPARE(formatOf(id), std::string_view("arc"));
    }

    void labelsOfPiqaMayStandInAFileOfTheirOwn() {
        const test::Scratch folder;
        const QByteArray rows =
            "{\"goal\":\"g\",\"sol1\":\"a\",\"sol2\":\"b\"}\n\n{\"goal\":\"h\",\"sol1\":\"c\",\"sol2\":\"d\"}\n";
        const std::string path = folder.write("valid.jsonl", rows);
        QVERIFY(refusal(folder, rows).contains("has no labels, neither in its rows nor in task-labels.lst in its folder"));
        folder.write("valid-labels.lst", "1\n0\n");
        std::vector<TaskQuestion> questions = readTask(path).questions;
        QCOMPARE(questions[0].gold, std::size_t{1});
        QCOMPARE(questions[1].gold, std::size_t{0});
        QCOMPARE(questions[1].line, std::size_t{3});
        const std::string other = folder.write("other.lst", "0\r\n1\r\n");
        questions = readTask(path, {.labels = other}).questions;
        QCOMPARE(questions[0].gold, std::size_t{0});
        const std::string few = folder.write("few.lst", "0\n");
        QVERIFY(refusal(folder, rows, {.labels = few}).contains("few.lst: holds 1 labels for 2 rows"));
        const std::string wrong = folder.write("wrong.lst", "0\n2\n");
        QVERIFY(refusal(folder, rows, {.labels = wrong}).contains("wrong.lst: line 2: expected 0 or 1, found \"2\""));
        QVERIFY(refusal(folder, "{\"context\":\"a\",\"continuation\":\"b\"}", {.labels = few})
                    .contains("is for format piqa only"));
    }

    void textsToClassifyAreRead() {
        const test::Scratch folder;
        const auto texts = [&](const QByteArray& rows, const char* format = "") {
            return readTask(folder.write("task.jsonl", rows), {.format = format}).texts;
        };
        const auto sst = texts("{\"sentence\":\"good\",\"label\":1}\n{\"sentence\":\"bad\",\"label\":0}\n");
        QCOMPARE(sst.size(), std::size_t{2});
        QCOMPARE(sst[0].text, std::string("good"));
        QCOMPARE(sst[1].label, std::string("0"));
        QCOMPARE(texts("{\"text\":\"hallo\",\"labels\":\"de\"}")[0].label, std::string("de"));
        QCOMPARE(texts("{\"Title\":\"t\",\"labels\":3}")[0].text, std::string("t"));
        const auto pair = texts("{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":2}", "classification");
        QCOMPARE(pair[0].text, std::string("p"));
        QCOMPARE(pair[0].pair.value(), std::string("h"));
    }

    void brokenRowsAreRefusedByTheirLine_data() {
        QTest::addColumn<QByteArray>("rows");
        QTest::addColumn<QString>("format");
        QTest::addColumn<QString>("message");
        const auto add = [](const char* name, const QByteArray& rows, const char* format, const char* message) {
            QTest::newRow(name) << rows << QString(format) << QString("task.jsonl: ") + message;
        };
        const QByteArray good = "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":1}\n";
        add("no JSON", good + "\n" + good + "{\"query\":", "", "line 4: is not valid JSON (byte 10)");
        add("no UTF-8", good + "{\"query\":\"\xff\"}", "", "is not UTF-8: invalid byte at offset 53 (from 0)");
        add("a list", "[1]", "", "line 1: is not a JSON object");
        add("blank", " \n\n", "", "holds no rows");
        add("unknown", "{\"a\":1}", "",
            "line 1: has the fields of no known task format. Name the format by --format");
        add("missing", good + "{\"query\":\"q\",\"gold\":0}", "", "line 2: choices: is missing");
        add("gold too large", "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":2}", "",
            "line 1: gold: expected a whole number from 0 to 1, found 2");
        add("gold below", "{\"query\":\"q\",\"choices\":[\"a\",\"b\"],\"gold\":-1}", "",
            "line 1: gold: expected a whole number from 0 to 1, found -1");
        add("one choice", "{\"query\":\"q\",\"choices\":[\"a\"],\"gold\":0}", "",
            "line 1: choices: expected 2 to 100 choices, found 1");
        add("no texts", "{\"query\":\"q\",\"choices\":[1,2],\"gold\":0}", "",
            "line 1: choices: expected a list of texts, found [1,2]");
        add("test set without labels",
            "{\"ctx_a\":\"a\",\"ctx_b\":\"b\",\"activity_label\":\"l\",\"endings\":[\"x\",\"y\"],\"label\":\"\"}", "",
            "line 1: label: expected a number from 0 to 1, found \"\"");
        add("no gap", "{\"sentence\":\"s\",\"option1\":\"a\",\"option2\":\"b\",\"answer\":\"1\"}", "",
            "line 1: sentence: expected one gap \"_\"");
        add("two gaps", "{\"sentence\":\"_ _\",\"option1\":\"a\",\"option2\":\"b\",\"answer\":\"1\"}", "",
            "line 1: sentence: expected one gap \"_\"");
        add("answer 0", "{\"sentence\":\"_\",\"option1\":\"a\",\"option2\":\"b\",\"answer\":\"0\"}", "",
            "line 1: answer: expected a number from 1 to 2, found \"0\"");
        add("unknown key",
            "{\"question\":\"q\",\"choices\":{\"text\":[\"a\",\"b\"],\"label\":[\"A\",\"B\"]},\"answerKey\":\"C\"}", "",
            "line 1: answerKey: is \"C\", which labels no choice");
        add("few labels",
            "{\"question\":\"q\",\"choices\":{\"text\":[\"a\",\"b\",\"c\"],\"label\":[\"A\",\"B\"]},\"answerKey\":"
            "\"A\"}",
            "", "line 1: choices: has 2 labels for 3 texts");
        add("nested without choices", "{\"question\":{\"stem\":\"s\"},\"answerKey\":\"A\"}", "",
            "line 1: question: choices: expected 2 to 100 choices, found 0");
        add("another format", good, "winogrande", "line 1: sentence: is missing");
        add("RTE of three", "{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":2}", "",
            "line 1: label: expected a whole number from 0 to 1, found 2");
        add("no label", "{\"text\":\"p\",\"label\":null}", "", "line 1: label: is missing");
    }
    void brokenRowsAreRefusedByTheirLine() {
        QFETCH(QByteArray, rows);
        QFETCH(QString, format);
        QFETCH(QString, message);
        QCOMPARE(refusal({}, rows, {.format = format.toStdString()}), message);
    }

    void formatsAreAskedForByName() {
        QVERIFY_EXCEPTION_THROWN(taskFormat("boolqq"), UsageError);
        QVERIFY(
            refusal({}, "{}", {.format = "x"}).startsWith("Unknown task format \"x\". The known ones are boolq, rte"));
        std::set<std::string_view> ids;
        for (const TaskFormat& format : taskFormats())
            QVERIFY(ids.insert(format.id).second);
    }

    void bracketsThatNeverCloseTakeNoTime() {
        const std::string many(1 << 20, '[');
        QCOMPARE(withoutWikiHow(many), many);
        QCOMPARE(withoutWikiHow(many + "]"), std::string());
        QCOMPARE(withoutWikiHow("[a\n[b\n[c]d"), std::string("[a\n[b\nd"));
    }

    void examplesStandInFrontInTheirOrder() {
        const auto all = questionsOf("winogrande");
        const auto prompted = withShots(std::span(all).first(1), std::span(all).subspan(1), {.count = 2});
        QCOMPARE(prompted[0].options[1].context,
                 "Zoë thanked Eve,  since Ann was kind .\n\nHe likes the sun \n\n" + all[0].options[1].context);
        QCOMPARE(prompted[0].options[1].continuation, all[0].options[1].continuation);
        QCOMPARE(shotLabel({.count = 2}), std::string("first 2 of the list"));
        QCOMPARE(shotLabel({}), std::string());
    }

    void examplesAreOfTheQuestionsSubject() {
        const auto all = questionsOf("mmlu"); // three questions, of the subjects algebra, history and algebra
        const auto plain = withShots(all, {}, {});
        QCOMPARE(plain[1].options[3].context, all[1].description + all[1].options[3].context);
        const auto algebra = std::vector{all[0], all[2]};
        const auto prompted = withShots(algebra, all, {.count = 1});
        QCOMPARE(prompted[0].options[0].context,
                 all[0].description + all[2].solved() + "\n\n" + all[0].options[0].context);
        QCOMPARE(prompted[1].options[0].context,
                 all[2].description + all[0].solved() + "\n\n" + all[2].options[0].context);
        QVERIFY(QString::fromStdString(all[2].solved()).endsWith("D. 12\nAnswer: B"));
        const auto refused = [&](std::size_t count) {
            try {
                withShots(all, all, {.count = count});
            } catch (const Error& error) {
                return std::string(error.what());
            }
            return std::string("accepted");
        };
        QCOMPARE(refused(1), "There are 0 examples of high_school_us_history to choose from, but 1 are needed");
        QVERIFY(refused(0) == "accepted");
    }

    void drawsAreOneSeedOneDrawAndNeverTheQuestionItself() {
        std::vector<TaskQuestion> all;
        for (int i = 0; i < 12; ++i)
            all.push_back(asked("q" + std::to_string(i), " a"));
        const auto contexts = [&](std::uint64_t seed) {
            std::vector<std::string> texts;
            for (const auto& question : withShots(all, all, {5, ShotChoice::drawn, seed}))
                texts.push_back(question.options[0].context);
            return texts;
        };
        QCOMPARE(contexts(3), contexts(3));
        QVERIFY(contexts(3) != contexts(4));
        std::set<QString> draws;
        for (const std::string& context : contexts(3)) {
            QStringList lines = QString::fromStdString(context).split("\n\n");
            QCOMPARE(lines.size(), 6);
            const QString own = lines.takeLast();
            const std::set<QString> different(lines.begin(), lines.end());
            QCOMPARE(different.size(), std::size_t{5});
            QVERIFY(!different.contains(own + " a"));
            draws.insert(lines.join("/"));
        }
        QVERIFY(draws.size() > 10);
        QVERIFY(contexts(3)[0].size() > 0);
        QCOMPARE(shotLabel({5, ShotChoice::drawn, 3}), std::string("own few-shot draw (5, seed 3)"));
    }

    void theShuffleIsTheSameEverywhere() {
        QCOMPARE(shuffledOrder(8, 1), shuffledOrder(8, 1));
        std::set<std::vector<std::size_t>> orders;
        std::vector<int> firsts(5);
        for (std::uint64_t seed = 0; seed < 500; ++seed) {
            const auto order = shuffledOrder(5, seed);
            QCOMPARE(std::set<std::size_t>(order.begin(), order.end()).size(), std::size_t{5});
            ++firsts[order[0]];
            orders.insert(order);
        }
        QVERIFY(orders.size() > 110); // most of the 5! = 120 possible orders occur
        for (const int count : firsts)
            QVERIFY(count > 60 && count < 140);
        QCOMPARE(shuffledOrder(0, 1).size(), std::size_t{0});
        QCOMPARE(shuffledOrder(6, 42), (std::vector<std::size_t>{0, 5, 4, 3, 1, 2}));
    }

    void tokensAreThoseOfTheHarness() {
        std::size_t cases = 0;
        for (const auto& set : test::readJson(test::data().filePath("tasks/tokens.json"))) {
            const auto tokenizer = tokenizerOf(QString::fromStdString(set.at("tokenizer").get<std::string>()),
                                               QByteArray::fromStdString(set.at("bos").get<std::string>()));
            const auto most = set.at("most").get<std::size_t>();
            for (const auto& judged : set.at("cases")) {
                const TaskQuestion question = asked(judged.at("context"), judged.at("continuation"));
                const OptionTokens whole = optionTokens(question, *tokenizer, {}).front();
                QCOMPARE(whole.ids, judged.at("ids").get<std::vector<int>>());
                const auto scored = judged.at("scored").get<std::size_t>();
                QCOMPARE(whole.ids.size() - whole.firstScored, scored);
                if (judged.at("cut").is_null())
                    continue;
                const OptionTokens cut = optionTokens(question, *tokenizer, {.mostInputs = most}).front();
                QCOMPARE(cut.ids, judged.at("cut").get<std::vector<int>>());
                QCOMPARE(cut.ids.size() - cut.firstScored, scored);
                ++cases;
            }
        }
        qInfo("%zu contexts and continuations", cases);
        QVERIFY(cases >= 20);
    }

    void beginningsFollowTheRule() {
        const auto tokenizer = tokenizerOf("byte-level", "<|begin|>");
        const int bos = tokenizer->card().bos.value();
        const TaskQuestion question = asked("A dog", " ran");
        const auto with = optionTokens(question, *tokenizer, {}).front();
        const auto without = optionTokens(question, *tokenizer, {.bos = BosRule::never}).front();
        QCOMPARE(with.ids.front(), bos);
        QCOMPARE(std::vector<int>(with.ids.begin() + 1, with.ids.end()), without.ids);
        QCOMPARE(with.firstScored, without.firstScored + 1);
        QCOMPARE(optionTokens(question, *tokenizer, {.bos = BosRule::always}).front(), with);
        QCOMPARE(optionTokens(asked("", " ran"), *tokenizer, {.bos = BosRule::never}).front().ids.front(), bos);
    }

    void whatCannotBeScoredIsRefusedByItsLine() {
        const auto tokenizer = tokenizerOf("byte-level", "<|begin|>");
        const auto refusal = [&](const TaskQuestion& question, const Tokenizer& by, std::size_t most = 0) {
            try {
                optionTokens(question, by, {.mostInputs = most});
            } catch (const Error& error) {
                return QString::fromUtf8(error.what());
            }
            return QString("accepted");
        };
        QCOMPARE(refusal(asked("a", ""), *tokenizer), "line 7: has a continuation without tokens");
        QVERIFY(
            refusal(asked("a", " one two three four"), *tokenizer, 2).endsWith("the maximum is 2"));
        QCOMPARE(refusal(asked("", " b"), *tokenizerOf("byte-level", "")),
                 "line 7: has an empty context, and the tokenizer has neither BOS nor EOS to replace it");
    }
};

SECATEUR_SUITE(TestTaskFiles)
#include "tst_task_files.moc"
