// Sessions with damage in their curves.

#include "backends/session/hdf5_lists.h"
#include "backends/session/session_hdf5.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/evaluated_session.h"

#include <hdf5.h>

#include <limits>
#include <string>
#include <vector>

namespace secateur::test {

namespace {

using Change = std::function<void(const hdf5::Handle& group)>;

/// Replaces a list of whole numbers, numbers or texts.
Change wholes(const char* name, const std::vector<std::int64_t>& values) {
    return [=](const hdf5::Handle& group) { hdf5::writeIntegerList(group, name, values); };
}

Change numbers(const char* name, const std::vector<double>& values) {
    return [=](const hdf5::Handle& group) { hdf5::writeNumberList(group, name, values); };
}

Change texts(const char* name, const std::vector<std::string>& all) {
    return [=](const hdf5::Handle& group) { hdf5::writeTextList(group, name, all); };
}

Change attribute(const char* name, std::int64_t value) {
    return [=](const hdf5::Handle& group) { hdf5::writeInteger(group, name, value); };
}

Change attribute(const char* name, const char* text) {
    return [=](const hdf5::Handle& group) { hdf5::writeText(group, name, text); };
}

} // namespace

Corruptions sessionCurveCorruptions() {
    Corruptions rows;
    const auto at = [&](const std::string& place, const char* name, const Change& work, const QString& sentence) {
        rows.append({"session", name, QString::fromStdString("s.h5: /curves/" + place + ": ") + sentence,
                     [work, place](const Scratch& scratch) {
                         const std::string path = scratch.path("s.h5").toStdString();
                         writeSession(evaluatedSession(), path);
                         change(path, [&](const hdf5::Handle& file) {
                             work(hdf5::openGroup(hdf5::openGroup(file, "curves"), place));
                         });
                         return scratch.refusal([&] { readSession(path); });
                     }});
    };
    const auto row = [&](const char* name, const Change& work, const QString& sentence) {
        at("gate_norm/0", name, work, sentence);
    };
    const double infinite = std::numeric_limits<double>::infinity();
    row("fewer losses than points", numbers("loss_nats", {1.0, 2.0}), "loss_nats: should hold 3 values and holds 2");
    row("an infinite loss of a point", numbers("loss_nats", {1.0, infinite, 2.0}), "loss_nats: cannot be inf");
    row("seconds below 0", numbers("choosing_seconds", {1.0, -1.0, 2.0}), "choosing_seconds: cannot be -1");
    row("a budget that is none", texts("budget", {"1.5", "much", "3"}),
        "budget: \"much\" is no budget");
    row("a point twice", texts("budget", {"2", "2", "kv:99%"}),
        "budget: points 0 and 1 have the same budget, repetition and seed");
    row("a mask of another point", wholes("mask", {-1, 1, 1}),
        "mask: 1 is not the number of the point's mask");
    row("a mask that is not there", wholes("mask", {-1, 0, 9}),
        "mask: 9 is not the number of the point's mask");
    row("a repetition below 0", wholes("repetition", {0, -1, 0}), "repetition: cannot be -1");
    row("heads below 0", wholes("removed_heads", {0, -1, 0}), "removed_heads: cannot be -1");
    row("budgets as numbers", numbers("budget", {1.0, 2.0, 3.0}), "budget: does not hold texts");
    row(
        "a curve without errors", [](const hdf5::Handle& group) { hdf5::remove(group, "error"); },
        "error: is missing");
    row("a curve of another strategy", attribute("result_id", "amp"), "result_id: \"amp\" does not belong to this group");
    row("curves of an unknown protocol", attribute("protocol", "line_ppl"),
        "line_ppl: unknown protocol; the known ones are token_ppl, word_ppl");
    row("positions below 0", attribute("positions", -1), "positions: cannot be -1");
    row("an absurd window of curves", attribute("window", 1LL << 40), "window: cannot be 1099511627776");
    at("random_head.per_layer-true/0", "curves of one number on two texts", attribute("scored_digest", "sha256:feed"),
       "was measured on other texts or tasks than the other curves of number 0");
    at("dense/0", "a dense model of no point", texts("budget", {}),
       "reached: should hold 0 values and holds 1");
    return rows;
}

} // namespace secateur::test
