#include "tests/benchmarks/window_busy.h"

#include "tests/benchmarks/gui_timing.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/window/first_picture.h"
#include "widgets/window/main_window.h"

#include <QAbstractButton>
#include <QMessageBox>
#include <QTemporaryDir>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace secateur::test {

namespace {

constexpr double figureBar = 5;
constexpr double saveBar = 1;
constexpr double openBar = 2;
constexpr double quitBar = 2;

void print(const char* what, double taken, double bar) {
    fmt::print("  {:<44} {:6.2f} s, at most {}{}\n", what, taken, bar, verdict(taken, bar));
}

class Busy {
public:
    explicit Busy(const BusyWindow& parts)
        : m_parts(parts) {
        QObject::connect(&parts.jobs, &JobRunner::progressed, &m_context, [this] { ++m_reports; });
    }

    /// Starts to compute gradients, unless they are being computed, and waits until the model runs.
    void keepComputing() {
        Measurements& measurements = *m_parts.document.measurements();
        if (measurements.state("gnorm") == MetricState::computing)
            return;
        MeasureChoice whole;
        whole.tokens = 1 << 20;
        measurements.chooseMeasuring(whole, false);
        measurements.measure(parseMetricRequests("gradient"));
        m_reports = 0;
        runUntil([&] { return m_reports > 3; });
    }

    double firstFigure(const PruningMask& mask) {
        keepComputing();
        const LiveEvaluation& live = m_parts.live;
        const Watch watch;
        m_parts.document.masks()->replaceMask(mask, "edit");
        runUntil([&] { return live.shown() && !live.shown()->run.windows.empty(); });
        return watch.took().seconds;
    }

    double save() {
        keepComputing();
        DocumentFiles& files = *m_parts.document.files();
        const Watch watch;
        files.saveSession(m_folder.filePath("busy.h5"));
        runUntil([&] { return !files.isSaving(); });
        return watch.took().seconds;
    }

    /// Seconds from the click until the model is open, and until its first picture is on screen.
    std::pair<double, double> open(const QString& model) {
        keepComputing();
        double opened = 0;
        bool isShown = false;
        FirstPicture picture(&m_parts.document, m_parts.window.headsView());
        QObject::connect(&picture, &FirstPicture::shown, &picture, [&isShown] { isShown = true; });
        Watch watch;
        QObject::connect(&m_parts.document, &Document::opened, &picture, [&] { opened = watch.took().seconds; });
        m_parts.window.open(model);
        if (answer(QMessageBox::Discard))
            watch = Watch();
        runUntil([&] { return isShown; });
        return {opened, watch.took().seconds};
    }

    /// Seconds from the click on Save until the window is closed, and until all jobs are over.
    std::pair<double, double> quit() {
        save(); // so that the file's name is known
        m_parts.document.masks()->duplicateMask();
        keepComputing();
        m_parts.window.close();
        const Watch watch;
        answer(QMessageBox::Save);
        runUntil([&] { return !m_parts.window.isVisible(); });
        const double closed = watch.took().seconds;
        m_parts.jobs.cancelAll(); // as at the end of the program
        runUntil([&] { return m_parts.jobs.isIdle(); });
        return {closed, watch.took().seconds};
    }

private:
    /// Answers the question whether to save. @returns whether it was asked
    bool answer(QMessageBox::StandardButton button) {
        auto* question = m_parts.window.findChild<QMessageBox*>("unsaved");
        if (question)
            question->button(button)->click();
        return question != nullptr;
    }

    BusyWindow m_parts;
    QObject m_context;
    int m_reports = 0;
    QTemporaryDir m_folder;
};

} // namespace

void timeBusy(const BusyWindow& parts, const QString& other, int edits,
              const std::function<PruningMask(int layer)>& drawn) {
    fmt::print("busy: while gradients are computed\n");
    Busy busy(parts);
    std::vector<double> figures;
    const int layers = parts.document.spec().layerCount();
    for (int i = 0; i < edits; ++i) {
        figures.push_back(busy.firstFigure(drawn(i * (layers - 1) / std::max(edits - 1, 1))));
        fmt::print("    edit {:2}: {:.2f} s\n", i, figures.back());
    }
    print("first figure of an edit, the slowest", *std::ranges::max_element(figures), figureBar);
    print("save", busy.save(), saveBar);
    const auto [opened, shown] = busy.open(other);
    print("open another model", opened, openBar);
    print("open another model, until its first picture", shown, openBar);
    const auto [closed, over] = busy.quit();
    print("save and quit, until the window is closed", closed, quitBar);
    print("save and quit, until all jobs are over", over, quitBar);
    fmt::print("\n");
}

} // namespace secateur::test
