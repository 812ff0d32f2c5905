// The numbers that papers print, and the papers' rows in the table of figures.

#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/paper.h"
#include "analysis/gallery/published.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"
#include "tests/support/paper_session.h"
#include "tests/support/suite.h"

#include <QDir>
#include <QFile>
#include <QtTest>

#include <algorithm>
#include <set>
#include <string>

using namespace secateur;

namespace {

QList<QStringList> linesOfFile(const char* name) {
    QFile file(QDir(SECATEUR_SOURCE_DIR).filePath(QString("resources/papers/") + name));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("%s", name);
    QList<QStringList> lines;
    for (const QString& line : QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts))
        lines << line.split(',');
    lines.removeFirst();
    return lines;
}

QString text(std::string_view view) {
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

std::size_t countFor(const char* item, const ModelCard& model, const char* choice = "auto") {
    return publishedFor(item, model, choice).size();
}

} // namespace

class TestPublished : public QObject {
    Q_OBJECT

private slots:
    void everyLineIsRead() {
        const QList<QStringList> lines = linesOfFile("published.csv");
        QCOMPARE(static_cast<qsizetype>(publishedValues().size()), lines.size());
        for (qsizetype i = 0; i < lines.size(); ++i) {
            const PublishedValue& value = publishedValues()[static_cast<std::size_t>(i)];
            const QStringList& fields = lines[i];
            QCOMPARE(fields.size(), qsizetype{9});
            const QStringList read{text(value.item), text(value.model), text(value.row), text(value.budget),
                                   text(value.column)};
            QCOMPARE(read, fields.first(5));
            QCOMPARE(value.value, fields[5].toDouble());
            QCOMPARE(value.isDoubtful, !fields[6].isEmpty());
            QCOMPARE(text(value.strategy), fields[7]);
            QCOMPARE(text(value.ourBudget), fields[8]);
        }
    }

    void everyItemIsARowOfTheFigureTable() {
        std::set<std::string> ids;
        for (const FigureInfo& figure : allFigures())
            ids.insert(std::string(figure.id));
        for (const PublishedValue& value : publishedValues())
            QVERIFY2(ids.contains(std::string(value.item)), std::string(value.item).c_str());
    }

    void everyModelHasAStructure() {
        QStringList names;
        for (const QStringList& model : linesOfFile("models.csv"))
            names << model[1].split(';');
        for (const PublishedValue& value : publishedValues())
            QVERIFY2(names.contains(text(value.model)), qPrintable(text(value.model)));
    }

    void everyStrategyAndBudgetIsOurs() {
        for (const PublishedValue& value : publishedValues()) {
            std::string strategy(value.strategy);
            constexpr std::string_view ending = "+recovered";
            if (strategy.ends_with(ending))
                strategy.resize(strategy.size() - ending.size());
            if (strategy.empty() || strategy == "dense")
                continue;
            QCOMPARE(parseStrategyRequest(strategy).resultId(), strategy);
            if (!value.ourBudget.empty())
                QCOMPARE(budgetText(parseBudget(value.ourBudget)), std::string(value.ourBudget));
        }
    }

    void modelsAreKnownByNameAndStructure() {
        const ModelCard second = test::paperModel("Llama-2-7b-hf", 32, 32);
        QVERIFY(countFor("amp_table2", second) > 0);
        QCOMPARE(countFor("amp_table2", second, "none"), std::size_t{0});
        // Models of one structure are told apart by their names.
        QCOMPARE(countFor("amp_table2", test::paperModel("llama-7b", 32, 32)), std::size_t{0});
        QVERIFY(countFor("amp_table1", test::paperModel("llama-7b", 32, 32)) > 0);
        QVERIFY(countFor("gate_norm_table1", test::paperModel("vicuna-7b-v1.5", 32, 32)) > 0);
        QCOMPARE(countFor("gate_norm_table2", test::paperModel("vicuna-13b-v1.5", 40, 40)), std::size_t{0});
        // Neither a name nor a structure alone is enough, and tuned models are others.
        QCOMPARE(countFor("amp_table2", test::paperModel("Llama-2-7b-hf", 30, 32)), std::size_t{0});
        QCOMPARE(countFor("amp_table2", test::paperModel("Llama-2-7b-chat-hf", 32, 32)), std::size_t{0});
        QCOMPARE(countFor("amp_table2", test::paperModel("mymodel", 32, 32)), std::size_t{0});
        QVERIFY(countFor("gate_norm_table1", test::paperModel("mymodel", 4, 4), "LLaMA-3.1-8B") > 0);
        QVERIFY(countFor("amp_speedup", second, "LLaMA 7B") > 0);
    }

    void unknownModelsAreRefusedWithTheKnownOnes() {
        const ModelCard model = test::paperModel("mymodel", 4, 4);
        try {
            publishedFor("gate_norm_table1", model, "LLaMA-13B");
            QFAIL("not refused");
        } catch (const UsageError& error) {
            QVERIFY2(QString(error.what()).contains("Vicuna-7B, Vicuna-13B"), error.what());
        }
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("gate_norm_table1:published=GPT-9"));
        QCOMPARE(publishedModels("amp_table2"), std::vector<std::string>{"LLaMA-2-7B"});
    }

    void itemsSayWhatTheyLack_data() {
        QTest::addColumn<QString>("id");
        for (const FigureInfo& figure : allFigures())
            if (figure.item && std::holds_alternative<FromSession>(figure.source))
                QTest::newRow(std::string(figure.id).c_str()) << text(figure.id);
    }
    void itemsSayWhatTheyLack() {
        QFETCH(QString, id);
        Session session;
        session.model = test::paperModel("empty", 30, 8);
        try {
            makeFigure(session, id.toStdString());
            QSKIP("needs the structure of the model only");
        } catch (const Error& error) {
            QVERIFY2(QString::fromStdString(error.message()).startsWith("holds no"), error.what());
            QVERIFY2(QString::fromStdString(error.hint()).startsWith("secateur-cli "), error.what());
        }
    }

    /// Some steps are only for the models of the paper.
    void stepsOfItemsAreStepsOfTheirRecipe() {
        for (const Paper& paper : allPapers()) {
            std::set<std::string> steps;
            for (const ModelCard& model :
                 {test::paperModel("empty", 30, 8), test::paperModel("bert-base-chinese", 12, 12)})
                for (const SweepSize size : {SweepSize::quick, SweepSize::paper}) {
                    Session session;
                    session.model = model;
                    for (const RecipeStep& step :
                         recipeSteps(paper, {.model = "m.gguf", .session = "s.h5", .size = size}, session))
                        steps.insert(step.id);
                }
            for (const FigureInfo* figure : itemsOf(paper))
                for (const std::string_view step : figure->item->steps)
                    QVERIFY2(steps.contains(std::string(step)), std::string(figure->id).c_str());
        }
    }
};

SECATEUR_SUITE(TestPublished)
#include "tst_published.moc"
