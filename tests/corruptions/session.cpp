#include "backends/session/session_hdf5.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/sessions.h"

#include <hdf5.h>

#include <limits>

namespace secateur::test {

namespace {

using Change = std::function<void(const hdf5::Handle&)>;

QString said(const Scratch& scratch, const std::string& path) {
    return scratch.refusal([&] { readSession(path); });
}

std::string whole(const Scratch& scratch) {
    std::string path = scratch.path("s.h5").toStdString();
    writeSession(raggedSession(), path);
    return path;
}

Change inModel(const std::function<void(const hdf5::Handle&)>& work) {
    return [work](const hdf5::Handle& file) { work(hdf5::openGroup(file, "model")); };
}

Change inMetric(const std::function<void(const hdf5::Handle&)>& work) {
    return [work](const hdf5::Handle& file) { work(hdf5::openGroup(hdf5::openGroup(file, "metrics"), "gate_norm")); };
}

Change metricText(const char* name, const char* value) {
    return inMetric([=](const hdf5::Handle& group) { hdf5::writeText(hdf5::openDataset(group, "0"), name, value); });
}

/// Replaces a result's values by a dataset of `rows` numbers of the given type, stored in the given layout.
Change otherNumbers(hid_t type, const std::function<void(hid_t creation)>& layout, hsize_t rows = 3) {
    return inMetric([=](const hdf5::Handle& group) {
        hdf5::remove(group, "0");
        const hdf5::Handle space(H5Screate_simple(1, &rows, nullptr), H5Sclose);
        const hdf5::Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        layout(creation.id());
        const hdf5::Handle dataset(
            H5Dcreate2(group.id(), "0", type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT), H5Dclose);
        hdf5::writeInteger(dataset, "order", 1);
        hdf5::writeText(dataset, "result_id", "gate_norm");
        hdf5::writeText(dataset, "scope", "layer");
    });
}

void addChanged(Corruptions& rows, const char* name, const Change& work, const char* sentence) {
    rows.append({"session", name, QString("s.h5: ") + sentence, [work](const Scratch& scratch) {
                     const std::string path = whole(scratch);
                     change(path, work);
                     return said(scratch, path);
                 }});
}

void addWrongValues(Corruptions& rows) {
    const auto row = [&](const char* name, const Change& work, const char* sentence) {
        addChanged(rows, name, work, sentence);
    };
    row(
        "another program's file", [](const hdf5::Handle& file) { hdf5::writeText(file, "format", "keras"); },
        "is an HDF5 file, but not a Secateur session");
    row(
        "format of another type", [](const hdf5::Handle& file) { hdf5::writeInteger(file, "format", 3); },
        "is an HDF5 file, but not a Secateur session");
    row(
        "newer", [](const hdf5::Handle& file) { hdf5::writeInteger(file, "version", 99); },
        "is a session of version 99; this program reads up to version 5. Open it with a newer "
        "Secateur");
    row(
        "no model", [](const hdf5::Handle& file) { hdf5::remove(file, "model"); }, "is a session without its model");
    row("arrays shorter than the model",
        inModel([](const hdf5::Handle& group) { hdf5::writeInteger(group, "layers", 4); }),
        "/model: heads: should hold a value for each of 4 layers and holds 3");
    row("absurd layers", inModel([](const hdf5::Handle& group) { hdf5::writeInteger(group, "layers", 1LL << 40); }),
        "/model: layers: cannot be 1099511627776");
    row("negative heads", inModel([](const hdf5::Handle& group) {
            hdf5::writeIntegers(group, "heads", {8, -6, 0});
        }),
        "/model: heads: cannot be -6");
    row("broken groups", inModel([](const hdf5::Handle& group) {
            hdf5::writeIntegers(group, "kv_heads", {3, 3, 0});
        }),
        "/model: layers: layer 0 has 8 heads, not a multiple of its 3 KV heads");
    row("unknown attention", inModel([](const hdf5::Handle& group) {
            hdf5::writeTexts(group, "attention", {"full", "odd", "none"});
        }),
        "/model: attention: holds the unknown value \"odd\"");
    row("text for a number", inModel([](const hdf5::Handle& group) { hdf5::writeText(group, "hidden", "64"); }),
        "/model: hidden: has another type than a session's");
    row("two values for one", inModel([](const hdf5::Handle& group) {
            hdf5::writeIntegers(group, "hidden", {1, 2});
        }),
        "/model: hidden: should hold one value and holds 2");
    row("a dataset that says nothing of itself",
        inMetric([](const hdf5::Handle& group) { hdf5::writeMatrix(group, "1", Matrix(2, 1, 0.5), true); }),
        "/metrics/gate_norm/1: order: is missing");
    row("another shape", inModel([](const hdf5::Handle& group) {
            for (const char* name : {"heads", "kv_heads"})
                hdf5::writeIntegers(group, name, {2, 2, 2});
        }),
        "/metrics/gate_norm_group.fold_norm-true/0: should be 3 x 2 as its model has them");
    row("unknown scope", metricText("scope", "token"),
        "/metrics/gate_norm/0: scope: holds the unknown value \"token\". Open it with "
        "a newer Secateur");
    row("another metric's scope", metricText("scope", "head"),
        "/metrics/gate_norm/0: scope: is \"head\", and gate_norm is one of each layer");
    for (const double error : {-0.5, std::numeric_limits<double>::infinity()})
        row(error < 0 ? "a negative standard error" : "an infinite standard error",
            inMetric([=](const hdf5::Handle& group) {
                hdf5::writeMatrix(group, "0.standard_error", Matrix(3, 1, error), true);
            }),
            error < 0 ? "/metrics/gate_norm/0: standard error: cannot be -0.5"
                      : "/metrics/gate_norm/0: standard error: cannot be inf");
    row("malformed result id", metricText("result_id", "gate_norm:fold"),
        "/metrics/gate_norm/0: gate_norm:fold: option \"fold\" is not of the form key=value");
    row("a negative parameter count of layers",
        inModel([](const hdf5::Handle& group) { hdf5::writeInteger(group, "layers", -1); }),
        "/model: layers: cannot be -1");
    row("a result id that is a number",
        inMetric([](const hdf5::Handle& group) { hdf5::writeInteger(hdf5::openDataset(group, "0"), "result_id", 7); }),
        "/metrics/gate_norm/0: result_id: has another type than a session's");
    row(
        "a dataset for a group",
        [](const hdf5::Handle& file) {
            hdf5::remove(file, "model");
            hdf5::writeMatrix(file, "model", Matrix(1, 1, 0.5), true);
        },
        "model: cannot be read. The file is damaged");
}

void addWaysOut(Corruptions& rows) {
    const auto row = [&](const char* name, const Change& work, const char* sentence) {
        addChanged(rows, name, work, sentence);
    };
    row(
        "a soft link for the model",
        [](const hdf5::Handle& file) {
            hdf5::hardLink(file, "model", "other");
            hdf5::remove(file, "model");
            H5Lcreate_soft("/other", file.id(), "model", H5P_DEFAULT, H5P_DEFAULT);
        },
        "model: is a soft or external link, which no session has");
    row(
        "a link to itself",
        [](const hdf5::Handle& file) {
            hdf5::remove(file, "metrics");
            H5Lcreate_soft("/metrics", file.id(), "metrics", H5P_DEFAULT, H5P_DEFAULT);
        },
        "metrics: is a soft or external link, which no session has");
    row(
        "a link to another file",
        [](const hdf5::Handle& file) {
            hdf5::remove(file, "metrics");
            H5Lcreate_external("/etc/passwd", "/metrics", file.id(), "metrics", H5P_DEFAULT, H5P_DEFAULT);
        },
        "metrics: is a soft or external link, which no session has");
    row("a result that is a link", inMetric([](const hdf5::Handle& group) {
            H5Lcreate_external("other.h5", "/0", group.id(), "1", H5P_DEFAULT, H5P_DEFAULT);
        }),
        "/metrics/gate_norm/1: 1: is a soft or external link, which no session has");
    row(
        "a group that holds itself",
        [](const hdf5::Handle& file) {
            const hdf5::Handle metrics = hdf5::openGroup(file, "metrics");
            H5Lcreate_hard(file.id(), "metrics", metrics.id(), "0", H5P_DEFAULT, H5P_DEFAULT);
        },
        "/metrics/0/0: 0: cannot be read. The file is damaged");
    row("numbers in another file",
        otherNumbers(H5T_IEEE_F64LE, [](hid_t creation) { H5Pset_external(creation, "/etc/passwd", 0, 24); }),
        "/metrics/gate_norm/0: keeps its numbers in another file, which no session does");
    row("numbers of another dataset",
        otherNumbers(H5T_IEEE_F64LE,
                     [](hid_t creation) {
                         const hsize_t extent = 3;
                         const hdf5::Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
                         H5Pset_virtual(creation, space.id(), "other.h5", "/numbers", space.id());
                     }),
        "/metrics/gate_norm/0: keeps its numbers in another file, which no session does");
    row("whole numbers", otherNumbers(H5T_STD_I64LE, [](hid_t) {}),
        "/metrics/gate_norm/0: does not hold floating-point numbers");
    row("numbers that are not there", otherNumbers(H5T_IEEE_F64LE, [](hid_t) {}),
        "/metrics/gate_norm/0: claims more numbers than the file holds");
    row("2^40 layers of numbers",
        otherNumbers(
            H5T_IEEE_F64LE, [](hid_t) {}, hsize_t{1} << 40),
        "/metrics/gate_norm/0: should be 3 x 1 as its model has them");
    row("compressed numbers that are not there",
        otherNumbers(H5T_IEEE_F64LE,
                     [](hid_t creation) {
                         const hsize_t chunk = 3;
                         H5Pset_chunk(creation, 1, &chunk);
                         H5Pset_deflate(creation, 9);
                     }),
        "/metrics/gate_norm/0: claims more numbers than the file holds");
}

void addDamage(Corruptions& rows) {
    const auto row = [&](const char* name, const char* sentence, auto damage) {
        rows.append({"session", name, QString("s.h5: ") + sentence, [damage](const Scratch& scratch) {
                         QByteArray bytes = contents(whole(scratch));
                         damage(bytes);
                         return said(scratch, scratch.write("s.h5", bytes));
                     }});
    };
    row("one byte changed", "is damaged: its bytes do not match its checksum. Copy it again from where it came from",
        [](QByteArray& bytes) { bytes[1000] = static_cast<char>(bytes[1000] ^ 1); });
    row("cut short", "cannot be opened as HDF5: it is cut short or damaged",
        [](QByteArray& bytes) { bytes.truncate(bytes.size() / 2); });
    row("another file's beginning", "is not an HDF5 file", [](QByteArray& bytes) {
        bytes.chop(sealBytes);
        bytes[0] = 'P';
    });
    row("the signature only", "cannot be opened as HDF5: it is cut short or damaged",
        [](QByteArray& bytes) { bytes.truncate(8); });
    row("nothing but a checksum",
        "is damaged: its bytes do not match its checksum. Copy it again from where it came from",
        [](QByteArray& bytes) { bytes = bytes.last(sealBytes); });
}

} // namespace

Corruptions sessionCorruptions() {
    Corruptions rows;
    addWrongValues(rows);
    addWaysOut(rows);
    addDamage(rows);
    return rows;
}

} // namespace secateur::test
