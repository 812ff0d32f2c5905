// Sessions with damage in their masks or evaluations.

#include "backends/session/hdf5_lists.h"
#include "backends/session/session_hdf5.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/evaluated_session.h"

#include <hdf5.h>

#include <limits>

namespace secateur::test {

namespace {

using Change = std::function<void(const hdf5::Handle&)>;

/// Applies `work` to the HDF5 group at the path `way`.
Change in(const QStringList& way, const Change& work) {
    if (way.isEmpty())
        return work;
    return [=](const hdf5::Handle& group) { in(way.mid(1), work)(hdf5::openGroup(group, way.front().toStdString())); };
}

void addChanged(Corruptions& rows, const char* name, const QStringList& way, const Change& work, const char* sentence) {
    rows.append({"session", name, QString("s.h5: /") + way.join('/') + ": " + sentence, [=](const Scratch& scratch) {
                     const std::string path = scratch.path("s.h5").toStdString();
                     writeSession(evaluatedSession(), path);
                     change(path, in(way, work));
                     return scratch.refusal([&] { readSession(path); });
                 }});
}

Change text(const char* name, const char* value) {
    return [=](const hdf5::Handle& group) { hdf5::writeText(group, name, value); };
}

Change integer(const char* name, std::int64_t value) {
    return [=](const hdf5::Handle& group) { hdf5::writeInteger(group, name, value); };
}

Change integers(const char* name, const std::vector<std::int64_t>& values) {
    return [=](const hdf5::Handle& group) { hdf5::writeIntegerList(group, name, values); };
}

Change numbers(const char* name, const std::vector<double>& values) {
    return [=](const hdf5::Handle& group) { hdf5::writeNumberList(group, name, values); };
}

/// Replaces a list by a dataset that states `cells` elements but contains none.
Change claimed(const char* name, hid_t type, hsize_t cells) {
    return [=](const hdf5::Handle& group) {
        hdf5::remove(group, name);
        const hdf5::Handle space(H5Screate_simple(1, &cells, nullptr), H5Sclose);
        const hdf5::Handle dataset(
            H5Dcreate2(group.id(), name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    };
}

void addMasks(Corruptions& rows) {
    const auto row = [&](const char* name, const Change& work, const char* sentence) {
        addChanged(rows, name, {"masks", "0"}, work, sentence);
    };
    row(
        "a mask without a name", [](const hdf5::Handle& group) { H5Adelete(group.id(), "name"); }, "name: is missing");
    row("a mask that is none", text("mask", "{}"), "mask: is not a mask: it has no \"secateur_mask\"");
    row("a mask of another model",
        text("mask", R"({"secateur_mask":1,"model":{"architecture":"gpt2","structure":"1x1/1x1+1"},"layers":[]})"),
        "mask: model: is made for gpt2 1x1/1x1+1, but the model is llama 1x8/2x12+32,1x6/3x12+24,1x0/0x0+8. A mask "
        "fits only models of its own structure");
    row("another mask's digest", text("digest", "sha256:feed"), "digest: is not that of the mask");
    addChanged(rows, "two masks of one name", {"masks", "1"}, text("name", "cut.json"),
               "name: \"cut.json\" is also the name of another mask");
}

void addTexts(Corruptions& rows) {
    const auto row = [&](const char* name, const Change& work, const char* sentence) {
        addChanged(rows, name, {"evaluations", "0", "text"}, work, sentence);
    };
    row("an unknown protocol", text("protocol", "line_ppl"),
        "line_ppl: unknown protocol; the known ones are token_ppl, word_ppl");
    row("an absurd window", integer("window", 1LL << 40), "window: cannot be 1099511627776");
    row("losses of no window", numbers("window_nats", {}), "window_nats: holds no window");
    row("fewer losses than windows", numbers("window_nats", {std::numeric_limits<double>::quiet_NaN()}),
        "window_tokens: should hold 1 values and holds 10");
    row("fewer token counts than losses", integers("window_tokens", {15, 15}),
        "window_tokens: should hold 10 values and holds 2");
    row("windows without tokens", integers("window_tokens", {15, 0, 15, 15, 15, 15, 15, 15, 15, 15}),
        "window_tokens: cannot be 0 at 1");
    row("a window twice", integers("window_index", {0, 1, 1, 3, 4, 5, 6, 7, 8, 9}), "window_index: cannot be 1 at 2");
    row("a window behind the text", integers("window_index", {0, 1, 2, 3, 4, 5, 6, 7, 8, 10}),
        "window_index: cannot be 10 at 9");
    row("an infinite loss",
        numbers("window_nats", {1, 2, 3, 4, std::numeric_limits<double>::infinity(), 6, 7, 8, 9, 10}),
        "window_nats: cannot be inf at 4");
    row("losses as whole numbers", integers("window_nats", std::vector<std::int64_t>(10, 1)),
        "window_nats: does not hold floating-point numbers");
    row("losses that are not there", claimed("window_nats", H5T_IEEE_F64LE, hsize_t{1} << 20),
        "window_nats: claims more numbers than the file holds");
    row("2^40 losses", claimed("window_nats", H5T_IEEE_F64LE, hsize_t{1} << 40),
        "window_nats: has 1099511627776 cells, more than any session");
    row(
        "losses in a table",
        [](const hdf5::Handle& group) { hdf5::writeMatrix(group, "window_nats", Matrix(5, 2, 1), false); },
        "window_nats: is not a list");
    addChanged(rows, "a page that is not there", {"evaluations", "3", "text"},
               integers("window_page", {0, 0, 1, 1, 2, 3}), "window_page: cannot be 3 at 5");
    addChanged(rows, "pages of no words", {"evaluations", "3", "text"}, integers("page_words", {20, -1, 22}),
               "page_words: cannot be -1 at 1");
}

void addTasks(Corruptions& rows) {
    const auto choices = [&](const char* name, const Change& work, const char* sentence) {
        addChanged(rows, name, {"evaluations", "0", "tasks/0"}, work, sentence);
    };
    choices("an unknown format", text("format", "riddles"),
            "Unknown task format \"riddles\". The known ones are boolq, rte, hellaswag, winogrande, arc, openbookqa, "
            "piqa, mmlu, generic, lambada, generate, classification");
    choices("an unknown choice of examples", text("shot_choice", "best"),
            "shot_choice: holds the unknown value \"best\". Open it with a newer Secateur");
    choices("more options than scores", integers("options", {3, 3, 2}),
            "options: do not add up to the 7 stored scores");
    choices("fewer options than scores", integers("options", {3, 1, 2}),
            "options: do not add up to the 7 stored scores");
    choices("a question without options", integers("options", {3, 0, 4}),
            "options: do not add up to the 7 stored scores");
    choices("an option that is not there", integers("answer", {1, 2, 0}), "line 4: names option 2 of 2");
    choices("an answer too few", integers("answer", {1, 1}), "answer: should hold 3 values and holds 2");
    choices("a score that is no number", numbers("option_nats", {-1, -2, -3, std::nan(""), -1, -2, -3}),
            "option_nats: cannot be nan");
    choices("subjects as numbers", integers("subject", {1, 2, 3}), "subject: does not hold texts");
    choices(
        "no questions",
        [](const hdf5::Handle& group) {
            for (const char* name :
                 {"line", "gold", "answer", "answer_norm", "answer_bytes", "options", "option_is_greedy"})
                hdf5::writeIntegerList(group, name, {});
            hdf5::writeNumberList(group, "option_nats", {});
            hdf5::writeTextList(group, "subject", {});
        },
        "No questions were answered");
    addChanged(rows, "more than a right answer", {"evaluations", "0", "tasks/1"}, numbers("f1", {1, 2}),
               "f1: cannot be 2");
}

void addTimes(Corruptions& rows) {
    const auto row = [&](const char* name, const QStringList& way, const Change& work, const char* sentence) {
        addChanged(rows, name, QStringList{"evaluations", "1"} + way, work, sentence);
    };
    row("times of no tokens", {"latency"}, integer("new_tokens", 0), "new_tokens: cannot be 0");
    row("times without runs", {"latency"}, numbers("run_seconds", {}), "run_seconds: holds no run");
    row("a run that took no time", {"latency"}, numbers("run_seconds", {0.5, 0}), "run_seconds: cannot be 0");
    row("a run without end", {"prefills", "1"}, numbers("reference_seconds", {std::numeric_limits<double>::infinity()}),
        "reference_seconds: cannot be inf");
    row("layers without an MLP's time", {"prefills", "0"}, numbers("run_mlp_seconds", {1}),
        "run_mlp_seconds: should hold 3 values and holds 1");
    row("an unknown end of a text", {"continuations", "0"}, text("end", "tired"),
        "end: holds the unknown value \"tired\". Open it with a newer Secateur");
    row("a token below 0", {"continuations", "0"}, integers("tokens", {5, -1}), "tokens: cannot be -1");
}

} // namespace

Corruptions sessionRunCorruptions() {
    Corruptions rows;
    addMasks(rows);
    addTexts(rows);
    addTasks(rows);
    addTimes(rows);
    return rows;
}

} // namespace secateur::test
