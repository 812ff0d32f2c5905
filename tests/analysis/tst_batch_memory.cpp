// Batches where memory is short.

#ifndef Q_MOC_RUN
#include "tests/support/counting_model.h"

#include "analysis/compensation/fit_compensation.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/padded_batches.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <cmath>
#include <vector>

using namespace secateur;
using namespace secateur::test;

namespace {

double relative(double found, double expected) {
    return std::abs(found - expected) / std::abs(expected);
}

} // namespace

class TestBatchMemory : public QObject {
    Q_OBJECT

    /// A small model with a text of 16 sequences of 32 tokens.
    struct Case {
        CountingModel model{openModel(data().filePath("forward/llama-gqa/model.safetensors").toStdString())};
        std::vector<TokenSequence> sequences;

        Case() {
            for (std::size_t i = 0; i < 16; ++i) {
                TokenSequence sequence{{}, {}, i};
                for (std::size_t at = 0; at < 32; ++at)
                    sequence.ids.push_back(static_cast<int>((i * 17 + at * at * 11) % 37));
                sequence.types.resize(sequence.ids.size());
                sequences.push_back(sequence);
            }
        }

        /// Limits the memory so that batches of `tokens` tokens fit.
        void limitTo(std::int64_t tokens) {
            for (model.counted.memoryLeft = std::int64_t{1} << 40; fittingTokens(model, 4096) > tokens;)
                model.counted.memoryLeft -= model.counted.memoryLeft / 3;
        }
        double loss() const {
            ScoredText text;
            text.windows.sequences = sequences;
            text.firstScored.assign(sequences.size(), 1);
            return perplexity(model, *model.runner().plan(PruningMask(model.spec())), text).lossNats;
        }
        double importance() {
            const auto plan = model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
            model.counted.forget();
            return measureForward(model, {*plan, sequences}, parseMetricRequests("amp_head"), {}).front().values(0, 0);
        }
        double gradient() const {
            const auto plan = model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
            return measureGradient(model, {.plan = *plan, .sequences = sequences}, parseMetricRequests("gnorm"), {})
                .front()
                .values(0, 0);
        }
    };

private slots:
    void batchesAreHalvedUntilTheyFit() {
        Case c;
        QCOMPARE(fittingTokens(c.model, 4096), 4096);
        QCOMPARE(paddedBatches(c.model, c.sequences, 4096).batches.size(), std::size_t{1});
        c.limitTo(256);
        QCOMPARE(fittingTokens(c.model, 4096), 256);
        QCOMPARE(fittingTokens(c.model, 200), 200);
        QCOMPARE(paddedBatches(c.model, c.sequences, 4096).batches.size(), std::size_t{2});
        c.model.counted.memoryLeft = 0;
        QCOMPARE(fittingTokens(c.model, 4096), 128);
    }

    void resultsAreThoseOfLargeBatches() {
        Case c;
        const double loss = c.loss();
        const double importance = c.importance();
        const double gradient = c.gradient();
        const std::size_t layers = c.model.counted.layers.size();
        c.limitTo(128);
        QVERIFY(relative(c.loss(), loss) < 1e-6);
        QVERIFY(relative(c.importance(), importance) < 1e-6);
        QVERIFY(relative(c.gradient(), gradient) < 1e-5);
        QVERIFY(c.model.counted.layers.size() > layers);
    }

    void aFitThatNeedsMoreMemoryIsRefused() {
        Case c;
        PruningMask mask(c.model.spec());
        LayerMask first = mask.layer(0);
        first.heads[0] = false;
        mask.setLayer(0, first);
        c.model.counted.memoryLeft = 1000;
        const QString said = Scratch().refusal([&] {
            fitCompensation(c.model, mask, CompensationMode::weights, {c.sequences, 4096, ComputeType::float32}, {});
        });
        QVERIFY2(said.contains("of memory to fit a compensation of layer 0, but 1.00 kB are available"),
                 qPrintable(said));
    }
};

SECATEUR_SUITE(TestBatchMemory)
#include "tst_batch_memory.moc"
