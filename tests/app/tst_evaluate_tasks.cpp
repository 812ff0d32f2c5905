// `secateur-cli evaluate --task`, started as a program: arguments, output and files. tst_task_scores tests the scores.

#include "tests/support/command_line.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

/// Copies a small model of tests/data/forward and a tokenizer whose tokens are single characters to `scratch`.
QString writeModel(const Scratch& scratch, const QString& name) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/" + name + "/";
    const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos/";
    for (const QString& file : {source + "config.json", source + "model.safetensors", tokenizer + "tokenizer.json",
                                tokenizer + "tokenizer_config.json"})
        QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
    return scratch.path();
}

QByteArray line(const Json& row) {
    return QByteArray::fromStdString(row.dump() + "\n");
}

/// A task file of 24 multiple-choice questions. Some words contain "°", which has two bytes.
QByteArray choices() {
    const std::vector<const char*> words{"sand", "° tin", "hotel 1", "a", "he - robots", "21 ° °"};
    QByteArray rows;
    for (std::size_t i = 0; i < 24; ++i)
        rows += line(Json{{"query", std::string("the ") + words[i % 6] + " " + words[i / 6]},
                          {"choices", {words[(i + 1) % 6], words[(i + 3) % 6], words[(2 * i) % 5]}},
                          {"gold", i % 3}});
    return rows;
}

QByteArray subjects() {
    QByteArray rows;
    for (int i = 0; i < 9; ++i)
        rows += line(Json{{"question", std::string(static_cast<std::size_t>(1 + i), 'o')},
                          {"subject", i % 3 == 0 ? "tin_art" : "sand"},
                          {"choices", {"a", "b", "h", "n"}},
                          {"answer", i % 4}});
    return rows;
}

double meanOf(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}

double errorOf(const std::vector<double>& values) {
    double squares = 0;
    for (const double value : values)
        squares += std::pow(value - meanOf(values), 2);
    return std::sqrt(squares / static_cast<double>(values.size() - 1) / static_cast<double>(values.size()));
}

bool isClose(const Json& found, double wanted) {
    return std::abs(found.get<double>() - wanted) <= 1e-9 * std::max(1.0, std::abs(wanted));
}

/// For each answer 1 if the option chosen by `metric` is the right one, otherwise 0.
std::vector<double> rightOf(const Json& answers, const char* metric) {
    std::vector<double> right;
    for (const Json& answer : answers)
        right.push_back(answer.at(metric) == answer.at("gold") ? 1 : 0);
    return right;
}

} // namespace

class TestEvaluateTasks : public QObject {
    Q_OBJECT

private:
    Scratch m_folder;
    QString m_model;

    QString written(const char* name, const QByteArray& content) const {
        return QString::fromStdString(m_folder.write(name, content));
    }
    Outcome asked(const QString& task, const QStringList& more = {}) const {
        return run(QStringList{"evaluate", m_model, "--task", task, "--dtype", "float32"} + more);
    }
    Json taskOf(const QString& task, const QStringList& more = {}) const {
        const Outcome outcome = asked(task, more + QStringList{"--json"});
        if (outcome.status != 0)
            qWarning("%s", qPrintable(outcome.error + outcome.out));
        return outcome.json().at("tasks").begin().value();
    }
    QString writeMask() const {
        const std::string structure = run({"inspect", m_model, "--json"}).json().at("structure").get<std::string>();
        const Json mask{{"secateur_mask", 1},
                        {"model", {{"architecture", "llama"}, {"structure", structure}}},
                        {"layers", {{{"layer", 0}, {"attention", "drop"}}, {{"layer", 1}, {"mlp", "drop"}}}}};
        return written("cut.mask.json", QByteArray::fromStdString(mask.dump()));
    }

private slots:
    void initTestCase() { m_model = writeModel(m_folder, "llama-gqa"); }

    void metricsAreWhatTheAnswersMake() {
        const QString file = written("words.jsonl", choices());
        const Json task = taskOf(file, {"--answers"});
        QCOMPARE(task.at("format").get<std::string>(), "generic");
        QCOMPARE(task.at("source").get<std::string>(), file.toStdString());
        QCOMPARE(task.at("count").get<int>(), 24);
        QCOMPARE(task.at("questions").get<int>(), 24);
        QCOMPARE(task.at("answers").size(), std::size_t{24});
        const QByteArrayList rows = choices().split('\n');
        for (const Json& answer : task.at("answers")) {
            const auto scores = answer.at("scores").get<std::vector<double>>();
            const auto texts = Json::parse(rows[answer.at("line").get<int>() - 1].toStdString()).at("choices");
            const auto bestBy = [&](auto length) {
                std::vector<double> values;
                for (std::size_t i = 0; i < scores.size(); ++i)
                    values.push_back(scores[i] / length(texts[i].get<std::string>()));
                return std::ranges::max_element(values) - values.begin();
            };
            QCOMPARE(answer.at("acc").get<std::ptrdiff_t>(), bestBy([](const std::string&) { return 1.0; }));
            QCOMPARE(answer.at("acc_norm").get<std::ptrdiff_t>(), bestBy([](const std::string& text) {
                         return static_cast<double>(QString::fromStdString(text).size());
                     }));
            QCOMPARE(answer.at("acc_bytes").get<std::ptrdiff_t>(),
                     bestBy([](const std::string& text) { return static_cast<double>(text.size()); }));
        }
        for (const char* metric : {"acc", "acc_norm", "acc_bytes"}) {
            const std::vector<double> right = rightOf(task.at("answers"), metric);
            QVERIFY(isClose(task.at("metrics").at(metric).at("value"), meanOf(right)));
            QVERIFY(isClose(task.at("metrics").at(metric).at("standard_error"), errorOf(right)));
        }
        for (const char* absent : {"delta", "reference", "subjects", "subject_mean", "classes", "examples"})
            QVERIFY2(task.at(absent).is_null(), absent);
        QVERIFY(!taskOf(file).contains("answers"));
        const QByteArray shown = asked(file).out;
        QVERIFY2(shown.startsWith("words (generic): 24 questions, float32") && shown.contains("acc_norm"), shown);
    }

    void aMaskIsComparedOnTheSameQuestions() {
        const QString file = written("words.jsonl", choices());
        const QString mask = writeMask();
        const Json task = taskOf(file, {"--mask", mask, "--limit", "20", "--answers"});
        QCOMPARE(task.at("count").get<int>(), 20);
        QCOMPARE(task.at("questions").get<int>(), 24);
        const Json& reference = task.at("reference");
        QVERIFY(reference.at("mask").is_null());
        const Json dense = taskOf(file, {"--limit", "20", "--answers"});
        QCOMPARE(reference.at("metrics"), dense.at("metrics"));
        QCOMPARE(reference.at("answers"), dense.at("answers"));
        std::size_t changed = 0;
        for (const char* metric : {"acc", "acc_norm", "acc_bytes"}) {
            const std::vector<double> before = rightOf(reference.at("answers"), metric);
            const std::vector<double> after = rightOf(task.at("answers"), metric);
            std::vector<double> differences;
            std::array<std::array<std::size_t, 2>, 2> counts{};
            for (std::size_t i = 0; i < after.size(); ++i) {
                QCOMPARE(task.at("answers")[i].at("line"), reference.at("answers")[i].at("line"));
                differences.push_back(after[i] - before[i]);
                ++counts[before[i] > 0 ? 1 : 0][after[i] > 0 ? 1 : 0];
            }
            const Json& delta = task.at("delta").at(metric);
            QVERIFY(isClose(delta.at("value"), meanOf(differences)));
            QVERIFY(isClose(delta.at("standard_error"), errorOf(differences)));
            QCOMPARE(delta.at("both_right").get<std::size_t>(), counts[1][1]);
            QCOMPARE(delta.at("only_reference").get<std::size_t>(), counts[1][0]);
            QCOMPARE(delta.at("only_run").get<std::size_t>(), counts[0][1]);
            QCOMPARE(delta.at("both_wrong").get<std::size_t>(), counts[0][0]);
            changed += counts[1][0] + counts[0][1];
        }
        QVERIFY(changed > 0);
        const Json alone = taskOf(file, {"--mask", mask, "--limit", "20", "--against", "none"});
        QVERIFY(alone.at("delta").is_null() && alone.at("reference").is_null());
        QCOMPARE(alone.at("metrics"), task.at("metrics"));
        const Json same = taskOf(file, {"--against", mask});
        QCOMPARE(same.at("reference").at("mask").at("name").get<std::string>(), "cut.mask.json");
        const QByteArray shown = asked(file, {"--mask", mask}).out;
        QVERIFY2(shown.contains("\ndense ") && shown.contains("\ncut.mask.json ") && shown.contains("\ndifference ") &&
                     shown.contains("right then wrong"),
                 shown);
    }

    void subjectsAreListed() {
        const QString file = written("exam.jsonl", subjects());
        const Json task = taskOf(file);
        QCOMPARE(task.at("format").get<std::string>(), "mmlu");
        const Json& found = task.at("subjects");
        QCOMPARE(found.at("tin_art").at("count").get<int>(), 3);
        QCOMPARE(found.at("sand").at("count").get<int>(), 6);
        const double tin = found.at("tin_art").at("acc").at("value").get<double>();
        const double sand = found.at("sand").at("acc").at("value").get<double>();
        QVERIFY(isClose(task.at("subject_mean"), (tin + sand) / 2));
        QVERIFY(isClose(task.at("metrics").at("acc").at("value"), (3 * tin + 6 * sand) / 9));
        const QByteArray shown = asked(file).out;
        QVERIFY2(shown.contains("\ntin_art ") && shown.contains("\nmean of subjects "), shown);
    }

    void examplesComeFromWhereTheyAreAskedFor() {
        const QString file = written("words.jsonl", choices());
        const QString other = written("other.jsonl", choices().split('\n').mid(3, 3).join('\n') + "\n");
        QVERIFY(taskOf(file, {"--shots", "0"}).at("examples").is_null());
        const Json own = taskOf(file, {"--shots", "2"});
        QCOMPARE(own.at("examples").get<std::string>(), "first 2 of the list");
        QCOMPARE(own.at("shots").get<int>(), 2);
        const Json from = taskOf(file, {"--shots", "1", "--shots-from", other, "--answers"});
        const Json drawn = taskOf(file, {"--shots", "1", "--draw-shots", "--seed", "7", "--answers"});
        QCOMPARE(drawn.at("examples").get<std::string>(), "own few-shot draw (1, seed 7)");
        QVERIFY(from.at("answers")[9].at("scores") != drawn.at("answers")[9].at("scores"));
        const Outcome few = asked(file, {"--shots", "4", "--shots-from", other});
        QVERIFY2(few.error.contains("There are 3 examples to choose from, but 4 are needed"), qPrintable(few.error));
    }

    void lastWordsHaveAPerplexity() {
        const QString file = written("words.jsonl", "{\"context\":\"the sand is\",\"continuation\":\"tin\"}\n"
                                                    "{\"context\":\"robots\",\"continuation\":\"a\"}\n"
                                                    "{\"context\":\"in a hotel\",\"continuation\":\"he is\"}\n");
        const Json task = taskOf(file, {"--mask", writeMask(), "--answers"});
        QCOMPARE(task.at("format").get<std::string>(), "lambada");
        std::vector<double> nats;
        std::vector<double> differences;
        const double before = task.at("reference").at("metrics").at("perplexity").at("value").get<double>();
        const double after = task.at("metrics").at("perplexity").at("value").get<double>();
        for (std::size_t i = 0; i < 3; ++i) {
            nats.push_back(-task.at("answers")[i].at("scores")[0].get<double>());
            differences.push_back(after * nats.back() +
                                  before * task.at("reference").at("answers")[i].at("scores")[0].get<double>());
            QVERIFY(task.at("answers")[i].at("greedy").is_boolean());
        }
        QVERIFY(isClose(task.at("metrics").at("perplexity").at("value"), std::exp(meanOf(nats))));
        QVERIFY(isClose(task.at("metrics").at("perplexity").at("standard_error"), after * errorOf(nats)));
        QVERIFY(isClose(task.at("delta").at("perplexity").at("value"), after - before));
        QVERIFY(isClose(task.at("delta").at("perplexity").at("standard_error"), errorOf(differences)));
        QVERIFY(task.at("delta").at("acc").contains("both_wrong"));
    }

    void labelsAreComparedByName() {
        const Scratch folder;
        writeModel(folder, "bert");
        Json config = test::readJson(folder.path("config.json"));
        config["id2label"] = {{"0", "NO"}, {"1", "Maybe"}, {"2", "yes"}};
        folder.write("config.json", QByteArray::fromStdString(config.dump()));
        QByteArray names;
        QByteArray numbers;
        const std::vector<const char*> labels{"no", "Maybe", "yes"};
        for (std::size_t i = 0; i < 9; ++i) {
            const std::string text = std::string("the sand is tin").substr(0, 3 + i);
            names += line(Json{{"text", text}, {"label", labels[i % 3]}});
            numbers += line(Json{{"text", text}, {"label", i % 3}});
        }
        const auto evaluated = [&](const QByteArray& rows) {
            return run({"evaluate", folder.path(), "--task", written("texts.jsonl", rows), "--json", "--answers"});
        };
        const Json byName = evaluated(names).json().at("tasks").at("texts");
        QCOMPARE(byName.at("classes"), Json({"NO", "Maybe", "yes"}));
        QCOMPARE(byName.at("count").get<int>(), 9);
        const std::vector<double> right = rightOf(byName.at("answers"), "acc");
        QVERIFY(isClose(byName.at("metrics").at("acc").at("value"), meanOf(right)));
        QCOMPARE(evaluated(numbers).json().at("tasks").at("texts").at("answers"), byName.at("answers"));
        const Json error = evaluated(names + "{\"text\":\"a\",\"label\":\"never\"}\n").json().at("error");
        QVERIFY(QString::fromStdString(error.at("subject").get<std::string>()).endsWith("texts.jsonl: line 10"));
        QCOMPARE(error.at("message").get<std::string>(),
                 "has the label \"never\", which is not one of the model's 3 classes");
        QCOMPARE(error.at("hint").get<std::string>(), "Their names are NO, Maybe, yes");
        const Outcome decoder = asked(written("texts.jsonl", names));
        QVERIFY2(decoder.error.contains("has no classifier: it cannot label texts"), qPrintable(decoder.error));
        const Outcome encoder = run({"evaluate", folder.path(), "--task", written("words.jsonl", choices())});
        QVERIFY2(encoder.error.contains("is an encoder: it cannot score continuations"), qPrintable(encoder.error));
    }

    void writtenAnswersAreHeldAgainstRightOnes() {
        const std::string prompt = "the sand is";
        const auto continued = [&](int tokens) {
            return run({"generate", m_model, "--prompt", QString::fromStdString(prompt), "--new-tokens",
                        QString::number(tokens), "--dtype", "float32", "--json"})
                .json()
                .at("text")
                .get<std::string>();
        };
        const std::string text = continued(12);
        QVERIFY(text.size() >= 4);
        const std::string stop = text.substr(3, 1);
        const Json right{{"prompt", prompt}, {"answers", {"never", text}}, {"max_tokens", 12}};
        const Json stopped{
            {"prompt", prompt}, {"answers", Json::array({text})}, {"max_tokens", 12}, {"stop", {"@@", stop}}};
        const Json shorter{{"prompt", prompt}, {"answers", Json::array({text})}, {"max_tokens", 2}};
        const Json other{{"prompt", "1"}, {"answers", Json::array({"never"})}, {"max_tokens", 3}, {"extract", "@@(x)"}};
        QByteArray rows;
        for (const Json& row : {right, stopped, shorter, other})
            rows += line(row);
        const QString file = written("written.jsonl", rows);
        const Json task = taskOf(file, {"--answers"});
        QCOMPARE(task.at("format").get<std::string>(), "generate");
        const Json& answers = task.at("answers");
        QCOMPARE(answers[0].at("text").get<std::string>(), text);
        QVERIFY(answers[0].at("exact_match").get<bool>() && answers[0].at("f1") == 1.0);
        QCOMPARE(answers[1].at("text").get<std::string>(), text.substr(0, text.find(stop)));
        QCOMPARE(answers[2].at("text").get<std::string>(), continued(2));
        QVERIFY(!answers[3].at("exact_match").get<bool>() && answers[3].at("f1") == 0.0);
        std::vector<double> exact;
        std::vector<double> f1;
        for (const Json& answer : answers) {
            exact.push_back(answer.at("exact_match").get<bool>() ? 1 : 0);
            f1.push_back(answer.at("f1").get<double>());
        }
        QVERIFY(isClose(task.at("metrics").at("exact_match").at("value"), meanOf(exact)));
        QVERIFY(isClose(task.at("metrics").at("f1").at("standard_error"), errorOf(f1)));
        const Json alone = taskOf(file, {"--answers", "--batch-tokens", "1"});
        QCOMPARE(alone.at("answers"), answers);
        const Json masked = taskOf(file, {"--mask", writeMask()});
        QVERIFY(masked.at("delta").at("exact_match").contains("only_reference"));
        QVERIFY(!masked.at("delta").at("f1").contains("only_reference"));
    }

    void severalTasksAndATextGoTogether() {
        const Scratch first;
        const Scratch second;
        QDir(first.path()).mkdir("tin");
        QDir(second.path()).mkdir("sand");
        const QString one = QString::fromStdString(first.write("tin/test.jsonl", choices()));
        const QString two = QString::fromStdString(second.write("sand/test.jsonl", subjects()));
        const QString text = SECATEUR_TEST_SOURCES "/perplexity/articles.raw";
        const Json document =
            asked(one, {"--task", two, "--text", text, "--window", "16", "--limit", "5", "--json"}).json();
        QVERIFY(document.at("text").at("loss_nats").is_number());
        QCOMPARE(document.at("tasks").size(), std::size_t{2});
        QCOMPARE(document.at("tasks").at("tin/test").at("format").get<std::string>(), "generic");
        QCOMPARE(document.at("tasks").at("sand/test").at("format").get<std::string>(), "mmlu");
        QVERIFY(!taskOf(one).contains("text"));
        const Outcome twice = asked(one, {"--task", one});
        QVERIFY2(twice.error.contains("--task: two tasks are named tin/test"), qPrintable(twice.error));
        const Outcome progress = asked(one, {"--task", two, "--text", text, "--window", "16", "--progress", "json"});
        QVERIFY2(progress.toldRisingProgress(), qPrintable(progress.error));
    }

    void misuseIsToldInASentence_data() {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QStringList& options, int status, const char* sentence) {
            QTest::newRow(name) << options << status << sentence;
        };
        const QString words = written("words.jsonl", choices());
        const QString texts = written("texts.jsonl", "{\"text\":\"a\",\"label\":1}\n");
        const QString wrong = written("wrong.jsonl", "{\"prompt\":\"a\",\"answers\":[\"b\"],\"extract\":\"(\"}\n");
        const QString text = SECATEUR_TEST_SOURCES "/perplexity/articles.raw";
        row("shots of a text", {"--text", text, "--shots", "2"}, 2, "--shots requires --task");
        row("format of a text", {"--text", text, "--format", "piqa"}, 2, "--format requires --task");
        row("window of a task", {"--task", words, "--window", "16"}, 2, "--window: requires --text");
        row("no task there", {"--task", "/nonexistent.jsonl"}, 1, "/nonexistent.jsonl: ");
        row("unknown format", {"--task", words, "--format", "piqua"}, 2,
            "Unknown task format \"piqua\". Did you mean piqa?");
        row("another format", {"--task", words, "--format", "piqa"}, 1, "words.jsonl: has no labels");
        row("labels of another format", {"--task", words, "--labels", text}, 2, "is for format piqa only");
        row("labels of two", {"--task", words, "--task", texts, "--labels", text}, 2,
            "--labels: requires a single --task");
        row("examples without a number", {"--task", words, "--shots-from", words}, 2,
            "--shots-from: requires --shots");
        row("draw without a number", {"--task", words, "--draw-shots"}, 2, "--draw-shots: requires --shots");
        row("examples for a classifier", {"--task", texts, "--shots", "1"}, 2,
            "texts.jsonl: has format classification, which takes no examples");
        row("more examples than there are", {"--task", words, "--shots", "24"}, 1,
            "There are 23 examples to choose from, but 24 are needed");
        row("limit of none", {"--task", words, "--limit", "0"}, 2, "--limit: Value 0 not in range");
        row("negative seed", {"--task", words, "--seed", "-1"}, 2, "--seed: ");
        row("BOS mode of texts", {"--task", words, "--bos", "every_window"}, 2,
            "--bos: tasks do not support the BOS mode every_window; must be one of");
        row("no expression", {"--task", wrong}, 1, "wrong.jsonl: line 1: extract: is not a valid regular expression");
    }
    void misuseIsToldInASentence() {
        QFETCH(QStringList, options);
        QFETCH(int, status);
        QFETCH(QString, sentence);
        const Outcome outcome = run(QStringList{"evaluate", m_model} + options);
        QVERIFY2(outcome.error.contains(sentence), qPrintable(outcome.error));
        QCOMPARE(outcome.status, status);
        QVERIFY(outcome.error.count('\n') <= 2 && outcome.out.isEmpty());
    }

    void formatsAreListed() {
        const Json items = run({"list", "tasks", "--json"}).json().at("items");
        QVERIFY(std::ranges::any_of(items, [](const Json& item) {
            return item.at("id") == "hellaswag" && item.at("reported") == "acc_norm" &&
                   item.at("rows").get<std::string>().starts_with("activity_label");
        }));
        QVERIFY(run({"list", "tasks"}).out.contains("rows: goal, sol1, sol2, label"));
    }
};

SECATEUR_SUITE(TestEvaluateTasks)
#include "tst_evaluate_tasks.moc"
