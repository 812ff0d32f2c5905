#pragma once

#include "analysis/perplexity.h"

#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// What of a model ran.
struct EvaluatedMask {
    std::string name;             ///< for people; empty = dense
    std::string digest = "dense"; ///< contract.md, Mask JSON
};

/// What a run is compared with: on the same windows, of the same model.
struct ReferenceText {
    EvaluatedMask mask;
    Perplexity perplexity;
    LossDifference difference; ///< of the run to this one
};

struct TextEvaluation {
    std::string source; ///< file or folder
    std::string digest; ///< of the token ids of all windows
    Perplexity perplexity;
    std::optional<ReferenceText> reference;
};

/// How good a model is under a mask, by whatever was asked for.
struct Evaluation {
    EvaluatedMask mask;
    std::string dtype;
    std::string device;
    std::optional<TextEvaluation> text;
    double seconds = 0;
    int reusedLayers = 0; ///< whose streams were there from the dense model or a mask before
    std::vector<std::string> warnings;
};

} // namespace secateur
