// The report as a value: its sections and numbers, the choice of parts and figures, and the commands that repeat
// results.
#include "analysis/base/usage_error.h"
#include "analysis/report/report.h"
#include "analysis/report/sweep_commands.h"
#include "tests/support/curve_session.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <set>

using namespace secateur;

namespace {

const ReportSection* section(const Report& report, const std::string& title) {
    const auto found = std::ranges::find(report.sections, title, &ReportSection::title);
    return found == report.sections.end() ? nullptr : &*found;
}

/// The tables of a section.
std::vector<const ReportFigure*> tables(const ReportSection& section) {
    std::vector<const ReportFigure*> found;
    for (const ReportBlock& block : section.blocks)
        if (const auto* figure = std::get_if<ReportFigure>(&block); figure && figure->figure.kind == FigureKind::table)
            found.push_back(figure);
    return found;
}

std::size_t column(const FigureTable& table, const std::string& title) {
    const auto found = std::ranges::find(table.columns, title, &TableColumn::title);
    return static_cast<std::size_t>(found - table.columns.begin());
}

const TableCell& cell(const FigureTable& table, const std::string& row, const std::string& title) {
    for (const TableRow& one : table.rows)
        if (one.cells.front().text == row)
            return one.cells.at(column(table, title));
    qFatal("no row %s", row.c_str());
}

QString texts(const ReportSection& section) {
    QStringList all;
    for (const ReportBlock& block : section.blocks) {
        if (const auto* text = std::get_if<ReportText>(&block))
            all << QString::fromStdString(text->text);
        if (const auto* commands = std::get_if<ReportCommands>(&block))
            for (const std::string& line : commands->lines)
                all << QString::fromStdString(line);
    }
    for (const ReportSection& own : section.subsections)
        all << texts(own);
    return all.join('\n');
}

} // namespace

class TestReport : public QObject {
    Q_OBJECT

private slots:
    void sectionsFollowTheTableOfParts() {
        const Report report = reportOf(test::evaluatedSession(), {.created = "2026-11-26T12:00:00Z"});
        std::vector<std::string> titles;
        for (const ReportSection& one : report.sections)
            titles.push_back(one.title);
        std::vector<std::string> expected;
        for (const ReportPartInfo& part : reportParts())
            if (std::ranges::find(titles, part.title) != titles.end())
                expected.emplace_back(part.title);
        QCOMPARE(titles, expected);
        for (const char* title : {"Model", "Measurements", "Figures", "Masks", "Evaluations", "Curves", "Commands"})
            QVERIFY2(section(report, title), title);
        for (std::size_t i = 0; i < report.sections.size(); ++i)
            QCOMPARE(report.sections[i].number, std::to_string(i + 1));
        QCOMPARE(report.title, std::string("Importance and pruning of Ragged é"));
        QVERIFY(report.subtitle.find("2026-11-26T12:00:00Z") != std::string::npos);
    }

    void figuresAndTablesAreNumberedInOrder() {
        const Report report = reportOf(test::evaluatedSession(), {});
        int figures = 0;
        int tablesSeen = 0;
        for (const ReportSection& one : report.sections)
            for (const ReportBlock& block : one.blocks)
                if (const auto* figure = std::get_if<ReportFigure>(&block)) {
                    const bool isTable = figure->figure.kind == FigureKind::table;
                    const std::string expected =
                        isTable ? "Table " + std::to_string(++tablesSeen) : "Figure " + std::to_string(++figures);
                    QCOMPARE(figure->label, expected);
                    QVERIFY(!figure->caption.empty());
                }
        QVERIFY(figures > 2 && tablesSeen > 5);
    }

    void partsAreChosenByTheirIds() {
        QCOMPARE(parseReportParts("masks,model"), (std::vector{ReportPart::masks, ReportPart::model}));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseReportParts("masks,maps"));
        const Report report =
            reportOf(test::evaluatedSession(), {.title = "A\ntitle", .parts = parseReportParts("masks,model")});
        QCOMPARE(report.sections.size(), std::size_t{2});
        QCOMPARE(report.sections[0].title, std::string("Model"));
        QCOMPARE(report.title, std::string("A\\ntitle"));
        std::set<std::string_view> ids;
        for (const ReportPartInfo& part : reportParts())
            QVERIFY(ids.insert(part.id).second && !part.title.empty() && !part.summary.empty());
    }

    void namedFiguresMustBeDrawn() {
        const Session session = test::evaluatedSession();
        const ReportChoice figures{.parts = {ReportPart::figures}, .figures = {"heads:metric=gate_norm_head"}};
        const Report report = reportOf(session, figures);
        QCOMPARE(report.sections.front().blocks.size(), std::size_t{1});
        const ReportChoice unknown{.figures = {"cat"}};
        QVERIFY_THROWS_EXCEPTION(UsageError, reportOf(session, unknown));
        const ReportChoice missing{.figures = {"heads:metric=sink_head"}};
        QVERIFY_THROWS_EXCEPTION(Error, reportOf(session, missing));
    }

    void usualFiguresAreThoseThatTheSessionCanDraw() {
        Session session = test::evaluatedSession();
        session.results.push_back(test::result("gate_norm", session.model.spec, 1));
        session.results.push_back(test::result("attention_ratio", session.model.spec, 2));
        session.results.push_back(test::result("mag_sp_neuron", session.model.spec, 3));
        const std::vector<std::string> usual = usualFigures(session);
        const auto has = [&](const std::string& request) { return std::ranges::find(usual, request) != usual.end(); };
        QVERIFY(has("heads:metric=gate_norm_head"));
        QVERIFY(has("neurons:metric=mag_sp_neuron"));
        QVERIFY(has("evaluations"));
        QVERIFY(has("curves:set=0"));
        QVERIFY(std::ranges::any_of(usual, [](const std::string& one) { return one.starts_with("layers:metrics="); }));
        const Report report = reportOf(session, {.parts = {ReportPart::figures, ReportPart::tables}});
        std::size_t drawn = 0;
        for (const ReportSection& one : report.sections)
            drawn += one.blocks.size();
        QCOMPARE(drawn, usual.size());
        Session empty;
        empty.model = session.model;
        QVERIFY(usualFigures(empty).empty());
    }

    void theModelCardIsComplete() {
        const Session session = test::evaluatedSession();
        const Report report = reportOf(session, {.parts = {ReportPart::model}});
        const FigureTable& card = tables(report.sections.front()).front()->figure.table;
        QCOMPARE(cell(card, "Name", "Value").text, session.model.name);
        QCOMPARE(cell(card, "Fingerprint", "Value").text, session.model.fingerprint);
        QCOMPARE(cell(card, "Parameters", "Value").text, std::string("12,345,678,901"));
        QCOMPARE(cell(card, "Heads of a layer", "Value").text, std::string("0 to 8, in 0 to 3 KV groups"));
        QVERIFY(texts(report.sections.front()).contains("Warning: second"));
    }

    void evaluationsHaveTheirErrorsAndDifferences() {
        const Session session = test::evaluatedSession();
        const Report report = reportOf(session, {.parts = {ReportPart::evaluations}});
        const FigureTable& text = tables(report.sections.front()).front()->figure.table;
        const Evaluation cut = compared(session, session.evaluations[1]);
        const TableCell& loss = cell(text, "cut.json", "Loss (nats)");
        QCOMPARE(loss.value, cut.text->perplexity.lossNats);
        QCOMPARE(loss.error, cut.text->perplexity.standardError);
        const TableCell& difference = cell(text, "cut.json", "Difference (nats)");
        QCOMPARE(difference.value, cut.text->reference->difference.nats);
        QCOMPARE(difference.error, cut.text->reference->difference.standardError);
        QVERIFY(std::isnan(cell(text, "dense", "Difference (nats)").value));
        QVERIFY(std::ranges::any_of(text.notes, [](const std::string& note) {
            return note.find("deep.json scored 4 of 10 windows") != std::string::npos;
        }));
        const auto all = tables(report.sections.front());
        const auto ofTask =
            std::ranges::find_if(all, [](const ReportFigure* one) { return one->caption.starts_with("Task choices"); });
        QVERIFY(ofTask != all.end());
        QCOMPARE((*ofTask)->figure.table.columns.at(2).group, std::string("acc"));
        QCOMPARE(cell((*ofTask)->figure.table, "cut.json", "value").value,
                 session.evaluations[1].tasks.front().run.scores.metric("acc").value);
        QVERIFY(texts(report.sections.front()).contains("Warning: a word"));
    }

    void masksHaveTheirSavings() {
        const Session session = test::curveSession();
        const Report report = reportOf(session, {.parts = {ReportPart::masks}});
        const FigureTable& masks = tables(report.sections.front()).front()->figure.table;
        QCOMPARE(masks.rows.size(), session.masks.size());
        for (std::size_t i = 0; i < session.masks.size(); ++i) {
            const Price price = PriceList(session.model).price(session.masks[i].record.mask);
            QCOMPARE(masks.rows[i].cells[column(masks, "Heads")].value, static_cast<double>(price.heads.saved()));
            QCOMPARE(masks.rows[i].cells[column(masks, "Kept")].value, static_cast<double>(price.parameters.left));
        }
        QCOMPARE(column(masks, "Blocks"), masks.columns.size()); // none of the masks drops one
        const auto& map = std::get<ReportFigure>(report.sections.front().blocks.at(1)).figure;
        QCOMPARE(map.panels.size(), std::min<std::size_t>(24, session.masks.size()));
        const LayerMask& layer = session.masks.front().record.mask.layer(0);
        for (std::size_t head = 0; head < layer.heads.size(); ++head)
            QCOMPARE(map.panels.front().cells(0, head), layer.heads[head] ? 0.0 : 1.0);
        QCOMPARE(map.panels.front().cells(0, layer.heads.size()), 0.0);
    }

    void curvesListEveryBudget() {
        const Session session = test::curveSession();
        const Report report = reportOf(session, {.parts = {ReportPart::curves}});
        const FigureTable& points = tables(report.sections.front()).front()->figure.table;
        QCOMPARE(points.rows.size(), std::size_t{1 + 3 * 3});
        const std::size_t deltas = column(points, "Difference (nats)");
        const Curve& random = *session.curves[0].curve("random_head");
        for (const TableRow& row : points.rows)
            if (row.cells[0].text == "random_head" && row.cells[1].text == "2") {
                QCOMPARE(row.cells[column(points, "n")].value, 2.0);
                QCOMPARE(row.cells[deltas].value, (random.points[0].deltaNats + random.points[1].deltaNats) / 2);
                QCOMPARE(row.cells[deltas].error, 0.0);
            } else if (row.cells[0].text == "sink_head" && row.cells[1].text == "4") {
                QCOMPARE(row.cells[deltas].value, 0.3);
                QCOMPARE(row.cells[deltas].error, 0.02);
            }
        QVERIFY(std::ranges::any_of(points.notes, [](const std::string& note) {
            return note.find("there is not enough memory") != std::string::npos;
        }));
    }

    void commandsRepeatTheResults() {
        const Report report = reportOf(test::evaluatedSession(), {.session = "a session.h5"});
        const QString commands = texts(*section(report, "Commands"));
        QVERIFY(commands.contains("secateur-cli measure 'models/Ragged é' --metric gate_norm_head"));
        QVERIFY(commands.contains("--mask cut.json --text 'texts/é.txt'"));
        QVERIFY(commands.contains("--out 'a session.h5'"));
        QVERIFY(commands.contains("secateur-cli plot 'a session.h5' --figure heads:metric=gate_norm_head --out "
                                  "heads.metric-gate_norm_head.pdf"));
        QVERIFY(commands.contains("secateur-cli sweep"));
    }

    void sweepsAreGroupedByTheirBudgets() {
        const Session session = test::curveSession();
        const std::vector<CommandLine> commands = sweepCommands("m", session.curves[0], "", "s.h5");
        QCOMPARE(commands.size(), std::size_t{2});
        QCOMPARE(QString::fromStdString(shellText(commands[0])),
                 "secateur-cli sweep m --strategy gnorm_greedy,sink_head --budgets 2,4,6 --text calibration.txt "
                 "--max-tokens 8192 --score scored.txt --protocol token_ppl --task choices.jsonl:format=arc --limit 8 "
                 "--dtype float32 --out s.h5");
        QVERIFY(shellText(commands[1]).find("--strategy random_head --budgets 2,4,6 --repeat 2") != std::string::npos);
    }
};

SECATEUR_SUITE(TestReport)
#include "tst_report.moc"
