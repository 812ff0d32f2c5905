// Each figure is defined by one row of a table. These tests add rows of their own, and check that no source file
// outside the table depends on a figure's id.
#ifndef Q_MOC_RUN
#include "tests/support/gradient_case.h"

#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/masks/mask_algebra.h"
#include "backends/weights/open_tensors.h"
#include "tests/support/curve_session.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QDirIterator>
#include <QRegularExpression>
#include <QtEndian>
#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>

using namespace secateur;

namespace {

// An example of a new figure: the largest value of each layer, divided by the option `unit`.

constexpr std::array largestOptions{
    OptionInfo{"metric", "text", "gate_norm_head", "result id"},
    OptionInfo{"unit", "number", "1", "values are divided by it"},
};

void checkLargest(const FigureOptions& options) {
    if (std::stod(options.at("unit")) <= 0)
        throw UsageError("should be positive", "unit");
}

Figure largest(const Session& session, const FigureOptions& options) {
    const MetricResult* result = session.latest(options.at("metric"));
    Figure figure;
    figure.kind = FigureKind::series;
    figure.caption = figureCaption(session.model, "largest head");
    FigureSeries& line = figure.series.emplace_back();
    for (std::size_t layer = 0; result && layer < result->values.rows(); ++layer)
        line.values.push_back(std::ranges::max(result->values.row(layer)) / std::stod(options.at("unit")));
    return figure;
}

/// Two more example figures: the number of tokens of a prompt, and the number of tokens of a text.
Figure promptLength(const PromptInputs& inputs, const FigureOptions&) {
    Figure figure;
    figure.series.push_back({"tokens", {static_cast<double>(inputs.prompt.ids.size())}, {}});
    return figure;
}

Figure textLength(const TextInputs& inputs, const FigureOptions&) {
    Figure figure;
    figure.series.push_back({"tokens", {}, {}});
    for (const TokenSequence& sequence : inputs.sequences)
        figure.series[0].values.push_back(static_cast<double>(sequence.ids.size()));
    return figure;
}

const std::array ownTable{
    FigureInfo{"largest", "largest head of each layer", largestOptions, FromSession{largest, {"metric"}}, checkLargest},
    FigureInfo{"prompt_length", "tokens of a prompt", {}, FromPrompt{promptLength}},
    FigureInfo{"text_length", "tokens of a text", {}, FromText{textLength, 1, 0}},
};

// The sources of a figure's data have no default constructor, so a row without a function that draws the figure does
// not compile.
static_assert(!std::is_default_constructible_v<FromSession> && !std::is_default_constructible_v<FromPrompt> &&
              !std::is_default_constructible_v<FromText> && !std::is_default_constructible_v<FigureSource>);

/// A small model with head 1 of layer 1 cut, and a prompt and a text for it.
class ModelFixture {
public:
    ModelFixture()
        : m_mask(m_case.model->spec()) {
        setHeads(m_mask, std::array{HeadId{1, 1}}, false);
        m_plan = m_case.model->runner().plan(m_mask, ComputeType::float32);
    }

    PromptInputs prompt() const {
        PromptInputs inputs{m_case.model, m_mask, ComputeType::float32, {}, {}};
        inputs.prompt.ids = m_case.sequences.front().ids;
        for (const int id : inputs.prompt.ids)
            inputs.prompt.labels.push_back(std::to_string(id));
        return inputs;
    }
    WeightInputs weights() const {
        const auto tensors = openTensors(m_case.model->card().path);
        return {.model = m_case.model, .tensors = tensors, .reference = openTensors(otherNumbers())};
    }
    TextInputs text() const {
        return {.model = *m_case.model, .plan = *m_plan, .maskName = "cut.json", .sequences = m_case.sequences};
    }

private:
    /// A checkpoint of the same model whose numbers differ by a bit.
    std::string otherNumbers() const {
        const QString folder = test::data().filePath("forward/llama-gqa/");
        QFile::copy(folder + "config.json", m_scratch.path("config.json"));
        QFile file(folder + "model.safetensors");
        if (!file.open(QIODevice::ReadOnly))
            qFatal("cannot read %s", qPrintable(file.fileName()));
        QByteArray bytes = file.readAll();
        const qsizetype header = 8 + qFromLittleEndian<qint64>(bytes.constData());
        for (qsizetype i = header + 1; i < bytes.size(); i += 4)
            bytes[i] = static_cast<char>(bytes[i] ^ 16);
        return m_scratch.write("model.safetensors", bytes);
    }

    test::Scratch m_scratch;
    test::GradientCase m_case{"llama-gqa"};
    PruningMask m_mask;
    std::shared_ptr<const Plan> m_plan;
};

/// A session with evaluations, or, for figures of sweeps, one with curves.
Figure drawn(const FromSession&, const FigureRequest& request) {
    const bool isOfCurves = request.options.contains("set");
    Session session = isOfCurves ? test::curveSession() : test::evaluatedSession();
    if (isOfCurves) {
        test::addOtherText(session);
        std::swap(session.curves[0], session.curves[1]); // figures show the last set
    }
    for (const MetricRequest& metric : metricsOf(request))
        session.results.push_back(test::result(metric.resultId().c_str(), session.model.spec, 1));
    return drawFigure(request, session);
}
Figure drawn(const FromPrompt& source, const FigureRequest& request) {
    return source.draw(ModelFixture().prompt(), request.options);
}
Figure drawn(const FromText& source, const FigureRequest& request) {
    return source.draw(ModelFixture().text(), request.options);
}

Figure drawn(const FromWeights& source, const FigureRequest& request) {
    return source.draw(ModelFixture().weights(), request.options);
}

Figure drawn(const FigureRequest& request) {
    return std::visit([&](const auto& source) { return drawn(source, request); }, request.figure->source);
}

bool isFinite(double value) {
    return std::isfinite(value);
}

/// A pattern that finds `==` or `!=` next to one of the ids as a string literal.
QRegularExpression comparisonWith(const QStringList& ids) {
    const QString any = "\"(" + ids.join('|') + ")\"";
    return QRegularExpression("[=!]=\\s*" + any + "|" + any + "\\s*[=!]=");
}

} // namespace

class TestFigureRows : public QObject {
    Q_OBJECT

private slots:
    void aNewFigureIsOneRow() {
        Session session = test::evaluatedSession();
        // The values of layer 0 are 1.1, 1.2, and so on.
        session.results = {test::result("gate_norm_head", session.model.spec, 1)};
        const Figure figure = makeFigure(session, "largest:unit=2", ownTable);
        const MetricResult& result = session.results.front();
        QCOMPARE(figure.series.at(0).values.size(), result.values.rows());
        const auto heads = static_cast<std::size_t>(session.model.spec.layers[0].heads);
        QCOMPARE(figure.series[0].values[0], result.values(0, heads - 1) / 2);
        QVERIFY(figure.series[0].values[1] > figure.series[0].values[0]);
        QVERIFY(QString::fromStdString(figure.command).contains("--figure largest:unit=2"));
        QCOMPARE(metricsOf(parseFigureRequest("largest:metric=mag_sp_head", ownTable)).at(0).resultId(),
                 std::string("mag_sp_head"));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("largest:unit=0", ownTable));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("largest:size=1", ownTable));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("heads", ownTable));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("largest"));
    }

    void aNewFigureOfARunIsOneRowToo() {
        QCOMPARE(drawn(parseFigureRequest("prompt_length", ownTable)).series.at(0).values, std::vector<double>{15});
        QCOMPARE(drawn(parseFigureRequest("text_length", ownTable)).series.at(0).values.size(), std::size_t{4});
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(test::evaluatedSession(), "prompt_length", ownTable));
    }

    void everyRowSaysWhatItIs() {
        QStringList ids;
        for (const FigureInfo& figure : allFigures()) {
            const QString id = QString::fromUtf8(figure.id.data(), static_cast<qsizetype>(figure.id.size()));
            QVERIFY2(!id.isEmpty() && !ids.contains(id), qPrintable(id));
            ids << id;
            QVERIFY2(!figure.summary.empty(), qPrintable(id));
            if (const auto* source = std::get_if<FromSession>(&figure.source))
                for (const std::string_view name : source->results)
                    QVERIFY2(name.empty() || std::ranges::count(figure.options, name, &OptionInfo::name) == 1,
                             qPrintable(id));
            if (const auto* source = std::get_if<FromText>(&figure.source))
                QVERIFY2(source->forwards > 0, qPrintable(id));
        }
    }

    void everyFigureIsDrawnFromWhatItNeeds_data() {
        QTest::addColumn<QString>("id");
        for (const FigureInfo& figure : allFigures()) {
            // The tests of a paper's items make the sessions that they need.
            if (figure.item && std::holds_alternative<FromSession>(figure.source))
                continue;
            const std::string id(figure.id);
            QTest::newRow(id.c_str()) << QString::fromStdString(id);
        }
    }
    void everyFigureIsDrawnFromWhatItNeeds() {
        QFETCH(QString, id);
        const FigureRequest request = parseFigureRequest(id.toStdString());
        QCOMPARE(request.options.size(), request.figure->options.size());
        const Figure figure = drawn(request);
        QVERIFY(!figure.caption.empty());
        QVERIFY(std::ranges::count(toCsv(figure), '\n') > 1);
        if (figure.kind == FigureKind::grid) {
            QVERIFY(!figure.parts.empty());
            return;
        }
        if (figure.kind == FigureKind::heatMap) {
            QVERIFY(figure.cells.rows() > 0 && !figure.colour.label.empty());
            QVERIFY(std::ranges::any_of(figure.cells.values(), isFinite));
        } else if (figure.kind == FigureKind::panels) {
            QVERIFY(!figure.panels.empty() && !figure.colour.label.empty());
            for (const FigurePanel& panel : figure.panels)
                QVERIFY2(std::ranges::any_of(panel.cells.values(), isFinite), panel.title.c_str());
        } else {
            QVERIFY(!figure.series.empty());
            for (const FigureSeries& series : figure.series)
                QVERIFY2(std::ranges::any_of(series.values, isFinite), series.label.c_str());
        }
        QVERIFY(!figure.x.label.empty() && !figure.y.label.empty());
    }

    void fitsWithoutARidgeHaveNoMu() {
        Session session = test::evaluatedSession();
        std::vector<FittedPart>& fits = session.masks[1].record.provenance->fits;
        QCOMPARE(drawFigure(parseFigureRequest("compensation"), session).series.size(), std::size_t{1});
        QCOMPARE(drawFigure(parseFigureRequest("compensation:value=error"), session).series.size(), std::size_t{4});
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("compensation:value=mus"));
        QVERIFY_THROWS_EXCEPTION(Error, drawFigure(parseFigureRequest("compensation:mask=cut.json"), session));
        fits.erase(fits.begin());
        QVERIFY_THROWS_EXCEPTION(Error, drawFigure(parseFigureRequest("compensation"), session));
        fits.clear();
        QVERIFY_THROWS_EXCEPTION(Error, drawFigure(parseFigureRequest("compensation"), session));
    }

    void noOtherSourceComparesWithAFiguresId() {
        QStringList ids;
        for (const FigureInfo& figure : allFigures())
            ids << QString::fromUtf8(figure.id.data(), static_cast<qsizetype>(figure.id.size()));
        const QRegularExpression comparison = comparisonWith(ids);
        QVERIFY(comparison.match("if (request.figure->id == \"attention\")").hasMatch());
        QVERIFY(comparison.match("\"heads\" != id").hasMatch());
        int seen = 0;
        for (const char* room : {"analysis", "backends", "widgets", "app"}) {
            QDirIterator sources(QDir(SECATEUR_SOURCE_DIR).filePath(room), {"*.h", "*.cpp"}, QDir::Files,
                                 QDirIterator::Subdirectories);
            while (sources.hasNext()) {
                QFile file(sources.next());
                QVERIFY(file.open(QIODevice::ReadOnly));
                const QString text = QString::fromUtf8(file.readAll());
                // Words such as "heads" and "layers" are figure ids only in files that include the figures.
                if (!text.contains("#include \"analysis/figures/"))
                    continue;
                ++seen;
                const auto found = comparison.match(text);
                QVERIFY2(!found.hasMatch(), qPrintable(file.fileName() + ": " + found.captured()));
            }
        }
        QVERIFY2(seen > 10, "the source tree was not found");
    }
};

SECATEUR_SUITE(TestFigureRows)
#include "tst_figure_rows.moc"
