// Scoring of generated answers against the expected ones: normalisation, extraction with a regular expression, and word
// F1.
#include "tests/support/files.h"

#include "analysis/tasks/answer_generation.h"
#include "analysis/base/error.h"
#include "backends/text/task_file.h"
#include "tests/support/suite.h"

#include <QtTest>

using namespace secateur;
using test::Scratch;

namespace {

AnswerVerdict judged(AnswerPrompt prompt, std::string_view written) {
    Task task{"task", "generate", {}, {}, {std::move(prompt)}};
    return answerJudge(task, "task.jsonl")(task.prompts[0], written);
}

AnswerPrompt prompt(std::vector<std::string> answers, std::string extract = {}) {
    AnswerPrompt made;
    made.line = 3;
    made.answers = std::move(answers);
    made.extract = std::move(extract);
    return made;
}

} // namespace

class TestAnswers : public QObject {
    Q_OBJECT

private slots:
    void answersAreNormalised_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* text, const char* expected) { QTest::newRow(text) << text << expected; };
        row("The Eiffel Tower!", "eiffel tower");
        row("  an  apple,\ta pear\nthe END. ", "apple pear end");
        row("theatre a-b an.", "theatre ab");
        row("the", "");
        row("", "");
        row("Straße ÄÖÜ É", "straße äöü é");
        row("1,234.5", "12345");
        row("x\u00a0y\u3000z", "x y z");
        row("(a) [b] {c} <d> \"e\" 'f' `g` #h %i &j *k +l /m :n ;o =p ?q @r \\s ^t _u |v ~w",
            "b c d e f g h i j k l m n o p q r s t u v w");
    }
    void answersAreNormalised() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        QCOMPARE(QString::fromStdString(normalisedAnswer(text.toStdString())), expected);
    }

    void numbersKeepSignsAndPoints() {
        QCOMPARE(normalisedNumber("1,234"), std::string("1234"));
        QCOMPARE(normalisedNumber(" $-3.50. "), std::string("-3.50"));
        QCOMPARE(normalisedNumber("Yes"), std::string("yes"));
        QCOMPARE(normalisedNumber(""), std::string());
    }

    void wordsAreCountedOnce() {
        QCOMPARE(wordF1("a b c", "a b c"), 1.0);
        QCOMPARE(wordF1("b b", "b"), 2.0 / 3); // precision 1/2, recall 1
        QCOMPARE(wordF1("x y", "b c"), 0.0);
        QCOMPARE(wordF1("c a", "a b c d"), 2.0 / 3); // precision 1, recall 1/2
        QCOMPARE(wordF1("", ""), 1.0);
        QCOMPARE(wordF1("", "a"), 0.0);
    }

    void anyAnswerWillDo() {
        const AnswerVerdict exact = judged(prompt({"Lyon", "Paris"}), " the Paris. ");
        QVERIFY(exact.isExact);
        QCOMPARE(exact.f1, 1.0);
        QCOMPARE(exact.compared, std::string("paris"));
        const AnswerVerdict near = judged(prompt({"Lyon", "Paris"}), "Paris, France");
        QVERIFY(!near.isExact);
        QCOMPARE(near.f1, 2.0 / 3);
    }

    void theLastMatchCounts() {
        const char* const gsm = "#### (-?[0-9.,]+)";
        const std::string written = "So #### 12\nNo: 3 * 400\n#### 1,200.\nQuestion";
        const AnswerVerdict right = judged(prompt({"1200"}, gsm), written);
        QVERIFY(right.isExact);
        QCOMPARE(right.compared, std::string("1200"));
        QVERIFY(!judged(prompt({"-1200"}, gsm), written).isExact);
        QVERIFY(judged(prompt({"-3.5"}, gsm), "#### -3.5").isExact);
        QVERIFY(!judged(prompt({"35"}, gsm), "#### 3.5").isExact);
        const AnswerVerdict none = judged(prompt({""}, gsm), "twelve");
        QVERIFY(!none.isExact);
        QCOMPARE(none.f1, 0.0);
        QVERIFY(judged(prompt({"b"}, "[abc]"), "a b.").isExact); // a pattern without a group extracts the whole match
        QVERIFY(judged(prompt({"7"}, "(x[0-9])?y([0-9])"), "y7").isExact);
        // In a pattern, ^ and $ match at the beginning and end of every line.
        QVERIFY(judged(prompt({"no"}, "^(yes|no)$"), "yes\nno\nnone").isExact);
    }

    void expressionsThatAreNoneOrTakeForeverAreRefused() {
        const auto refusal = [](const AnswerPrompt& asked, const std::string& written) {
            return Scratch().refusal([&] { judged(asked, written); });
        };
        QVERIFY(refusal(prompt({"a"}, "(a"), "")
                    .startsWith("task.jsonl: line 3: extract: is not a valid regular expression: missing"));
        QCOMPARE(refusal(prompt({"a"}, "^(a+)+$"), std::string(60, 'a') + "c"),
                 "task.jsonl: line 3: extract: is a regular expression that takes too many steps on the text");
    }

    void theFirstStopEndsAText() {
        const std::vector<std::string> stops{"\n\n", "Q:"};
        QCOMPARE(firstStop("a Q: b\n\n", stops), std::size_t{2});
        QCOMPARE(firstStop("a\n\nQ:", stops), std::size_t{1});
        QCOMPARE(firstStop("a\n\nQ:", stops, 2), std::size_t{3});
        QCOMPARE(firstStop("a\nQ", stops), std::string::npos);
        QCOMPARE(firstStop("abc", {}), std::string::npos);
    }

    void promptsAreRead() {
        const Scratch folder;
        const auto read = [&](const QByteArray& rows) { return readTask(folder.write("gsm.jsonl", rows)); };
        const Task task = read("{\"prompt\":\"p\",\"answers\":[\"a\"]}\n{\"prompt\":\"q\",\"answers\":[\"b\",\"c\"],"
                               "\"stop\":[\"x\"],\"max_tokens\":7,\"extract\":\"e\"}\n");
        QCOMPARE(task.formatId, std::string_view("generate"));
        QCOMPARE(task.prompts.size(), std::size_t{2});
        QCOMPARE(task.prompts[0].mostTokens, 256);
        QVERIFY(task.prompts[0].stops.empty() && task.prompts[0].extract.empty());
        QCOMPARE(task.prompts[1].line, std::size_t{2});
        QCOMPARE(task.prompts[1].answers, (std::vector<std::string>{"b", "c"}));
        QCOMPARE(task.prompts[1].stops, (std::vector<std::string>{"x"}));
        QCOMPARE(task.prompts[1].mostTokens, 7);
        QCOMPARE(task.prompts[1].extract, std::string("e"));
        const auto refusal = [&](const char* more) {
            const QByteArray row = QByteArray("{\"prompt\":\"p\",\"answers\":") + more + "}";
            return folder.refusal([&] { read(row); }).section(": ", 1);
        };
        QCOMPARE(refusal("[]"), "line 1: answers: expected 1 to 10000 answers, found 0");
        QCOMPARE(refusal("null"), "line 1: answers: is missing");
        QCOMPARE(refusal("[\"a\"],\"stop\":[\"\"]"), "line 1: stop: holds an empty text");
        QCOMPARE(refusal("[\"a\"],\"max_tokens\":0"),
                 "line 1: max_tokens: expected a whole number from 1 to 1048576, found 0");
    }
};

SECATEUR_SUITE(TestAnswers)
#include "tst_answers.moc"
