#include "analysis/figure.h"
#include "analysis/text.h"
#include "analysis/usage_error.h"
#include "app/cli_common.h"
#include "backends/atomic_file.h"
#include "backends/session_hdf5.h"

#include <fmt/core.h>

#ifdef SECATEUR_WITH_QT
#include "widgets/figure_painter.h"

#include <QApplication>
#endif

#include <filesystem>

namespace secateur::cli {

namespace {

struct Arguments {
    std::string path;
    std::string figure;
    std::string out;
    std::string width = "page";
};

void draw([[maybe_unused]] const Figure& figure, [[maybe_unused]] const Arguments& arguments) {
#ifdef SECATEUR_WITH_QT
    qputenv("QT_QPA_PLATFORM", "offscreen");
    int count = 1;
    char name[] = "secateur-cli";
    char* values[] = {name, nullptr};
    const QApplication application(count, values);
    saveFigure(figure, QString::fromStdString(arguments.out),
               arguments.width == "column" ? FigureWidth::column : FigureWidth::page);
#else
    throw Error("this build has no Qt and cannot draw", arguments.out,
                "Name a .csv file to get the figure's numbers, or use the build with Qt");
#endif
}

/// A session as it is; of a model, everything that its weights alone tell.
Session source(const std::string& path, const Console& console) {
    if (isSession(path))
        return readSession(path);
    const Progress progress = console.progress();
    const auto model = open(path, console, progress.part(0, 0));
    Session session;
    session.model = fullCard(*model);
    session.results = measured(*model, parseMetricRequests("weights"), progress);
    return session;
}

void plot(const Arguments& arguments, const Console& console) {
    const std::string extension = std::filesystem::path(arguments.out).extension().string();
    if (extension != ".png" && extension != ".svg" && extension != ".pdf" && extension != ".csv")
        throw UsageError(fmt::format("cannot write \"{}\"; the known kinds are .png, .svg, .pdf and .csv", extension),
                         arguments.out);
    const Figure figure = makeFigure(source(arguments.path, console), arguments.figure);
    if (extension == ".csv")
        writeWhole(arguments.out, toCsv(figure));
    else
        draw(figure, arguments);
}

} // namespace

void addPlot(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* verb = program.add_subcommand("plot", "Draw a figure from a session, or straight from a checkpoint");
    verb->add_option("SESSION", arguments->path, "Session .h5; of a MODEL the weight metrics are measured first")
        ->required();
    verb->add_option("--figure", arguments->figure, "ID[:key=value]... (see: list figures)")->required();
    verb->add_option("--out", arguments->out, "FILE.png, .svg, .pdf, or .csv for the numbers")->required();
    verb->add_option("--width", arguments->width, "column (8.4 cm) or page (17.4 cm)")
        ->check(CLI::IsMember({"column", "page"}))
        ->capture_default_str();
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli plot llama.h5 --figure heads:metric=gate_norm_head:log=true --out heads.pdf");
    verb->callback([arguments, &console] { plot(*arguments, console); });
}

} // namespace secateur::cli
