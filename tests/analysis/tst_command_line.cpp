// The commands that the window offers for copying: a shell must parse each one back to the same arguments, and it must
// contain every option that differs from its default.
#include "analysis/base/usage_error.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/session/command_line.h"
#include "tests/support/suite.h"

#include <QProcess>
#include <QtTest>

using namespace secateur;

namespace {

QString text(const CommandLine& command) {
    return QString::fromStdString(shellText(command));
}

Evaluation ofText(const std::string& source) {
    Evaluation evaluation;
    evaluation.dtype = "float32";
    evaluation.device = "cpu";
    evaluation.text.emplace();
    evaluation.text->source = source;
    evaluation.text->perplexity.rules = {TextProtocol::tokenPpl, BosMode::firstOnly, 512, 8192};
    return evaluation;
}

MaskProvenance made(const char* strategy, std::map<std::string, std::string> options, double amount) {
    MaskProvenance provenance;
    provenance.strategy = strategy;
    provenance.options = std::move(options);
    provenance.budget = Budget{amount, false};
    return provenance;
}

} // namespace

class TestCommandLine : public QObject {
    Q_OBJECT

private slots:
    void aShellReadsBackWhatWasMeant() {
        const CommandLine words{
            "printf", "%s\\0", "plain-1.5:a=b,c/d", "with space", "it's", "$HOME",   "`ls`",     "a\nb",  "", "~",
            "*",      "\\",    "\"quoted\"",        "тест é",     "-x",   "a;b|c&d", "#comment", "!event"};
        QProcess shell;
        shell.start("/bin/sh", {"-c", text(words)});
        QVERIFY(shell.waitForFinished());
        QList<QByteArray> read = shell.readAllStandardOutput().split('\0');
        read.removeLast();
        QCOMPARE(read.size(), static_cast<qsizetype>(words.size()) - 2);
        for (std::size_t i = 2; i < words.size(); ++i)
            QCOMPARE(read[static_cast<qsizetype>(i) - 2].toStdString(), words[i]);
    }

    void metricsAndFiguresAreNamedByTheirIds() {
        QCOMPARE(text(measureCommand("/m/a model", {"gate_norm:fold_norm=true", "mag_sp_head"})),
                 "secateur-cli measure '/m/a model' --metric gate_norm:fold_norm=true,mag_sp_head");
        QCOMPARE(text(plotCommand("/s.h5", "heads:metric=gate_norm_head:log=true")),
                 "secateur-cli plot /s.h5 --figure heads:metric=gate_norm_head:log=true --out figure.pdf");
    }

    void aTextIsNamedWithItsRules() {
        const auto one = [](const Evaluation& evaluation, const char* mask) {
            const std::vector<CommandLine> commands = evaluateCommands("/m", evaluation, mask);
            return commands.size() == 1 ? text(commands.front()) : QString::number(commands.size());
        };
        QCOMPARE(one(ofText("/texts/wiki.raw"), "/cut.mask.json"),
                 "secateur-cli evaluate /m --mask /cut.mask.json --text /texts/wiki.raw --protocol token_ppl --bos "
                 "first_only --window 512 --max-tokens 8192 --dtype float32");
        Evaluation whole = ofText("built-in");
        whole.text->perplexity.rules.mostTokens = PerplexityRules().mostTokens;
        whole.device = "cuda:1";
        QCOMPARE(one(whole, ""), "secateur-cli evaluate /m --protocol token_ppl --bos first_only --window 512 --dtype "
                                 "float32 --device cuda:1");
    }

    void tasksAndTimesAreCommandsOfTheirOwn() {
        Evaluation evaluation = ofText("built-in");
        TaskEvaluation task;
        task.source = "/t/hellaswag.jsonl";
        task.formatId = "hellaswag";
        task.rules.limit = 100;
        task.rules.shots = {5, ShotChoice::drawn, 7};
        task.rules.seed = 7;
        evaluation.tasks.push_back(task);
        task.source = "/t/boolq.jsonl";
        task.formatId = "boolq";
        task.rules = {};
        evaluation.tasks.push_back(task);
        evaluation.latency.emplace();
        evaluation.latency->rules.runs = 3;
        evaluation.prefills.resize(2);
        evaluation.prefills[0].tokens = 128;
        evaluation.prefills[1].tokens = 512;
        const std::vector<CommandLine> commands = evaluateCommands("/m", evaluation, "/k");
        QCOMPARE(commands.size(), std::size_t{4});
        QCOMPARE(text(commands[1]), "secateur-cli evaluate /m --mask /k --task /t/hellaswag.jsonl --format hellaswag "
                                    "--shots 5 --draw-shots --limit 100 --seed 7 --dtype float32");
        QCOMPARE(text(commands[2]),
                 "secateur-cli evaluate /m --mask /k --task /t/boolq.jsonl --format boolq --dtype float32");
        QCOMPARE(text(commands[3]), "secateur-cli evaluate /m --mask /k --latency --new-tokens 128 --prompt-tokens 12 "
                                    "--warmup 10 --runs 3 --lengths 128,512 --dtype float32");
        QVERIFY(evaluateCommands("/m", Evaluation(), "").empty());
    }

    void aStrategyIsNamedWhereItsRecordSaysAll() {
        const auto prune = [](const MaskProvenance& provenance) {
            const auto command = pruneCommand("/m", provenance, "cut.mask.json");
            return command ? text(*command) : QString("none");
        };
        QCOMPARE(
            prune(made(
                "by_metric",
                {{"metric", "gate_norm_head"}, {"fold_norm", "true"}, {"protect", "0,3.1-2"}, {"threshold", "0.5"}},
                8)),
            "secateur-cli prune /m --strategy by_metric:fold_norm=true:metric=gate_norm_head --budget 8 --protect "
            "0,3.1-2 --out cut.mask.json");
        MaskProvenance random = made("random_head", {{"base", "/b.json"}}, 12.5);
        random.budget->isPercentage = true;
        random.seed = 3;
        QCOMPARE(prune(random), "secateur-cli prune /m --strategy random_head --budget 12.5% --mask /b.json --seed 3 "
                                "--out cut.mask.json");
        QCOMPARE(prune(made("random_head", {{"base", "another mask"}}, 2)), "none");
        QCOMPARE(prune(made("of_a_later_version", {}, 2)), "none");
        QCOMPARE(prune(made("by_metric", {}, 2)), "none");
        random.budget.reset();
        QCOMPARE(prune(random), "none");
    }

    void aCompensationIsACommandOfItsOwn() {
        const auto commands = [](const MaskProvenance& provenance) {
            const auto prune = pruneCommand("/m", provenance, "plain.json");
            const auto compensate = compensateCommand("/m", provenance, "plain.json", "cut.json");
            return (prune ? text(*prune) : QString("none")) + "; " + (compensate ? text(*compensate) : QString("none"));
        };
        MaskProvenance provenance = made("gate_norm", {}, 8);
        const QString prune = "secateur-cli prune /m --strategy gate_norm --budget 8 --out plain.json; ";
        QCOMPARE(commands(provenance), prune + "none");
        noteFit(provenance, {CompensationMode::weights, "/t.txt", 4096, 512}, {});
        QCOMPARE(commands(provenance), prune + "secateur-cli compensate /m --mask plain.json --compensate weights "
                                               "--text /t.txt --max-tokens 4096 --seq-len 512 --out cut.json");
        noteFit(provenance, {CompensationMode::bias, "built-in", 300}, {});
        QCOMPARE(commands(provenance), prune + "secateur-cli compensate /m --mask plain.json --compensate bias "
                                               "--max-tokens 300 --out cut.json");
        QCOMPARE(provenance.notes.size(), std::size_t{1});
        noteFit(provenance, {CompensationMode::none}, {});
        QCOMPARE(commands(provenance),
                 prune + "secateur-cli compensate /m --mask plain.json --compensate none --out cut.json");
        QVERIFY(provenance.notes.empty());
        // Files of earlier versions do not state the text.
        QCOMPARE(commands(made("gate_norm", {{"compensate", "bias"}}, 8)), prune + "none");
    }

    void partsOfATextHaveNoCommand() {
        MetricResult whole;
        whole.request = {findMetric("block_influence"), {}};
        whole.data = MeasuredData{"/t.raw", 4, 40, 40, 10, "document", "tokenizer_default"};
        MetricResult half = whole;
        half.data->part = 1;
        half.data->parts = 2;
        QVERIFY(measureCommands("/m", {&half}, "").empty());
        const auto commands = measureCommands("/m", {&half, &whole}, "");
        QCOMPARE(commands.size(), std::size_t{1});
        QCOMPARE(text(commands.front()),
                 "secateur-cli measure /m --metric block_influence --text /t.raw --max-tokens 40 --seq-len 10");
        QVERIFY(!pruneCommand("/m", made("gate_norm", {{"part", "1/2"}}, 2), "cut.mask.json"));
        const auto typed = pruneCommand("/m", made("gate_norm", {{"dtype", "bfloat16"}}, 2), "cut.mask.json");
        QVERIFY(typed && text(*typed).contains("--strategy gate_norm --budget 2 --dtype bfloat16"));
    }

    void masksAndExportsAreNamedByTheirFiles() {
        QCOMPARE(text(showMaskCommand("/m", "/a b.json")), "secateur-cli mask show '/a b.json' --model /m");
        const auto command = [](std::string_view as, std::string_view layout) {
            const ExportTarget target{.id = "any",
                                      .as = as,
                                      .layout = layout,
                                      .name = {},
                                      .summary = {},
                                      .opensIn = {},
                                      .format = {},
                                      .reasons = maskedReasons};
            return text(exportCommand("/m.gguf", "/k.json", target, "out.gguf"));
        };
        QCOMPARE(command("masked", "native"), "secateur-cli export /m.gguf --mask /k.json --as masked --out out.gguf");
        QCOMPARE(command("gguf", "deci"),
                 "secateur-cli export /m.gguf --mask /k.json --as gguf --layout deci --out out.gguf");
    }
};

SECATEUR_SUITE(TestCommandLine)
#include "tst_command_line.moc"
