#pragma once

// ATen must be included before Qt.
#include <ATen/ATen.h>

#include "analysis/session/services.h"
#include "backends/engine/open_model.h"
#include "backends/session/mask_json.h"
#include "tests/support/drawn_text.h"

#include <cstdint>
#include <string>

namespace secateur::test {

/// A calibration text of random tokens, as Services::readSequences returns it.
inline SequenceText drawnSequences(const Model& model) {
    constexpr std::size_t windows = 16;
    constexpr int length = 24;
    SequenceText text;
    text.set = DrawnText(model.spec().vocab, 5).fixedWindows(windows, length).windows;
    const std::int64_t tokens = windows * length;
    text.data = MeasuredData{"built-in", windows, tokens, tokens, length, "document", "never"};
    text.digest = "sha256:calibration";
    return text;
}

/// Services that open models of tests/data/forward, and calibrate on and score texts of random tokens.
inline Services calibratedServices() {
    Services services;
    services.isSession = [](const std::string&) { return false; };
    services.openModel = [](const std::string& path, const Progress& progress) { return openModel(path, progress); };
    services.availableMemory = [] { return std::int64_t{1} << 32; };
    services.maskDigest = maskDigest;
    services.readSequences = [](const Model& model, const std::string&, std::int64_t, const Progress&) {
        return drawnSequences(model);
    };
    services.readText = [](const Model& model, const TextRequest&, const Progress&) {
        return EvaluationText{"a text", "sha256:drawn", DrawnText(model.spec().vocab, 3).fixedWindows(8, 14), {}};
    };
    return services;
}

} // namespace secateur::test
