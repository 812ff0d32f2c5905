// Files from which an interrupted search goes on.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "backends/session/price_log.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <filesystem>
#include <fstream>

using namespace secateur;
using test::Scratch;

namespace {

const std::vector<StepPrice>& prices() {
    static const std::vector<StepPrice> all{
        {.of = BudgetOf::layerParameters, .layer = -1, .kind = 1, .isEstimate = true, .saved = 1. / 3, .rise = -1e-6},
        {.of = BudgetOf::kvBytes, .layer = 3, .kind = 6, .saved = 0.1, .rise = 0.25, .loss = 2.000001},
        {.of = BudgetOf::seconds, .layer = 0, .kind = 2, .isGone = true}};
    return all;
}

/// Writes a file with all prices in two lines.
std::string written(const Scratch& scratch) {
    const std::string path = scratch.path("a.prices").toStdString();
    PriceLog log(path, "key");
    log.add(std::span(prices()).first(2));
    log.add(std::span(prices()).last(1));
    return path;
}

} // namespace

class TestPriceLog : public QObject {
    Q_OBJECT

private slots:
    void pricesAreReadAgain() {
        const Scratch scratch;
        QVERIFY(PriceLog(written(scratch), "key").known() == prices());
    }

    void anotherKeyBeginsAnew() {
        const Scratch scratch;
        const std::string path = written(scratch);
        QVERIFY(PriceLog(path, "other").known().empty());
        QVERIFY(PriceLog(path, "key").known().empty());
    }

    void aLineThatWasCutShortIsDropped() {
        const Scratch scratch;
        const std::string path = written(scratch);
        const auto whole = std::filesystem::file_size(path);
        std::filesystem::resize_file(path, whole - 3);
        PriceLog log(path, "key");
        QVERIFY(log.known() == std::vector<StepPrice>(prices().begin(), prices().begin() + 2));
        log.add(std::span(prices()).last(1));
        QCOMPARE(std::filesystem::file_size(path), whole);
        QVERIFY(PriceLog(path, "key").known() == prices());
    }

    void linesOfOtherContentEndTheFile() {
        const Scratch scratch;
        for (const char* line : {"[{\"of\": 1}]", "{", "[1]", "7", "[{\"of\":1,\"layer\":0,\"kind\":\"a\"}]"}) {
            const std::string path = written(scratch);
            std::ofstream(path, std::ios::app) << line << '\n';
            QVERIFY2(PriceLog(path, "key").known() == prices(), line);
            std::filesystem::remove(path);
        }
    }

    void otherFilesAreNotReplaced() {
        const Scratch scratch;
        const std::string path = scratch.path("b.prices").toStdString();
        std::ofstream(path) << "important\n";
        QVERIFY_THROWS_EXCEPTION(Error, PriceLog(path, "key"));
        std::ifstream file(path);
        std::string line;
        QVERIFY(std::getline(file, line) && line == "important");
    }

    void theFileIsRemoved() {
        const Scratch scratch;
        const std::string path = scratch.path("c.prices").toStdString();
        PriceLog log(path, "key");
        log.remove();
        QVERIFY(!std::filesystem::exists(path));
    }
};

SECATEUR_SUITE(TestPriceLog)
#include "tst_price_log.moc"
