// All verbs of secateur-cli on small models with odd but valid shapes: one layer, one head, heads of two numbers, three
// tokens, layers without heads or neurons, windows of one token, one class. Each run succeeds, or says in one sentence
// why it cannot. Under the preset `asan`, this suite runs the verbs under both sanitizers.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/command_line.h"
#include "tests/support/odd_models.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <atomic>
#include <optional>
#include <thread>

using namespace secateur;
using test::keepFirst;
using test::OddModel;
using test::OddTensors;
using test::Outcome;
using test::Scratch;

namespace {

/// One layer, one head of two numbers, one neuron, three tokens; the embeddings are the LM head.
OddModel smallest() {
    OddModel model{"forward/llama-tied",
                   {{"num_hidden_layers", 1},
                    {"num_attention_heads", 1},
                    {"num_key_value_heads", 1},
                    {"head_dim", 2},
                    {"intermediate_size", 1},
                    {"vocab_size", 3}}};
    model.edit = [](OddTensors& tensors) {
        test::removeTensors(tensors, "layers.1.");
        for (const char* rows : {"q_proj", "k_proj", "v_proj"})
            keepFirst(tensors, rows, 2);
        keepFirst(tensors, "o_proj", 2, 1);
        keepFirst(tensors, "gate_proj", 1);
        keepFirst(tensors, "up_proj", 1);
        keepFirst(tensors, "down_proj", 1, 1);
        keepFirst(tensors, "embed_tokens", 3);
    };
    return model;
}

/// An encoder from which transformers' prune_heads() removed heads.
OddModel prunedEncoder() {
    OddModel model{"forward/bert", {{"pruned_heads", {{"0", {1}}, {"1", {0, 2, 3}}}}}};
    model.edit = [](OddTensors& tensors) {
        for (auto& [name, tensor] : tensors) {
            if (name.find("attention.self.") == std::string::npos &&
                name.find("attention.output.dense.weight") == std::string::npos)
                continue;
            const bool isFirst = name.find("layer.0.") != std::string::npos;
            const at::Tensor heads = isFirst ? at::tensor({0, 2, 3}, at::kLong) : at::tensor({1}, at::kLong);
            const at::Tensor rows = (heads.unsqueeze(1) * 5 + at::arange(5, at::kLong)).flatten();
            const bool isOutput = name.find("output") != std::string::npos;
            tensor = tensor.index_select(isOutput ? 1 : 0, rows);
        }
    };
    return model;
}

/// Six layers in three groups that share their weights.
OddModel albertGroups() {
    OddModel model{"forward/albert", {{"num_hidden_groups", 3}, {"num_hidden_layers", 6}}};
    model.edit = [](OddTensors& tensors) {
        const std::string first = "albert_layer_groups.0.";
        const OddTensors before = tensors;
        for (const auto& [name, tensor] : before)
            for (const int group : {1, 2})
                if (const std::size_t at = name.find(first); at != std::string::npos) {
                    std::string other = name;
                    other.replace(at, first.size(), "albert_layer_groups." + std::to_string(group) + ".");
                    tensors[other] = tensor * (group == 1 ? 0.9 : 1.1);
                }
    };
    return model;
}

OddModel oneClass(const char* source) {
    OddModel model{source, {{"id2label", nullptr}, {"label2id", nullptr}, {"num_labels", 1}}};
    model.config["id2label"] = {{"0", "only"}, {"1", nullptr}, {"2", nullptr}};
    model.config["label2id"] = nullptr;
    model.edit = [](OddTensors& tensors) { keepFirst(tensors, "classifier.", 1); };
    return model;
}

OddModel stored(const char* source, at::ScalarType type, int files, const nlohmann::json& config = {}) {
    OddModel model{source, config};
    model.type = type;
    model.files = files;
    return model;
}

enum class Kind { decoder, classifier, bareEncoder };

/// A model of the suite: a folder, or a GGUF file of tests/data with a number of tokens.
struct Subject {
    const char* name;
    std::optional<OddModel> model;
    Kind kind = Kind::decoder;
    const char* file = "";
    int tokens = 0;

    /// A word that the tokenizer knows, if its vocabulary is large enough.
    QByteArray word(int number) const {
        return model ? "w" + QByteArray::number(number) + " " : test::oddCharacter(number).toUtf8();
    }
};

std::vector<Subject> subjects() {
    return {{"smallest", smallest()},
            {"mqa-bf16-files", stored("forward/llama-mqa", at::kBFloat16, 3)},
            {"gqa-f16", stored("forward/llama-gqa", at::kHalf, 1)},
            {"linear", stored("forward/llama-linear", at::kFloat, 1)},
            {"gpt2", stored("forward/gpt2", at::kFloat, 1)},
            {"phi", stored("forward/phi", at::kHalf, 2)},
            {"gemma2-window-1", stored("forward/gemma2", at::kFloat, 1, {{"sliding_window", 1}})},
            {"gemma3-window-1", stored("forward/gemma3", at::kBFloat16, 1, {{"sliding_window", 1}})},
            {"deci", {}, Kind::decoder, "deci-gguf/model.gguf", 17},
            {"q4_0", {}, Kind::decoder, "gqa-q4_0-gguf/model.gguf", 37},
            {"pruned-encoder", prunedEncoder(), Kind::classifier},
            {"albert-groups", albertGroups(), Kind::classifier},
            {"one-class", oneClass("forward/bert"), Kind::classifier},
            {"bare-encoder", stored("forward/bert-bare", at::kFloat, 1), Kind::bareEncoder}};
}

QByteArray text(const Subject& subject) {
    QByteArray lines;
    for (int i = 0; i < 120; ++i)
        lines += subject.word(1 + (i * 7 + i / 3) % 16) + (i % 12 == 11 ? "\n\n\n" : "");
    return lines;
}

QByteArray choices(const Subject& subject) {
    QByteArray rows;
    for (int i = 0; i < 4; ++i)
        rows += R"({"query":")" + subject.word(3) + R"(","choices":[")" + subject.word(5) + R"(",")" + subject.word(6) +
                subject.word(i + 3) + R"("],"gold":)" + QByteArray::number(i % 2) + "}\n";
    return rows;
}

QByteArray labelled(const Subject& subject) {
    QByteArray rows;
    for (int i = 0; i < 4; ++i)
        rows += R"({"text":")" + subject.word(3) + subject.word(i + 3) + R"(","label":0})" + "\n";
    return rows;
}

struct Run {
    QString verb;
    QStringList arguments;
};

/// The runs on a model, in an order in which each may read the files of those before it.
std::vector<Run> runsOn(const Subject& subject, const QString& model, const Scratch& scratch) {
    const bool isClassifier = subject.kind == Kind::classifier;
    const QString session = scratch.path("s.h5");
    const QString mask = scratch.path("cut.mask.json");
    const QStringList text{"--text", scratch.path("text.txt"), "--max-tokens", "60"};
    const QStringList task{"--task", scratch.path(isClassifier ? "labelled.jsonl" : "choices.jsonl")};
    const QStringList brief = text + QStringList{"--seq-len", "12"};
    const QString prompt = QString::fromUtf8(subject.word(3) + subject.word(4) + subject.word(5));
    const auto on = [&](const QStringList& verb, const QStringList& rest) {
        return QStringList{verb.front(), model} + verb.mid(1) + rest;
    };
    std::vector<Run> runs{
        {"inspect", on({"inspect", "--tokens", prompt}, {})},
        {"measure", on({"measure", "--metric", "all", "--out", session}, isClassifier ? task : brief)},
        {"prune", on({"prune", "--strategy", "random_neuron", "--budget", "40%", "--out", mask}, {})},
        {"sweep", on({"sweep", "--strategy", "gate_norm,gnorm_greedy,amp,mag_sp,wanda_sp,flap,bottom_up,random_head",
                      "--budgets", "1,50%,params:10%", "--out", session},
                     isClassifier ? task + brief : brief)},
        {"export",
         on({"export", "--mask", mask, "--as", "masked", "--out", scratch.path(subject.model ? "masked" : "m.gguf")},
            {})},
        {"attention", on({"plot", "--figure", "attention", "--prompt", prompt, "--out", scratch.path("a.json")}, {})},
        {"legalise", {"mask", "legalise", mask, "--model", model, "--out", scratch.path("legal.mask.json")}},
        {"session", {"session", "show", session}}};
    const QStringList masked = on({"evaluate", "--mask", mask, "--out", session}, {});
    if (subject.kind == Kind::bareEncoder)
        return runs.push_back({"evaluate", masked + text}), runs;
    runs.push_back({"ablate", on({"ablate", "--units", "heads,attention,mlps,blocks", "--out", session},
                                 isClassifier ? task : brief)});
    if (isClassifier)
        return runs.push_back({"evaluate", masked + task}), runs;
    runs.push_back({"evaluate", masked + text + task +
                                    QStringList{"--latency", "--prompt-tokens", "2", "--new-tokens", "2", "--runs", "2",
                                                "--warmup", "0", "--lengths", "1,3"}});
    runs.push_back({"search", on({"sweep", "--strategy", "loss_greedy,harp,two_stage,by_metric:metric=ablation_head",
                                  "--budgets", "1,10%", "--out", session},
                                 brief)});
    runs.push_back({"generate", on({"generate", "--mask", mask, "--prompt", prompt, "--new-tokens", "4"}, {})});
    return runs;
}

/// Runs that are refused with a sentence. All others must succeed.
const QStringList mayRefuse{};

bool isOneSentence(const QString& error) {
    return error.startsWith("secateur-cli: ") && error.count('\n') == 1 && !error.contains("Exception raised");
}

} // namespace

class TestOddModels : public QObject {
    Q_OBJECT

private:
    struct Done {
        QString name;
        Run run;
        Outcome outcome;
    };
    std::vector<std::vector<Done>> m_done; ///< for each subject

    static std::vector<Done> runAll(const Subject& subject) {
        const Scratch scratch;
        scratch.write("text.txt", text(subject));
        scratch.write("choices.jsonl", choices(subject));
        scratch.write("labelled.jsonl", labelled(subject));
        const QString model = subject.model ? test::writeOddModel(scratch, "model", *subject.model)
                                            : test::writeOddGguf(scratch, "model.gguf", subject.file, subject.tokens);
        std::vector<Done> done;
        for (const Run& run : runsOn(subject, model, scratch))
            done.push_back({subject.name, run, test::run(run.arguments + QStringList{"--threads", "1"})});
        return done;
    }

private slots:
    /// Runs the models side by side, because starting a program takes most of the time.
    void initTestCase() {
        const std::vector<Subject> all = subjects();
        m_done.resize(all.size());
        std::atomic<std::size_t> next = 0;
        const auto work = [&] {
            for (std::size_t i = next++; i < all.size(); i = next++)
                m_done[i] = runAll(all[i]);
        };
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
            threads.emplace_back(work);
    }

    void eachRunSucceedsOrSaysWhyNot_data() {
        QTest::addColumn<std::size_t>("subject");
        QTest::addColumn<std::size_t>("run");
        for (std::size_t i = 0; i < m_done.size(); ++i)
            for (std::size_t j = 0; j < m_done[i].size(); ++j)
                QTest::addRow("%s %s", qPrintable(m_done[i][j].name), qPrintable(m_done[i][j].run.verb)) << i << j;
    }
    void eachRunSucceedsOrSaysWhyNot() {
        QFETCH(std::size_t, subject);
        QFETCH(std::size_t, run);
        const Done& done = m_done[subject][run];
        const auto& [status, out, error] = done.outcome;
        const QString place = done.name + " " + done.run.verb;
        if (status != 0) {
            qInfo("status %d: %s", status, qPrintable(error.left(400)));
            QVERIFY2(status == 1 || status == 2, qPrintable(error));
            QVERIFY2(isOneSentence(error), qPrintable(error));
        }
        QVERIFY2(!error.contains("runtime error:") && !error.contains("AddressSanitizer"), qPrintable(error));
        QVERIFY2(status == 0 || mayRefuse.contains(place), qPrintable(place + ": " + error));
    }
};

SECATEUR_SUITE(TestOddModels)
#include "tst_odd_models.moc"
