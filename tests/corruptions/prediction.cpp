#include "analysis/prediction/prediction.h"
#include "backends/session/hdf5_lists.h"
#include "backends/session/session_hdf5.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/sessions.h"

#include <hdf5.h>

namespace secateur::test {

namespace {

using Change = std::function<void(const hdf5::Handle& group)>;

/// Writes a valid session with a prediction of two units and two samples. Returns its path.
std::string whole(const Scratch& scratch) {
    Session session = raggedSession();
    const std::vector<LayerSpec>& layers = session.model.spec.layers;
    auto basis = std::make_shared<PredictionBasis>();
    basis->effects.gates = {{Gate::Of::head, 0, 1}, {Gate::Of::block, 1}};
    basis->effects.slopes = {0.1, 0.2};
    basis->effects.factors = Matrix(2, 2, 0.5);
    const std::size_t neurons = columnsFor(Scope::neuron, session.model.spec);
    basis->effects.neuronSlopes = Matrix(layers.size(), neurons, 0.1);
    basis->effects.neuronFisher = Matrix(layers.size(), neurons, 0.1);
    session.prediction = std::move(basis);
    std::string path = scratch.path("s.h5").toStdString();
    writeSession(session, path);
    return path;
}

} // namespace

Corruptions predictionCorruptions() {
    Corruptions rows;
    const auto row = [&](const char* name, const Change& work, const QString& sentence) {
        rows.append({"session", name, "s.h5: /prediction: " + sentence, [work](const Scratch& scratch) {
                         const std::string path = whole(scratch);
                         change(path, [&](const hdf5::Handle& file) { work(hdf5::openGroup(file, "prediction")); });
                         return scratch.refusal([&] { readSession(path); });
                     }});
    };
    const auto unit = [&](const char* name, const char* text) {
        row(
            name,
            [=](const hdf5::Handle& group) {
                hdf5::remove(group, "units");
                hdf5::writeTextList(group, "units", {"head 0 1", text});
            },
            QString("units: \"%1\" is not a unit of this model").arg(text));
    };
    unit("a prediction for a head that is not there", "head 0 64");
    unit("a prediction for a layer that is not there", "block 3");
    unit("a prediction for a head of no layer", "head 1");
    unit("a prediction for an unknown kind", "neuron 0");
    unit("a prediction for a layer below 0", "mlp -1");
    row(
        "a slope too few",
        [](const hdf5::Handle& group) {
            hdf5::remove(group, "gradient");
            hdf5::writeNumberList(group, "gradient", {0.1});
        },
        "gradient: 1 values do not match 2 units");
    row(
        "more samples than the file holds",
        [](const hdf5::Handle& group) { hdf5::writeInteger(group, "samples", 1LL << 40); },
        "fisher: should be 1099511627776 x 2 as its model has them");
    row(
        "samples below 0", [](const hdf5::Handle& group) { hdf5::writeInteger(group, "samples", -1); },
        "samples: cannot be -1");
    row(
        "a prediction without its text", [](const hdf5::Handle& group) { H5Adelete(group.id(), "text"); },
        "text: is missing");
    return rows;
}

} // namespace secateur::test
