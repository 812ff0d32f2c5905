#pragma once

#include "analysis/base/progress.h"
#include "analysis/running/runner.h"
#include "analysis/session/session.h"
#include "analysis/text/scored_text.h"
#include "widgets/evaluations/extra_items.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

class Model;

/// TextEvaluation::source of the built-in text.
inline constexpr std::string_view builtInSource = "built-in";

/// The user's choice of the text and other settings of evaluations, the same for all masks.
struct EvaluationChoice {
    TextRequest text;
    /// Maximum number of tokens; empty = the usual number of the model (KeptChoice::usualTokens).
    std::optional<std::int64_t> tokens = {};
    bool isAutomatic = true; ///< whether each edit of the mask is measured
    ExtraChoice extra = {};
    bool operator==(const EvaluationChoice&) const = default;
};

/// A choice with the number of tokens that is used if the user has chosen none.
struct KeptChoice {
    EvaluationChoice choice;
    /// Decided once per model from its speed, and then kept in the settings and in sessions, so that it does not depend
    /// on what else the machine does; empty = not decided yet.
    std::optional<std::int64_t> usualTokens = {};

    std::optional<std::int64_t> tokens() const { return choice.tokens ? choice.tokens : usualTokens; }
};

/// The choice as entries of Session::view.
std::map<std::string, std::string> viewOf(const KeptChoice& kept);

/// The choice that a session holds: in its view, or else that of its latest evaluation of a text, so that stored values
/// stay comparable. @param other the choice if the session has neither; its other settings are kept in any case
KeptChoice keptChoice(const Session& session, const EvaluationChoice& other);

/// The model's usual number of tokens from the settings; if there is none, decides it and writes it there. Thread-safe.
/// @param decide interactiveTokens() of the model
std::int64_t decidedTokens(const Model& model, const std::function<std::int64_t()>& decide);

/// The number of tokens of a choice; if it is not decided yet, times the dense model. For worker threads.
std::int64_t textTokens(const Model& model, const KeptChoice& kept, ComputeType type, const Progress& progress);

} // namespace secateur
