// The JSON documents printed with --json have all documented fields, also for missing values and layers without heads.

#include "backends/json/figure_json.h"
#include "backends/json/result_json.h"
#include "tests/support/fixture.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace secateur;
using Json = nlohmann::ordered_json;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// A model whose layers have three, two and no heads.
ModelCard raggedModel() {
    ModelCard card;
    card.path = "ragged.gguf";
    card.format = "gguf";
    card.name = "ragged";
    card.parameters = 5'000'000'000;
    card.bytes = 10;
    card.dtype = "Q4_1";
    card.fingerprint = "sha256:feed";
    card.warnings = {"of the model"};
    card.spec.architecture = "llama";
    card.spec.layers.resize(3);
    card.spec.layers[0].heads = card.spec.layers[0].kvHeads = 3;
    card.spec.layers[1].heads = card.spec.layers[1].kvHeads = 2;
    card.spec.layers[2].attention = AttentionKind::none;
    return card;
}

MetricResult raggedHeads(const ModelSpec& spec) {
    MetricResult result;
    result.request = parseMetricRequests("gate_norm_head:fold_norm=true").front();
    result.values = Matrix(3, columnsFor(Scope::head, spec));
    result.values(0, 0) = 0.1 + 0.2; // 0.30000000000000004 needs all 17 digits
    result.values(0, 1) = 1e-300;
    result.values(1, 0) = -2;
    result.values(1, 1) = missing;
    result.seconds = 0.5;
    result.warnings = {"of the result"};
    return result;
}

std::vector<std::string> keys(const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, _] : object.items())
        names.push_back(name);
    return names;
}

} // namespace

class TestResultJson : public QObject {
    Q_OBJECT

private slots:
    void inspectHasTheFieldsOfTheContract() {
        const Json card = Json::parse(inspectJson(raggedModel()));
        const std::vector<std::string> expected{
            "path",       "format", "name",  "architecture", "family",          "structure",
            "layers",     "hidden", "heads", "kv_heads",     "head_dim",        "ffn",
            "attention",  "window", "vocab", "context",      "tied_embeddings", "tied_groups",
            "parameters", "bytes",  "dtype", "tokenizer",    "fingerprint",     "warnings"};
        QCOMPARE(keys(card), expected);
        QCOMPARE(card["heads"], Json({3, 2, 0}));
        QCOMPARE(card["attention"], Json({"full", "full", "none"}));
        QCOMPARE(card["window"], Json({0, 0, 0}));
        QCOMPARE(card["parameters"], Json(5'000'000'000));
        QCOMPARE(card["tied_groups"], Json(nullptr));
    }

    void layersWithAWindowAreSliding() {
        for (const char* file : {".", "model.gguf"}) {
            const Json card = Json::parse(inspectJson(test::fixture("gemma3", file)->card()));
            std::vector<std::string> kinds;
            for (const Json& window : card["window"])
                kinds.push_back(window > 0 ? "sliding" : "full");
            QCOMPARE(card["attention"], Json(kinds));
            QVERIFY(std::ranges::count(kinds, "sliding") > 0);
        }
    }

    void inspectListsTensors() {
        const Json card = Json::parse(inspectJson(raggedModel(), {{"a.weight", "BF16", {2, 3}, 12, "m.gguf"}}));
        QCOMPARE(card["tensors"].dump(),
                 R"([{"name":"a.weight","dtype":"BF16","shape":[2,3],"bytes":12,"file":"m.gguf"}])");
    }

    void measureHoldsEveryCellThatExistsAndEveryDigit() {
        const ModelCard card = raggedModel();
        const std::vector<MetricResult> results{raggedHeads(card.spec)};
        const std::string text = measureJson(card, results, {}, 1.5, 4096);
        const Json document = Json::parse(text);
        const std::vector<std::string> expected{"model",   "mask",       "data",    "dtype",   "device",
                                                "seconds", "peak_bytes", "metrics", "warnings"};
        QCOMPARE(keys(document), expected);
        QCOMPARE(document["model"].dump(),
                 R"({"path":"ragged.gguf","architecture":"llama","fingerprint":"sha256:feed"})");
        QCOMPARE(document["warnings"], Json({"of the model", "gate_norm_head:fold_norm=true: of the result"}));
        const Json& metric = document["metrics"]["gate_norm_head:fold_norm=true"];
        const std::vector<std::string> fields{"scope", "prune_first", "unit", "values", "options", "seconds"};
        QCOMPARE(keys(metric), fields);
        QCOMPARE(metric["values"].dump(), "[[0.30000000000000004,1e-300,null],[-2.0,null],[]]");
        QCOMPARE(metric["options"].dump(), R"({"fold_norm":"true"})");
        QCOMPARE(metric["prune_first"], Json("low"));
    }

    void layerMetricsAreAFlatListAndEstimatesHaveErrors() {
        const ModelCard card = raggedModel();
        MetricResult result;
        result.request = parseMetricRequests("gate_norm").front();
        result.values = Matrix(3, 1, 2.5);
        result.values(2, 0) = missing;
        result.standardError = Matrix(3, 1, 0.5);
        (*result.standardError)(1, 0) = 0;
        (*result.standardError)(2, 0) = missing;
        const std::vector<MetricResult> results{result};
        const Json metric = Json::parse(measureJson(card, results, {}, 0, 0))["metrics"]["gate_norm"];
        QCOMPARE(metric["values"].dump(), "[2.5,2.5,null]");
        QCOMPARE(metric["standard_error"].dump(), "[0.5,0.0,null]");
    }

    void errorsSayWhatOnWhatAndWhatToDo() {
        QCOMPARE(Json::parse(errorJson(Error("is cut short", "m.gguf", "Fetch it again"))).dump(),
                 R"({"error":{"message":"is cut short","subject":"m.gguf","hint":"Fetch it again"}})");
    }

    void textThatIsNotUtf8IsShownRatherThanRefused() {
        QCOMPARE(Json::parse(errorJson(Error("is odd", "\xff.gguf")))["error"]["subject"], Json("\xef\xbf\xbd.gguf"));
        QCOMPARE(Json::parse(progressJson(0.5, "reading \"a\xff\"")).size(), 2);
    }

    void listsAreSelfDescribing() {
        const std::vector<ListItem> items{
            {"heads", "a map", "", {{"log", "bool", "false", "logarithmic colours"}}, {{"unit", "nats"}}}};
        QCOMPARE(Json::parse(listJson("figures", items)).dump(),
                 R"({"kind":"figures","items":[{"id":"heads","summary":"a map","source":"","unit":"nats",)"
                 R"("options":[{"name":"log","type":"bool","default":"false","meaning":"logarithmic colours"}]}]})");
    }

    void figuresCarryTheirNumbers() {
        Figure map;
        map.cells = Matrix(1, 2, 1.5);
        map.cells(0, 1) = missing;
        QCOMPARE(Json::parse(figureJson(map))["cells"].dump(), "[[1.5,null]]");
        Figure lines;
        lines.kind = FigureKind::series;
        lines.series = {{"a", {1, missing}, {}, false}, {"b", {2}, {0.5}, true}};
        QCOMPARE(Json::parse(figureJson(lines))["series"].dump(),
                 R"([{"label":"a","axis":"left","values":[1.0,null]},)"
                 R"({"label":"b","axis":"right","values":[2.0],"standard_error":[0.5]}])");
    }

    void gridsAndTablesAreFigures() {
        Figure boxes;
        boxes.kind = FigureKind::curves;
        boxes.x.ticks = {{12, "12"}};
        FigureSeries series;
        series.style = SeriesStyle::boxes;
        series.positions = {12};
        series.values = {2};
        series.boxes = {{1, 1.5, 2, 2.5, 3, {9}}};
        boxes.series = {series};
        Figure grid;
        grid.kind = FigureKind::grid;
        grid.gridColumns = 2;
        grid.parts = {boxes};
        const Json part = Json::parse(figureJson(grid)).at("parts").at(0);
        QCOMPARE(part["series"][0]["boxes"].dump(),
                 R"([{"lower_whisker":1.0,"first_quartile":1.5,"median":2.0,"third_quartile":2.5,)"
                 R"("upper_whisker":3.0,"outliers":[9.0]}])");
        QCOMPARE(part["series"][0]["style"].get<std::string>(), "boxes");
        QCOMPARE(part["x"]["ticks"].dump(), R"([{"position":12.0,"name":"12"}])");
        Figure table;
        table.kind = FigureKind::table;
        table.table.columns = {{.title = "Method", .isText = true}, {.title = "4", .group = "Removed"}};
        TableCell best;
        best.value = 1.0 / 3;
        best.error = 0.5;
        best.isBest = true;
        table.table.rows = {{{{.text = "gate_norm"}, best}}, {{{.text = "paper"}, {.value = missing}}, true, true}};
        const Json document = Json::parse(figureJson(table));
        QCOMPARE(document["columns"].dump(),
                 R"([{"title":"Method","is_text":true},{"title":"4","group":"Removed","decimals":2}])");
        QCOMPARE(document["rows"][0]["cells"].dump(),
                 R"(["gate_norm",{"value":0.3333333333333333,"standard_error":0.5,"best":true}])");
        QCOMPARE(document["rows"][1].dump(), R"({"cells":["paper",null],"published":true,"starts_group":true})");
    }

    void timesHaveTheFieldsOfTheContract() {
        const ModelCard card = raggedModel();
        Evaluation evaluation{{"cut.json", "sha256:cut"}, "float32", "cpu", {}, 1, 0, {}};
        evaluation.latency = Latency{{}, {{4, 2, 8}}, {}, {}};
        evaluation.prefills.push_back({512, {{{0.5, 0.25, 1}}, {}}, {}, {}});
        Json document = Json::parse(evaluationJson(card, evaluation));
        QCOMPARE(keys(document.at("latency")),
                 (std::vector<std::string>{"prompt_tokens", "new_tokens", "batch", "warmup", "runs", "mean_seconds",
                                           "median_seconds", "p10_seconds", "p90_seconds", "tokens_per_second",
                                           "reference", "speedup"}));
        QCOMPARE(document["latency"]["prompt_tokens"].get<int>(), 12);
        QCOMPARE(document["latency"]["new_tokens"].get<int>(), 128);
        QCOMPARE(document["latency"]["batch"].get<int>(), 1);
        QCOMPARE(document["latency"]["warmup"].get<int>(), 10);
        QCOMPARE(document["latency"]["runs"].get<int>(), 3);
        QCOMPARE(document["latency"]["mean_seconds"].get<double>(), 14.0 / 3);
        QCOMPARE(document["latency"]["median_seconds"].get<double>(), 4.0);
        QCOMPARE(document["latency"]["p10_seconds"].get<double>(), 2.4);
        QCOMPARE(document["latency"]["p90_seconds"].get<double>(), 7.2);
        QCOMPARE(document["latency"]["tokens_per_second"].get<double>(), 32.0);
        QVERIFY(document["latency"]["reference"].is_null() && document["latency"]["speedup"].is_null());
        QCOMPARE(keys(document.at("prefill").at(0)),
                 (std::vector<std::string>{"tokens", "seconds", "runs", "mean_seconds", "median_seconds", "p10_seconds",
                                           "p90_seconds", "by_sublayer", "reference", "speedup"}));
        QCOMPARE(document["prefill"][0]["seconds"].get<double>(), 0.5);
        QVERIFY(document["prefill"][0]["by_sublayer"].is_null());

        evaluation.latency->reference = Timing{{6, 6, 6}};
        evaluation.latency->speedup = Speedup{1.5, 1.25, 2};
        evaluation.prefills[0].reference =
            PrefillTiming{{{1, 1, 1}}, SublayerSeconds{{1, 2, 0}, {0.5, 0, 1}, 0.5, {}, {}}};
        evaluation.prefills[0].speedup = Speedup{2, 1, 4};
        document = Json::parse(evaluationJson(card, evaluation));
        QVERIFY(document["latency"]["reference"]["mask"].is_null());
        QCOMPARE(document["latency"]["reference"]["mean_seconds"].get<double>(), 6.0);
        QCOMPARE(document["latency"]["speedup"], (Json{{"ratio", 1.5}, {"p10", 1.25}, {"p90", 2.0}}));
        const Json parts{{"attention", 3.0},
                         {"mlp", 1.5},
                         {"rest", 0.5},
                         {"attention_share", 0.6},
                         {"layers", {{"attention", {1.0, 2.0, 0.0}}, {"mlp", {0.5, 0.0, 1.0}}}}};
        QCOMPARE(document["prefill"][0]["reference"]["by_sublayer"], parts);
        evaluation.timedAgainst = {"other.json", "sha256:other"};
        document = Json::parse(evaluationJson(card, evaluation));
        QCOMPARE(document["prefill"][0]["reference"]["mask"]["name"].get<std::string>(), "other.json");
    }
};

SECATEUR_SUITE(TestResultJson)
#include "tst_result_json.moc"
