// Files that recipes find by their usual names, and prompts of instructions as texts.

#include "analysis/gallery/paper.h"
#include "backends/text/recipe_files.h"
#include "backends/text/text_source.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <QDir>
#include <QtTest>

#include <array>

using namespace secateur;
using test::Scratch;

class TestRecipeFiles : public QObject {
    Q_OBJECT

private slots:
    void filesAreFoundByTheirUsualNames() {
        const Scratch scratch;
        for (const char* folder : {"text/wikitext", "tasks/piqa", "tasks/mmlu", "tasks/hellaswag", ".cache"})
            QDir().mkpath(scratch.path(folder));
        scratch.write("text/wikitext/wiki.test.raw", "text");
        scratch.write(".cache/rte.jsonl", "hidden");
        scratch.write("tasks/ARC_easy.jsonl", "abc");
        scratch.write("tasks/arc_easy_old.jsonl", "a");
        scratch.write("tasks/piqa/valid.jsonl", "a");
        scratch.write("tasks/piqa/train.jsonl", "a");
        scratch.write("tasks/mmlu/dev.jsonl", "a");
        scratch.write("tasks/mmlu/test_first40.jsonl", "a");
        scratch.write("tasks/mmlu/val.jsonl", "a");
        scratch.write("tasks/hellaswag/hellaswag_val_1000.jsonl", "a");
        scratch.write("tasks/boolqx.jsonl", "a");
        scratch.write("alpaca_en_demo.json", "[]");
        const FoundFiles found = findRecipeFiles(scratch.path().toStdString(), recipeFiles());
        std::map<std::string, std::string> expected{{"wiki.test.raw", "text/wikitext/wiki.test.raw"},
                                                    {"arc_easy.jsonl", "tasks/ARC_easy.jsonl"},
                                                    {"piqa.jsonl", "tasks/piqa/valid.jsonl"},
                                                    {"mmlu", "tasks/mmlu/test_first40.jsonl"},
                                                    {"hellaswag.jsonl", "tasks/hellaswag/hellaswag_val_1000.jsonl"},
                                                    {"alpaca.json", "alpaca_en_demo.json"}};
        for (auto& [name, path] : expected)
            path = scratch.path(QString::fromStdString(path)).toStdString();
        QCOMPARE(found.paths, expected);
        QCOMPARE(found.bytes.at("arc_easy.jsonl"), std::int64_t{3});
        QVERIFY_THROWS_EXCEPTION(Error, findRecipeFiles(scratch.path("nowhere").toStdString(), recipeFiles()));
    }

    void instructionsArePrompts() {
        const Scratch scratch;
        const std::string list = scratch.write("a.json", R"([
            {"instruction": "Add.", "input": "1, 2", "output": "3"},
            {"instruction": "Sing.", "input": "", "output": "La"}
        ])");
        const std::vector<std::string> prompts{"Instruction: Add.\nInput: 1, 2\nResponse:", "Instruction: Sing.\nResponse:"};
        QCOMPARE(readDocuments(list), prompts);
        QCOMPARE(readDocuments(list, "output"), (std::vector<std::string>{"3", "La"}));
        const std::string rows = scratch.write("a.jsonl", "{\"instruction\": \"Sing.\"}\n");
        QCOMPARE(readDocuments(rows), std::vector<std::string>{prompts[1]});
        const std::string other = scratch.write("b.json", "{\"key\": 1}");
        QCOMPARE(readDocuments(other), std::vector<std::string>{"{\"key\": 1}"}); // no list: a plain text
    }
};

SECATEUR_SUITE(TestRecipeFiles)
#include "tst_recipe_files.moc"
