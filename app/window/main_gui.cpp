#include "app/reference/window_options.h"
#include "app/window/window_services.h"
#include "backends/base/blas_kernels.h"
#include "backends/base/crash_report.h"
#include "backends/base/runtime.h"
#include "backends/remote/remote_services.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/evaluations/extra_items.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/messages.h"
#include "widgets/language/translations.h"
#include "widgets/window/first_picture.h"
#include "widgets/window/guarded_application.h"
#include "widgets/window/main_window.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <QCommandLineParser>
#include <QElapsedTimer>
#include <QIcon>
#include <QPointer>
#include <QScreen>
#include <QTimer>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace secateur;

/// Passes log lines on to the window's log panel. Thread-safe.
class PanelSink : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit PanelSink(LogPanel* panel)
        : m_panel(panel) {}

protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        const auto level = spdlog::level::to_string_view(message.level);
        const QString levelText = QString::fromUtf8(level.data(), static_cast<qsizetype>(level.size()));
        const QString text = QString::fromUtf8(message.payload.data(), static_cast<qsizetype>(message.payload.size()));
        QMetaObject::invokeMethod(qApp, [panel = m_panel, levelText, text] {
            if (panel)
                panel->append(levelText, text);
        });
    }
    void flush_() override {}

private:
    QPointer<LogPanel> m_panel; ///< used on the GUI thread only
};

std::atomic<QtMessageHandler> printQtMessage = nullptr; // other threads print too

/// Notes Qt's warnings for crash reports, and prints them as before.
void noteQtMessage(QtMsgType type, const QMessageLogContext& context, const QString& text) {
    noteLogLine(type == QtDebugMsg || type == QtInfoMsg ? "info" : "warning", "Qt: " + text.toStdString());
    if (const QtMessageHandler print = printQtMessage)
        print(type, context, text);
}

/// Passes on what a crash report says of the window.
void noteForReports(const Document& document, const MainWindow& window) {
    printQtMessage = qInstallMessageHandler(noteQtMessage);
    QObject::connect(window.log(), &LogPanel::added, window.log(), [](const QString& level, const QString& text) {
        noteLogLine(level.toStdString(), text.toStdString());
    });
    QObject::connect(&document, &Document::opened, &document, [&document] {
        const QString session = document.sessionPath();
        noteOpened(session.isEmpty() ? document.session().model.path : session.toStdString());
    });
}

struct Arguments {
    QString path;
    QString mask;
    QString screenshot;
    QString theme;
    QString tab;
    QString tour;
    int tourStep = 1;
    QStringList head; ///< indices of the layer and the head to select
    QString reference;
    QString language;
    QString serveWith;             ///< command that starts the server of `path`; empty = none
    QStringList show;              ///< result ids
    std::optional<QString> tensor; ///< name; empty = the first
    QString plane;
    QString tensorsOf;   ///< checkpoint whose tensors are compared
    QStringList compare; ///< key of a measurement; then a, b, both or difference
    QSize size;
    QString filter;
    ExtraChoice extra;
};

/// An option of the table, which the man page and completions list too.
QCommandLineOption listed(std::string_view name) {
    const auto row = std::find_if(windowOptions.begin(), windowOptions.end(),
                                  [&](const auto& option) { return option.name == name; });
    return QCommandLineOption(row->name, row->description, row->value);
}

QCommandLineOption hidden(const QString& name, const QString& value) {
    QCommandLineOption option(name, {}, value);
    option.setFlags(QCommandLineOption::HiddenFromHelp);
    return option;
}

Arguments parse(const QCoreApplication& application) {
    QCommandLineParser parser;
    parser.setApplicationDescription(windowSummary);
    parser.addPositionalArgument("MODEL", windowArgument, "[MODEL]");
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption mask = listed("mask");
    const QCommandLineOption filter = listed("filter");
    const QCommandLineOption reference = listed("reference");
    const QCommandLineOption language = listed("language");
    const QCommandLineOption serveWith = listed("serve-with");
    // Hidden options for reproducible screenshots in documentation.
    const QCommandLineOption screenshot = hidden("screenshot", "FILE");
    const QCommandLineOption theme = hidden("theme", "light|dark");
    const QCommandLineOption tab =
        hidden("tab", "heads|layers|neurons|attention|sheet|scatter|gradients|curves|gallery|weights|norms");
    const QCommandLineOption tour = hidden("tour", "look|cut|compare");
    const QCommandLineOption tourStep = hidden("tour-step", "N");
    const QCommandLineOption select = hidden("select", "LAYER.HEAD");
    const QCommandLineOption size = hidden("size", "WxH");
    const QCommandLineOption task = hidden("task", "FILE");
    const QCommandLineOption prompt = hidden("prompt", "TEXT");
    const QCommandLineOption speed = hidden("speed", {});
    const QCommandLineOption show = hidden("show", "RESULT,RESULT");
    const QCommandLineOption compare = hidden("compare", "KEY:a|b|both|difference");
    const QCommandLineOption tensor = hidden("tensor", "NAME");
    const QCommandLineOption plane = hidden("plane", "values|scales|minima|other|difference");
    const QCommandLineOption tensorsOf = hidden("tensors-of", "FILE");
    parser.addOptions({tensor, plane, tensorsOf});
    parser.addOptions({mask, filter, reference, language, serveWith, show, compare, screenshot, theme, tab, tour,
                       tourStep, select, size, task, prompt, speed});
    parser.process(application);
    if (parser.positionalArguments().size() > 1)
        parser.showHelp(2);
    Arguments arguments;
    arguments.path = parser.positionalArguments().value(0);
    arguments.mask = parser.value(mask);
    arguments.filter = parser.value(filter);
    arguments.reference = parser.value(reference);
    arguments.language = parser.value(language);
    arguments.serveWith = parser.value(serveWith);
    if (!arguments.serveWith.isEmpty() && !arguments.path.isEmpty())
        arguments.path = QString::fromStdString(servedPath(arguments.path.toStdString()));
    arguments.show = parser.value(show).split(',', Qt::SkipEmptyParts);
    if (parser.isSet(tensor))
        arguments.tensor = parser.value(tensor);
    arguments.plane = parser.value(plane);
    arguments.tensorsOf = parser.value(tensorsOf);
    arguments.compare = parser.value(compare).split(':');
    arguments.screenshot = parser.value(screenshot);
    arguments.theme = parser.value(theme);
    arguments.tab = parser.value(tab);
    arguments.tour = parser.value(tour);
    arguments.tourStep = parser.value(tourStep).toInt();
    arguments.head = parser.value(select).split('.');
    if (parser.isSet(task)) {
        TaskRequest request;
        request.path = parser.value(task).toStdString();
        request.limit = 100;
        arguments.extra.tasks = {std::move(request)};
    }
    if (parser.isSet(prompt)) {
        arguments.extra.prompt.emplace();
        arguments.extra.prompt->text = parser.value(prompt).toStdString();
        arguments.extra.prompt->newTokens = 48;
    }
    if (parser.isSet(speed))
        arguments.extra.speed.emplace();
    const QStringList sides = parser.value(size).split('x');
    if (sides.size() == 2)
        arguments.size = {sides[0].toInt(), sides[1].toInt()};
    return arguments;
}

/// Waits until no job has run for a moment, saves a screenshot, and ends the program.
void takeScreenshot(MainWindow* window, const JobRunner* jobs, const QString& file) {
    constexpr int settleMs = 400;
    auto* timer = new QTimer(window);
    timer->setInterval(settleMs);
    QObject::connect(timer, &QTimer::timeout, window, [window, jobs, file, timer, wasIdle = false]() mutable {
        if (!std::exchange(wasIdle, jobs->isIdle()) || !wasIdle)
            return;
        timer->stop();
        const bool saved = window->grab().save(file);
        if (!saved)
            spdlog::error("{}: the screenshot could not be written", file.toStdString());
        QCoreApplication::exit(saved ? 0 : 1);
    });
    timer->start();
}

void showCompared(Document& document, MainWindow& window, const Arguments& arguments) {
    if (!arguments.reference.isEmpty())
        document.comparison()->openReference(arguments.reference);
    for (const QString& result : arguments.show)
        window.showResult(result);
    if (arguments.compare.size() != 2)
        return;
    const QStringList shown{"a", "b", "both", "difference"};
    document.comparison()->show(
        static_cast<Comparison::Shown>(std::max<qsizetype>(shown.indexOf(arguments.compare[1]), 0)));
    document.comparison()->compareWith(arguments.compare[0].toStdString());
}

/// Whether the program opens a window. --help and --version work without a display.
bool needsDisplay(int count, char** values) {
    static constexpr std::array<std::string_view, 5> answeredAtOnce{"-h", "--help", "--help-all", "-v", "--version"};
    return std::find_first_of(values + 1, values + count, answeredAtOnce.begin(), answeredAtOnce.end()) ==
           values + count;
}

int run(int count, char** values) {
    QElapsedTimer sinceStart; // of this program: the process may be older, for a shell script may have become it
    sinceStart.start();
    if (!needsDisplay(count, values))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    GuardedApplication application(count, values);
    QApplication::setApplicationName("secateur");
    QApplication::setOrganizationName("secateur");
    QApplication::setApplicationDisplayName("Secateur");
    QApplication::setApplicationVersion(SECATEUR_VERSION);
    QApplication::setDesktopFileName("secateur");
    QApplication::setWindowIcon(QIcon(":/icons/secateur.svg"));
    const Arguments arguments = parse(application);
    if (!setLanguage(arguments.language) && !arguments.language.isEmpty()) {
        const QStringList known = QStringList{"en"} + translatedLanguages();
        std::fprintf(stderr, "secateur: there is no translation into %s; the known languages are %s\n",
                     qPrintable(arguments.language), qPrintable(known.join(", ")));
        return 2;
    }

    spdlog::set_default_logger(spdlog::stderr_color_mt("secateur"));
    noteLog(); // before the threads of the jobs, which log
    JobRunner jobs;
    Document document(withServers(windowServices(), arguments.serveWith.toStdString()), &jobs);
    constexpr QSize frame(4, 40);
    const QSize room =
        arguments.size.isValid() ? arguments.size + frame : QGuiApplication::primaryScreen()->availableSize();
    MainWindow window(&document, &jobs, room);
    spdlog::default_logger()->sinks().push_back(std::make_shared<PanelSink>(window.log()));
    noteForReports(document, window);
    FirstPicture firstPicture(&document, window.headsView());
    const auto age = [sinceStart] { return 1e-9 * static_cast<double>(sinceStart.nsecsElapsed()); };
    QObject::connect(&application, &GuardedApplication::caught, &window, &MainWindow::fail);
    QObject::connect(&firstPicture, &FirstPicture::shown, &window, [&document, age] {
        spdlog::info("gate-norm heatmap of {} shown {:.2f} s after the start", document.session().model.name, age());
    });
    if (!arguments.theme.isEmpty())
        window.setTheme(arguments.theme);
    if (arguments.size.isValid())
        window.resize(arguments.size);
    window.showTab(arguments.tab);
    window.measureAlso(arguments.extra);
    window.show();
    spdlog::debug("window shown {:.2f} s after the start", age());
    if (!arguments.path.isEmpty())
        window.open(arguments.path);
    if (!arguments.tour.isEmpty())
        window.startTour(arguments.tour, arguments.tourStep);
    if (arguments.head.size() == 2)
        QObject::connect(&document, &Document::opened, &window, [&window, &arguments] {
            window.goTo({arguments.head[0].toInt(), arguments.head[1].toInt()});
            window.showTab(arguments.tab);
        });
    if (!arguments.mask.isEmpty())
        QObject::connect(
            &document, &Document::opened, &window,
            [&document, &arguments] { document.maskJobs()->openMask(arguments.mask); }, Qt::SingleShotConnection);
    QObject::connect(&document, &Document::opened, &window,
                     [&document, &window, &arguments] { showCompared(document, window, arguments); });
    if (arguments.tensor)
        QObject::connect(&document, &Document::opened, &window, [&window, &arguments] {
            window.showTensor(*arguments.tensor, arguments.plane, arguments.tensorsOf);
        });
    if (!arguments.filter.isEmpty())
        window.filterHeads(arguments.filter);
    // What the command line says counts more than how the model was last viewed.
    QObject::connect(
        &document, &Document::opened, &window,
        [&window, &arguments] {
            if (!arguments.tab.isEmpty())
                window.showTab(arguments.tab);
            if (!arguments.filter.isEmpty())
                window.filterHeads(arguments.filter);
        },
        Qt::SingleShotConnection);
    if (!arguments.screenshot.isEmpty())
        takeScreenshot(&window, &jobs, arguments.screenshot);
    return QApplication::exec();
}

} // namespace

int main(int count, char** values) {
    reserveStandardStreams();
    chooseBlasKernels(); // sets a variable of the environment: before there are threads
    reportCrashes({"secateur", {values + 1, values + count}, {std::string("Qt: ") + qVersion()}});
    try {
        return run(count, values);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "secateur: %s\n", error.what());
        return 1;
    }
}
