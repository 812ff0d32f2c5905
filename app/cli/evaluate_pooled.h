#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/base/progress.h"
#include "analysis/text/sequences.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluate_text.h"

#include <optional>

namespace secateur::cli {

/// The sequences that an encoder without a head is given, with what there is to say of them among the warnings.
/// @throws UsageError for options that go with perplexity alone; Error for texts without documents
SequenceSet readSequences(ReadyModel& ready, const TextOptions& options, const Progress& progress);

/// How far the run moves the pooled output. @throws Error when there is nothing to compare it with
PooledEvaluation evaluatePooled(const ReadyModel& ready, const TextOptions& options, const SequenceSet& set,
                                const Contender& run, const Contender& reference, const Progress& progress);

/// For people.
void printPooled(const PooledEvaluation& pooled, const Evaluation& evaluation);

} // namespace secateur::cli
