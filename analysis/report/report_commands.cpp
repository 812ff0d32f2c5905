#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/metrics/metric.h"
#include "analysis/report/report_sections.h"
#include "analysis/report/sweep_commands.h"
#include "analysis/session/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace secateur {

namespace {

/// The file of a figure by its request.
std::string figureFile(const std::string& request) {
    return fileForm(request) + ".pdf";
}

/// The file of a mask, as the commands name it; empty for the dense model.
std::string maskFileOf(const Session& session, const std::string& digest) {
    if (digest == "dense")
        return {};
    const SessionMask* mask = session.mask(digest);
    const std::string name = mask ? mask->name : shortDigest(digest);
    return name.ends_with(".json") ? name : maskFileName(name);
}

class CommandList {
public:
    explicit CommandList(std::string session)
        : m_session(std::move(session)) {}

    void add(const CommandLine& command) {
        std::string line = shownText(shellText(command)); // not shortened
        if (std::ranges::find(m_lines, line) == m_lines.end())
            m_lines.push_back(std::move(line));
    }
    /// Adds a command that keeps its results in the session.
    void addKeeping(CommandLine command) {
        command.insert(command.end(), {"--out", m_session});
        add(command);
    }
    void add(const std::vector<CommandLine>& commands) {
        for (const CommandLine& command : commands)
            add(command);
    }
    /// Appends a subsection if there are commands.
    void appendTo(ReportSection& section, const char* title, const std::string& text) const {
        if (m_lines.empty())
            return;
        ReportSection& own = section.subsections.emplace_back();
        own.title = title;
        if (!text.empty())
            own.blocks.emplace_back(ReportText{text});
        own.blocks.emplace_back(ReportCommands{m_lines});
    }

private:
    std::string m_session;
    std::vector<std::string> m_lines;
};

void addMeasuring(ReportSection& section, const Session& session, const std::string& file) {
    std::map<std::string, std::vector<const MetricResult*>> byMask;
    for (const MetricResult& result : session.results)
        byMask[result.measurement.maskDigest].push_back(&result);
    CommandList commands(file);
    for (const auto& [digest, results] : byMask)
        for (CommandLine& command : measureCommands(session.model.path, results, maskFileOf(session, digest)))
            commands.addKeeping(std::move(command));
    commands.appendTo(section, "Measurements", "");
}

void addMasks(ReportSection& section, const Session& session, const std::string& file) {
    const std::set<std::string> ofCurves = masksOfCurves(session.curves);
    CommandList commands(file);
    std::size_t others = 0;
    for (const SessionMask& mask : session.masks) {
        if (ofCurves.contains(mask.digest))
            continue;
        const std::string out = maskFileOf(session, mask.digest);
        const auto& provenance = mask.record.provenance;
        const auto pruning = provenance ? pruneCommand(session.model.path, *provenance, out) : std::nullopt;
        if (!pruning) {
            ++others;
            continue;
        }
        commands.add(*pruning);
        if (const auto fitting = compensateCommand(session.model.path, *provenance, out, out))
            commands.add(*fitting);
    }
    const std::string note =
        others == 0 ? ""
                    : fmt::format("Without a command, as no strategy alone made them: {}.", counted(others, "mask"));
    commands.appendTo(section, "Masks", note);
}

void addEvaluating(ReportSection& section, const Session& session, const std::string& file) {
    CommandList commands(file);
    for (const Evaluation& evaluation : session.evaluations)
        for (CommandLine& command :
             evaluateCommands(session.model.path, evaluation, maskFileOf(session, evaluation.mask.digest)))
            commands.addKeeping(std::move(command));
    commands.appendTo(section, "Evaluations", "");
}

void addSweeps(ReportSection& section, const Session& session, const std::string& file) {
    CommandList commands(file);
    for (const Curves& curves : session.curves)
        if (curves.areScored())
            commands.add(
                sweepCommands(session.model.path, curves, maskFileOf(session, curves.conditions.baseDigest), file));
    commands.appendTo(section, "Sweeps", "");
}

} // namespace

ReportSection commandsSection(const Session& session, const ReportChoice& choice,
                              const std::vector<std::string>& figures) {
    const std::string file = choice.session.empty() ? "SESSION.h5" : choice.session;
    ReportSection section;
    addMeasuring(section, session, file);
    addMasks(section, session, file);
    addEvaluating(section, session, file);
    addSweeps(section, session, file);
    CommandList commands(file);
    for (const std::string& figure : figures)
        commands.add(plotCommand(file, figure, figureFile(figure)));
    commands.appendTo(section, "Figures and tables", "");
    return section;
}

} // namespace secateur
