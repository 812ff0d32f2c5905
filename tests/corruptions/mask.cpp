#include "backends/session/mask_json.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/mask_models.h"

namespace secateur::test {

namespace {

constexpr const char* fileName = "a.mask.json";
constexpr const char* raggedModel =
    R"({"architecture":"llama","structure":"1x3/3x8+40,1x2/1x8+9,1x0/0x0+12,1x4/2x8+1"})";
constexpr const char* tiedModel = R"({"architecture":"albert","structure":"6x4/4x3+10"})";

QByteArray document(const char* model, const QByteArray& layers, const QByteArray& more = {}) {
    return QByteArray(R"({"secateur_mask":1,"model":)") + model + R"(,"layers":[)" + layers + "]" + more + "}";
}

/// A table of corrupt masks. Each function adds rows with damage in one part of the mask's JSON.
class Table {
public:
    Corruptions rows;

    void whole(const char* name, const QByteArray& text, const QString& sentence,
               const ModelSpec& spec = raggedSpec()) {
        rows.append({"mask", name, QString(fileName) + ": " + sentence, [text, spec](const Scratch& folder) {
                         const std::string path = folder.write(fileName, text);
                         return folder.refusal([&] { readMask(path, spec, ""); });
                     }});
    }
    void layers(const char* name, const QByteArray& list, const QString& sentence) {
        whole(name, document(raggedModel, list), sentence);
    }
    void more(const char* name, const QByteArray& fields, const QString& sentence) {
        whole(name, document(raggedModel, {}, "," + fields), sentence);
    }
    void tied(const char* name, const QByteArray& list, const QString& sentence) {
        whole(name, document(tiedModel, list), sentence, tiedSpec());
    }
};

const QString one = "layers[0]: ";

void addFiles(Table& table) {
    table.whole("empty", "", "is empty");
    table.whole("enormous", QByteArray(32'000'001, ' '), "is 32000001 bytes long; at most 32000000 are read");
    table.whole("no JSON", "mask", "is not valid JSON (byte 1)");
    table.whole("a list", "[]", "is not a JSON object");
    table.whole("cut short", R"({"secateur_mask":1,)", "is not valid JSON (byte 20)");
    table.whole("not UTF-8", "{\"secateur_mask\":1,\"note\":\"\xff\"}", "is not valid JSON (byte 28)");
    table.whole("a number too large", R"({"secateur_mask":1e999})", "is not valid JSON (a number out of range)");
    table.whole("NaN", R"({"secateur_mask":NaN})", "is not valid JSON (byte 18)");
    table.whole("nested deep", QByteArray(100, '[').prepend("{\"layers\":"), "nests deeper than 32 levels");
    table.whole("a field twice", R"({"secateur_mask":1,"secateur_mask":1})", "has the key \"secateur_mask\" twice");
    table.whole("something else", R"({"model_type":"llama"})", "is not a mask: it has no \"secateur_mask\"");
    table.whole("a newer version", R"({"secateur_mask":2,"novelty":true})",
                "secateur_mask: version 2 is not supported, only version 1");
    table.whole("a version in words", R"({"secateur_mask":"1"})",
                "secateur_mask: expected a whole number from 1 to 999, found \"1\"");
    table.whole("a fraction of a version", R"({"secateur_mask":1.5})",
                "secateur_mask: expected a whole number from 1 to 999, found 1.5");
    table.more("an unknown field", R"("notes":"")",
               "notes: is an unknown field; the fields are secateur_mask, model, layers, compensation, "
               "bias_compensation, note, provenance");
    table.more("a note of numbers", R"("note":1)", "note: expected text, found 1");
}

QByteArray link(const QByteArray& file, const QByteArray& sum, const QByteArray& mode) {
    return R"("compensation":{"file":")" + file + R"(","sha256":")" + sum + R"(","mode":")" + mode + R"("})";
}

/// Links to a compensation. The file itself is damaged in the rows of compensation.cpp.
void addLinks(Table& table) {
    const QByteArray sum(64, 'a');
    table.more("a compensation by name", R"("compensation":"a.safetensors")",
               "compensation: expected an object, found \"a.safetensors\"");
    table.more("a compensation without a file", R"("compensation":{"sha256":"","mode":"bias"})",
               "compensation: file: is missing");
    table.more("a compensation without a sum", R"("compensation":{"file":"a","mode":"bias"})",
               "compensation: sha256: is missing");
    table.more("a compensation without a mode", R"("compensation":{"file":"a","sha256":")" + sum + "\"}",
               "compensation: mode: is missing");
    table.more("a compensation elsewhere", link("../a", sum, "bias"),
               "compensation: file: \"../a\" is not the name of a file beside the mask");
    table.more("a compensation that is a folder", link("..", sum, "bias"),
               "compensation: file: \"..\" is not the name of a file beside the mask");
    table.more("a short sum", link("a", "abc", "bias"),
               "compensation: sha256: expected 64 lower-case hexadecimal digits");
    table.more("a sum in capitals", link("a", QByteArray(64, 'A'), "bias"),
               "compensation: sha256: expected 64 lower-case hexadecimal digits");
    table.more("an unknown mode", link("a", sum, "exact"),
               "compensation: mode: expected one of bias, scale, both, weights, found \"exact\"");
    table.more("an unknown field of the compensation", R"("compensation":{"path":"a"})",
               "compensation: path: is an unknown field; the fields are file, sha256, mode");
    table.more("two compensations", link("a", sum, "bias") + R"(,"bias_compensation":{})",
               "bias_compensation: is given together with \"compensation\", which replaces it");
    table.more("an earlier compensation by name", R"("bias_compensation":false)",
               "bias_compensation: expected an object, found false");
}

void addModels(Table& table) {
    table.whole("no model", R"({"secateur_mask":1,"layers":[]})", "model: is missing");
    table.whole("a model in words", R"({"secateur_mask":1,"model":"llama"})",
                "model: expected an object, found \"llama\"");
    table.whole("a model without structure", R"({"secateur_mask":1,"model":{"architecture":"llama"}})",
                "model: structure: is missing");
    table.whole("a model without architecture", R"({"secateur_mask":1,"model":{"structure":"1"}})",
                "model: architecture: is missing");
    table.whole("an unknown field of the model", R"({"secateur_mask":1,"model":{"path":"/"}})",
                "model: path: is an unknown field; the fields are name, architecture, structure, fingerprint");
    table.whole(
        "another structure", R"({"secateur_mask":1,"model":{"architecture":"llama","structure":"4x3/3x8+40"}})",
        "model: is made for llama 4x3/3x8+40, but the model is llama 1x3/3x8+40,1x2/1x8+9,1x0/0x0+12,1x4/2x8+1. A "
        "mask fits only models of its own structure");
    table.whole("another architecture", document(tiedModel, {}),
                "model: is made for albert 6x4/4x3+10, but the model is llama "
                "1x3/3x8+40,1x2/1x8+9,1x0/0x0+12,1x4/2x8+1. A mask fits only models of its own structure");
}

void addCuts(Table& table) {
    const QString ranges = "expected a list of whole numbers from 0 and of ranges [first, last], found ";
    table.whole("no layers", QByteArray(R"({"secateur_mask":1,"model":)") + raggedModel + "}", "layers: is missing");
    table.whole("layers by name", QByteArray(R"({"secateur_mask":1,"layers":{},"model":)") + raggedModel + "}",
                "layers: expected a list of objects, found {}");
    table.layers("a layer by number", "3", "layers: expected a list of objects, found [3]");
    table.layers("no layer", R"({"heads_cut":[0]})", one + "layer: is missing");
    table.layers("a layer too many", R"({"layer":4})", one + "layer: expected a whole number from 0 to 3, found 4");
    table.layers("a negative layer", R"({"layer":-1})", one + "layer: expected a whole number from 0 to 3, found -1");
    table.layers("half a layer", R"({"layer":0.5})", one + "layer: expected a whole number from 0 to 3, found 0.5");
    table.layers("a huge layer", R"({"layer":36893488147419103232})",
                 one + "layer: expected a whole number from 0 to 3, found 3.6893488147419103e+19");
    table.layers("a layer twice", R"({"layer":1},{"layer":2},{"layer":1})", "layers[2]: layer: lists layer 1 twice");
    table.layers("an unknown field of a layer", R"({"layer":1,"heads":[0]})",
                 one + "heads: is an unknown field; the fields are layer, block, attention, alpha, heads_cut, mlp, "
                       "neurons_cut");
    table.layers("a head too many", R"({"layer":0},{"layer":1,"heads_cut":[2]})",
                 "layers[1]: heads_cut: names head 2, but layer 1 has 2");
    table.layers("a head where there are none", R"({"layer":2,"heads_cut":[0]})",
                 one + "heads_cut: names head 0, but layer 2 has 0");
    table.layers("a head twice", R"({"layer":0,"heads_cut":[1,1]})", one + "heads_cut: names head 1 twice");
    table.layers("a negative head", R"({"layer":0,"heads_cut":[-1]})", one + "heads_cut: " + ranges + "-1");
    table.layers("half a head", R"({"layer":0,"heads_cut":[0.5]})", one + "heads_cut: " + ranges + "0.5");
    table.layers("a range of too many heads", R"({"layer":1,"heads_cut":[[0,2]]})",
                 one + "heads_cut: names head 2, but layer 1 has 2");
    table.layers("a head in two ranges", R"({"layer":0,"heads_cut":[[0,1],[1,2]]})",
                 one + "heads_cut: names head 1 twice");
    table.layers("a range of heads backwards", R"({"layer":0,"heads_cut":[[1,0]]})",
                 one + "heads_cut: " + ranges + "[1,0]");
    table.layers("heads in words", R"({"layer":0,"heads_cut":"all"})", one + "heads_cut: " + ranges + "\"all\"");
    table.layers("a neuron too many", R"({"layer":1,"neurons_cut":[9]})",
                 one + "neurons_cut: names neuron 9, but layer 1 has 9");
    table.layers("a range of too many", R"({"layer":1,"neurons_cut":[[0,9223372036854775807]]})",
                 one + "neurons_cut: names neuron 9223372036854775807, but layer 1 has 9");
    table.layers("a neuron twice", R"({"layer":1,"neurons_cut":[[2,5],5]})", one + "neurons_cut: names neuron 5 twice");
    const QString expected = one + "neurons_cut: " + ranges;
    table.layers("a range backwards", R"({"layer":1,"neurons_cut":[[5,2]]})", expected + "[5,2]");
    table.layers("half a range", R"({"layer":1,"neurons_cut":[[5]]})", expected + "[5]");
    table.layers("a range of three", R"({"layer":1,"neurons_cut":[[1,2,3]]})", expected + "[1,2,3]");
    table.layers("a range in a range", R"({"layer":1,"neurons_cut":[[[1,2],3]]})", expected + "[[1,2],3]");
    table.layers("a negative range", R"({"layer":1,"neurons_cut":[[-1,3]]})", expected + "[-1,3]");
    table.layers("neurons in words", R"({"layer":1,"neurons_cut":"0-3"})", expected + "\"0-3\"");
}

void addKinds(Table& table) {
    table.layers("attention of no kind", R"({"layer":0,"attention":"off"})",
                 one + "attention: expected \"drop\" or \"bypass_qk\", found \"off\"");
    table.layers("attention true", R"({"layer":0,"attention":false})", one + "attention: expected text, found false");
    table.layers("an MLP of no kind", R"({"layer":0,"mlp":"keep"})", one + "mlp: expected \"drop\", found \"keep\"");
    table.layers("a block of no kind", R"({"layer":0,"block":"bypass_qk"})",
                 one + "block: expected \"drop\", found \"bypass_qk\"");
    table.layers("bypass without heads", R"({"layer":2,"attention":"bypass_qk","alpha":1})",
                 one + "layer 2: has no heads, so there are no queries and keys to bypass");
    table.layers("alpha alone", R"({"layer":0,"alpha":1})", one + "alpha: scales only \"attention\": \"bypass_qk\"");
    table.layers("alpha of a dropped attention", R"({"layer":0,"attention":"drop","alpha":0})",
                 one + "alpha: scales only \"attention\": \"bypass_qk\"");
    table.layers("no alpha", R"({"layer":0,"attention":"bypass_qk"})",
                 one + "alpha: is missing; \"bypass_qk\" needs a number from 0 to 2");
    table.layers("alpha too large", R"({"layer":0,"attention":"bypass_qk","alpha":2.5})",
                 one + "layer 0: alpha: expected a number from 0 to 2, found 2.5");
    table.layers("a negative alpha", R"({"layer":0,"attention":"bypass_qk","alpha":-0.1})",
                 one + "layer 0: alpha: expected a number from 0 to 2, found -0.1");
    table.layers("alpha in words", R"({"layer":0,"attention":"bypass_qk","alpha":"1"})",
                 one + "alpha: expected a number, found \"1\"");
}

void addInside(Table& table) {
    const QString attentionTakes = "is inside a unit that \"attention\": \"drop\" removes";
    const QString blockTakes = "is inside a unit that \"block\": \"drop\" removes";
    table.layers("heads of a dropped attention", R"({"layer":0,"attention":"drop","heads_cut":[0]})",
                 one + "heads_cut: " + attentionTakes);
    table.layers("heads of a dropped block", R"({"layer":0,"block":"drop","heads_cut":[]})",
                 one + "heads_cut: " + blockTakes);
    table.layers("neurons of a dropped block", R"({"layer":0,"block":"drop","neurons_cut":[0]})",
                 one + "neurons_cut: " + blockTakes);
    table.layers("attention of a dropped block", R"({"layer":0,"block":"drop","attention":"drop"})",
                 one + "attention: " + blockTakes);
    table.layers("MLP of a dropped block", R"({"layer":0,"block":"drop","mlp":"drop"})", one + "mlp: " + blockTakes);
    table.layers("neurons of a dropped MLP", R"({"layer":0,"mlp":"drop","neurons_cut":[0]})",
                 one + "neurons_cut: is inside a unit that \"mlp\": \"drop\" removes");
}

void addProvenance(Table& table) {
    const QString source = "provenance: ";
    table.more("provenance in words", R"("provenance":"by hand")", source + "expected an object, found \"by hand\"");
    table.more("an unknown field of the provenance", R"("provenance":{"metric":"a"})",
               source + "metric: is an unknown field; the fields are strategy, options, budget, text, seed, "
                        "created, secateur, history, text_digest, order, notes, alpha_curves, fits");
    table.more("a history in words", R"("provenance":{"history":"greedy"})",
               source + "history: expected an object, found \"greedy\"");
    table.more("a history's unknown field", R"("provenance":{"history":{"loss":1}})",
               source + "history: loss: is an unknown field; the fields are measure, before, steps, cuts");
    table.more("a history's cut of no layer", R"("provenance":{"history":{"cuts":[{"step":1,"layer":-1}]}})",
               source + "history: cuts[0]: layer: expected a whole number from 0 to 2147483647, found -1");
    table.more("a history's cut of no unit", R"("provenance":{"history":{"cuts":[{"step":1,"unit":"wheel"}]}})",
               source + "history: cuts[0]: unit: \"wheel\" is not a unit that can be cut");
    table.more("alpha curves in words", R"("provenance":{"alpha_curves":"steep"})",
               source + "alpha_curves: expected a list of objects, found \"steep\"");
    table.more("an alpha curve of words", R"("provenance":{"alpha_curves":[{"alphas":["a"]}]})",
               source + "alpha_curves[0]: alphas: expected a list of numbers, found [\"a\"]");
    table.more("fits in words", R"("provenance":{"fits":"good"})",
               source + "fits: expected a list of objects, found \"good\"");
    table.more("a fit of an unknown projection", R"("provenance":{"fits":[{"layer":0,"projection":"gate"}]})",
               source + "fits[0]: projection: expected \"output\" or \"down\", found \"gate\"");
    table.more("an alpha curve without losses", R"("provenance":{"alpha_curves":[{"alphas":[0,1],"losses":[2]}]})",
               source + "alpha_curves[0]: losses: expected 2 numbers, one for each of \"alphas\", found 1");
    table.more("a strategy by number", R"("provenance":{"strategy":1})", source + "strategy: expected text, found 1");
    table.more("options in a list", R"("provenance":{"options":[]})", source + "options: expected an object, found []");
    table.more("an option that is no text", R"("provenance":{"options":{"a":1}})",
               source + "options: a: expected text, found 1");
    table.more("a budget of no number", R"("provenance":{"budget":"8 heads"})",
               source + "budget: expected a number or a percentage, found \"8 heads\"");
    table.more("a number as text", R"("provenance":{"budget":"8"})",
               source + "budget: expected a number or a percentage, found \"8\"");
    table.more("an endless budget", R"("provenance":{"budget":"inf%"})",
               source + "budget: expected a number or a percentage, found \"inf%\"");
    table.more("a negative budget", R"("provenance":{"budget":-8})",
               source + "budget: expected a number from 0, found -8");
    table.more("a budget in a list", R"("provenance":{"budget":[8]})", source + "budget: expected a number, found [8]");
    table.more("a negative seed", R"("provenance":{"seed":-1})",
               source + "seed: expected a whole number from 0 to 9223372036854775807, found -1");
    table.more("a time by number", R"("provenance":{"created":2026})", source + "created: expected text, found 2026");
    table.more("a version by number", R"("provenance":{"secateur":0.1})",
               source + "secateur: expected text, found 0.1");
}

void addTied(Table& table) {
    const QString otherwise = "which has the same weights";
    table.tied("other heads of shared weights", R"({"layer":4,"heads_cut":[1]},{"layer":2,"heads_cut":[3]})",
               "layers[1]: layer: cuts layer 2 differently from layer 4, " + otherwise);
    table.tied("shared weights cut and kept", R"({"layer":1,"mlp":"drop"},{"layer":0},{"layer":5})",
               "layers[2]: layer: cuts layer 5 differently from layer 1, " + otherwise);
    table.tied("shared weights kept and cut", R"({"layer":1},{"layer":5,"block":"drop"})",
               "layers[1]: layer: cuts layer 5 differently from layer 1, " + otherwise);
}

} // namespace

Corruptions maskCorruptions() {
    Table table;
    addFiles(table);
    addLinks(table);
    addModels(table);
    addCuts(table);
    addKinds(table);
    addInside(table);
    addProvenance(table);
    addTied(table);
    return table.rows;
}

} // namespace secateur::test
