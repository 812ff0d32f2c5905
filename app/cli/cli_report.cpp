#include "analysis/base/replaceable.h"
#include "analysis/base/text.h"
#include "analysis/report/report.h"
#include "app/cli/cli_common.h"
#include "app/cli/offscreen.h"
#include "app/cli/output.h"
#include "app/reference/offered_values.h"
#include "backends/base/atomic_file.h"
#include "backends/json/report_json.h"
#include "backends/session/session_hdf5.h"

#ifdef SECATEUR_WITH_QT
#include "widgets/report/report_writer.h"
#endif

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace secateur::cli {

namespace {

struct ReportArguments {
    std::string path;
    std::string out;
    std::string title;
    std::string parts;
    std::vector<std::string> figures;
    bool force = false;
};

#ifdef SECATEUR_WITH_QT
void checkCanWriteReports(const std::string&) {}

void write(const Report& report, const ReportArguments& arguments, const Progress& progress) {
    runOffscreen([&] { writeReport(report, QString::fromStdString(arguments.out), arguments.force, progress); });
}
#else
[[noreturn]] void checkCanWriteReports(const std::string& out) {
    throw Error("writing reports needs the build with Qt; this build has none", out);
}

void write(const Report&, const ReportArguments&, const Progress&) {}
#endif

std::string lowerExtension(const std::string& path) {
    std::string extension = std::filesystem::path(path).extension().string();
    for (char& c : extension)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return extension.empty() ? extension : extension.substr(1);
}

ReportChoice choiceOf(const ReportArguments& arguments) {
    ReportChoice choice{
        .title = arguments.title, .figures = arguments.figures, .session = arguments.path, .created = utcNow()};
    if (!arguments.parts.empty())
        choice.parts = parseReportParts(arguments.parts);
    return choice;
}

void reportVerb(const ReportArguments& arguments, const Console& console) {
    const ReportChoice choice = choiceOf(arguments);
    const FileKind kind = reportFileKind(lowerExtension(arguments.out));
    checkCanWriteReports(arguments.out);
    checkCanWrite(arguments.out, kind, arguments.force);
    const Report report = reportOf(readSession(arguments.path), choice);
    write(report, arguments, console.progress());
    noteWritten(arguments.out);
    if (console.json)
        printJson(reportJson(report, arguments.out));
}

std::vector<std::string> partIds() {
    std::vector<std::string> ids;
    for (const ReportPartInfo& part : reportParts())
        ids.emplace_back(part.id);
    return ids;
}

} // namespace

void addReport(CLI::App& program, Console& console) {
    auto arguments = std::make_shared<ReportArguments>();
    CLI::App* verb = program.add_subcommand("report", "Write a report on a session as HTML or PDF");
    verb->add_option("SESSION", arguments->path, "Session .h5")->required();
    verb->add_option("--out", arguments->out, "FILE.html or .pdf")->required()->option_text("FILE");
    verb->add_option("--title", arguments->title, "Title of the report [names the model]")->check(isUtf8());
    verb->add_option("--parts", arguments->parts, "Parts, several by comma: " + join(partIds(), ", ") + " [all]")
        ->option_text("LIST")
        ->check(offers(partIds(), Several::byComma));
    verb->add_option(
            "--figures", arguments->figures,
            "Figures and tables, several by comma: ID[:key=value]... (see: list figures) [all that the session "
            "can draw]")
        ->option_text("LIST")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(offersIds("figures", Several::byComma));
    addForceOption(*verb, arguments->force);
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli report llama.h5 --out llama.pdf --parts model,figures,evaluations");
    verb->callback([arguments, &console] { reportVerb(*arguments, console); });
}

} // namespace secateur::cli
