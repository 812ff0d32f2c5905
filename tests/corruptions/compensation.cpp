#include "backends/base/sha256.h"
#include "backends/session/hdf5_lists.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/mask_models.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/sessions.h"

#include <hdf5.h>

#include <limits>

namespace secateur::test {

namespace {

constexpr const char* maskFile = "a.mask.json";
constexpr const char* besideIt = "c.safetensors";

ModelSpec compensatedSpec() {
    ModelSpec spec = raggedSpec();
    spec.hidden = 6;
    return spec;
}

/// A safetensors file of float32 vectors.
QByteArray vectors(const QList<std::pair<QByteArray, QList<float>>>& named, const QByteArray& dtype = "F32") {
    QByteArray header;
    QByteArray data;
    for (const auto& [name, values] : named) {
        const qsizetype begin = data.size();
        for (const float value : values)
            data += dtype == "F64" ? little(static_cast<double>(value)) : little(value);
        header += (header.isEmpty() ? "{" : ",") + QByteArray("\"") + name + R"(":{"dtype":")" + dtype +
                  R"(","shape":[)" + QByteArray::number(values.size()) + R"(],"data_offsets":[)" +
                  QByteArray::number(begin) + "," + QByteArray::number(data.size()) + "]}";
    }
    header += header.isEmpty() ? "{}" : "}";
    return little(static_cast<quint64>(header.size())) + header + data;
}

/// Writes a mask of a model and its compensation, and reads both. @param content of the compensation
QString readWith(const Scratch& folder, const QByteArray& content, const ModelSpec& spec, const QByteArray& sum = {}) {
    Sha256 own;
    own.add(content.constData(), static_cast<std::size_t>(content.size()));
    const QByteArray stated = sum.isEmpty() ? QByteArray::fromStdString(own.hexadecimal()) : sum;
    folder.write(besideIt, content);
    const std::string path = folder.write(
        maskFile,
        QByteArray(R"({"secateur_mask":1,"model":{"architecture":")") + QByteArray::fromStdString(spec.architecture) +
            R"(","structure":")" + QByteArray::fromStdString(spec.structure()) +
            R"("},"layers":[],"compensation":{"file":"c.safetensors","sha256":")" + stated + R"(","mode":"both"}})");
    return folder.refusal([&] { readMask(path, spec, ""); });
}

/// A session whose only mask has a compensation. Returns its path.
std::string compensatedSession(const Scratch& scratch) {
    Session session = raggedSession();
    SessionMask mask{"a mask", {}, {}};
    mask.record.mask = PruningMask(session.model.spec);
    LayerMask layer = mask.record.mask.layer(1);
    LayerCompensation made;
    made.headScale.assign(layer.heads.size(), 0.5F);
    made.mlpBias.assign(static_cast<std::size_t>(session.model.spec.hidden), 0.25F);
    layer.compensation = std::make_shared<const LayerCompensation>(made);
    mask.record.mask.setLayer(1, layer);
    mask.digest = maskDigest(mask.record.mask);
    session.masks = {mask};
    std::string path = scratch.path("s.h5").toStdString();
    writeSession(session, path);
    return path;
}

} // namespace

Corruptions compensationCorruptions() {
    Corruptions rows;
    const auto file = [&](const char* name, const QByteArray& content, const QString& sentence,
                          const ModelSpec& spec = compensatedSpec()) {
        rows.append({"compensation", name, QString(besideIt) + ": " + sentence,
                     [=](const Scratch& folder) { return readWith(folder, content, spec); }});
    };
    const auto vector = [&](const char* name, const QByteArray& vectorName, const QList<float>& values,
                            const QString& sentence, const ModelSpec& spec = compensatedSpec()) {
        file(name, vectors({{vectorName, values}}), sentence, spec);
    };
    const QString unknown = "is not a tensor of a compensation: these are layers.N. followed by attention_bias, "
                            "down_weight, head_scale, mlp_bias, neuron_scale or o_weight";
    rows.append({"compensation", "another file",
                 QString(besideIt) + ": is not the compensation of a.mask.json: its SHA-256 differs from the one in "
                                     "the mask. Put back the file that was written with the mask, or remove "
                                     "\"compensation\" from the mask",
                 [](const Scratch& folder) {
                     return readWith(folder, vectors({{"layers.0.mlp_bias", {1, 2, 3, 4, 5, 6}}}), compensatedSpec(),
                                     QByteArray(64, '0'));
                 }});
    file("no safetensors", "compensation",
         "states a header of 7022077625957707619 bytes, but 4 bytes follow. It is cut short or not a safetensors file");
    file("no tensors", vectors({}), "has no tensors");
    file("float64", vectors({{"layers.0.mlp_bias", {1, 2, 3, 4, 5, 6}}}, "F64"),
         "layers.0.mlp_bias: is stored as F64; expected F32, F16, BF16");
    file("three dimensions", safetensors::fileOf(safetensors::oneTensor("F32", "[1,2,3]", "[0,24]"), 24),
         "w: has the shape [1, 2, 3]; expected a vector or a matrix");
    vector("an unknown vector", "layers.0.up_bias", {1}, "layers.0.up_bias: " + unknown);
    vector("a weight without rows", "layers.0.o_weight", {1}, "layers.0.o_weight: is a vector; expected a matrix");
    vector("a vector without a layer", "mlp_bias", {1}, "mlp_bias: " + unknown);
    vector("a layer in words", "layers.one.mlp_bias", {1}, "layers.one.mlp_bias: " + unknown);
    vector("a negative layer", "layers.-1.mlp_bias", {1}, "layers.-1.mlp_bias: " + unknown);
    vector("a layer too many", "layers.4.mlp_bias", {1, 2, 3, 4, 5, 6}, "layers.4.mlp_bias: the model has 4 layers");
    vector("no numbers", "layers.0.mlp_bias", {}, "layers.0.mlp_bias: has no numbers");
    vector("a bias too short", "layers.0.mlp_bias", {1, 2, 3, 4, 5}, "layers.0.mlp_bias: expected 6 numbers, found 5");
    vector("factors of another number of heads", "layers.3.head_scale", {1, 2, 3},
           "layer 3: head_scale: expected 4 numbers, found 3");
    vector("factors of another number of neurons", "layers.1.neuron_scale", {1, 2},
           "layer 1: neuron_scale: expected 9 numbers, found 2");
    vector("NaN", "layers.0.attention_bias", {1, 2, 3, 4, 5, std::numeric_limits<float>::quiet_NaN()},
           "layer 0: attention_bias: has numbers that are not finite");
    vector("an infinite factor", "layers.0.head_scale", {1, 2, std::numeric_limits<float>::infinity()},
           "layer 0: head_scale: has numbers that are not finite");
    vector("a layer that shares its weights", "layers.2.head_scale", {1, 2, 3, 4},
           "layers.2.head_scale: layer 2 shares the weights of layer 0, which alone is named", tiedSpec());
    file("biases of two widths", vectors({{"layers.0.mlp_bias", {1, 2}}, {"layers.1.mlp_bias", {1, 2, 3}}}),
         "layers.1.mlp_bias: expected 2 numbers, found 3", raggedSpec());

    const auto session = [&](const char* name, const std::function<void(const hdf5::Handle&)>& work,
                             const QString& sentence) {
        rows.append({"session", name, "s.h5: /masks/0: " + sentence, [work](const Scratch& scratch) {
                         const std::string path = compensatedSession(scratch);
                         change(path, [&](const hdf5::Handle& opened) {
                             work(hdf5::openGroup(hdf5::openGroup(opened, "masks"), "0"));
                         });
                         return scratch.refusal([&] { readSession(path); });
                     }});
    };
    session(
        "a mask without its compensation", [](const hdf5::Handle& mask) { hdf5::remove(mask, "compensation"); },
        "compensation: is missing");
    session(
        "a compensation with another number",
        [](const hdf5::Handle& mask) {
            hdf5::writeFloats(hdf5::openGroup(mask, "compensation"), "layers.1.mlp_bias", std::vector<float>(64, 0.5F), 0);
        },
        "digest: is not that of the mask");
    session(
        "a compensation that is too short",
        [](const hdf5::Handle& mask) {
            hdf5::writeFloats(hdf5::openGroup(mask, "compensation"), "layers.1.head_scale", {1, 2}, 0);
        },
        "compensation: layer 1: head_scale: expected 6 numbers, found 2");
    session(
        "a compensation of texts",
        [](const hdf5::Handle& mask) {
            const hdf5::Handle group = hdf5::openGroup(mask, "compensation");
            hdf5::remove(group, "layers.1.mlp_bias");
            hdf5::writeTextList(group, "layers.1.mlp_bias", {"a"});
        },
        "compensation: layers.1.mlp_bias: does not hold floating-point numbers");
    return rows;
}

} // namespace secateur::test
