// Fuzz target: a session file, read in the same way as by the program. A file without a checksum is passed to HDF5 in a
// child process only.

#include "backends/session/session_hdf5.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

namespace {

/// Checks that indices of windows, pages and chosen options are in range, which the window's views rely on.
void checkRuns(const Evaluation& evaluation) {
    if (evaluation.text) {
        const Perplexity& run = evaluation.text->perplexity;
        for (const WindowLoss& window : run.windows)
            if (window.tokens < 1 || window.index >= evaluation.text->windows ||
                (!run.pages.empty() && window.page >= run.pages.size()))
                std::abort();
    }
    for (const TaskEvaluation& task : evaluation.tasks)
        for (const AnsweredQuestion& question : task.run.questions)
            if (question.scores.empty() || question.byTotal >= question.scores.size())
                std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        const auto file = fuzz::fileOf("session.h5", data, size);
        const Session session = readSession(*file);
        for (const MetricResult& result : session.results) {
            if (!result.request.info || result.values.rows() != session.model.spec.layers.size())
                std::abort();
        }
        for (const SessionMask& mask : session.masks)
            mask.record.mask.checkFits(session.model.spec);
        for (const Evaluation& evaluation : session.evaluations)
            checkRuns(evaluation);
    });
}
