#pragma once

#include "analysis/evaluation/evaluation.h"
#include "backends/session/hdf5_io.h"

namespace secateur {

// How fast a model ran, and what it wrote, in a session. What is read is checked against the file, and medians and
// speed-ups are worked out again from the seconds of every run. All throw Error, its subject the place inside the
// group.

void writeLatency(const hdf5::Handle& group, const Latency& latency);
Latency readLatency(const hdf5::Handle& group);

void writePrefill(const hdf5::Handle& group, const Prefill& prefill);
Prefill readPrefill(const hdf5::Handle& group);

/// What the references of all times of an evaluation ran: attributes of the evaluation itself.
void writeTimedAgainst(const hdf5::Handle& evaluation, const EvaluatedMask& mask);
EvaluatedMask readTimedAgainst(const hdf5::Handle& evaluation);

void writeContinuation(const hdf5::Handle& group, const PromptContinuation& written);
PromptContinuation readContinuation(const hdf5::Handle& group);

} // namespace secateur
