#include "widgets/evaluations/evaluation_choice.h"

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/run_speed.h"

#include <QSettings>
#include <QString>

#include <algorithm>

namespace secateur {

namespace {

constexpr const char* textEntry = "evaluation.text";
constexpr const char* fieldEntry = "evaluation.field";
constexpr const char* windowEntry = "evaluation.window";
constexpr const char* tokensEntry = "evaluation.tokens";
constexpr const char* usualEntry = "evaluation.usual_tokens";

constexpr std::int64_t leastTokens = 2;
constexpr int mostWindow = 1 << 20;

std::string entry(const Session& session, const char* name) {
    const auto found = session.view.find(name);
    return found == session.view.end() ? std::string() : found->second;
}

/// A number of at least 2; nothing for any other text.
std::optional<std::int64_t> countIn(const std::string& text) {
    bool isNumber = false;
    const qlonglong value = QString::fromStdString(text).toLongLong(&isNumber);
    return isNumber && value >= leastTokens ? std::optional<std::int64_t>(value) : std::nullopt;
}

/// The latest evaluation of a text by token; null if there is none.
const Evaluation* latestRun(const Session& session) {
    const auto found =
        std::find_if(session.evaluations.rbegin(), session.evaluations.rend(), [](const Evaluation& one) {
            return one.text && one.text->perplexity.rules.protocol == TextProtocol::tokenPpl;
        });
    return found == session.evaluations.rend() ? nullptr : &*found;
}

} // namespace

std::map<std::string, std::string> viewOf(const KeptChoice& kept) {
    const auto text = [](const std::optional<std::int64_t>& count) {
        return count ? std::to_string(*count) : std::string("automatic");
    };
    return {{textEntry, kept.choice.text.path},
            {fieldEntry, kept.choice.text.field},
            {windowEntry, std::to_string(kept.choice.text.rules.window)},
            {tokensEntry, text(kept.choice.tokens)},
            {usualEntry, text(kept.usualTokens)}};
}

KeptChoice keptChoice(const Session& session, const EvaluationChoice& other) {
    KeptChoice kept{other, {}};
    TextRequest& text = kept.choice.text;
    if (const auto window = countIn(entry(session, windowEntry)); window && *window <= mostWindow) {
        text.path = entry(session, textEntry);
        text.field = entry(session, fieldEntry);
        text.rules.window = static_cast<int>(*window);
        kept.choice.tokens = countIn(entry(session, tokensEntry));
        kept.usualTokens = countIn(entry(session, usualEntry));
    } else if (const Evaluation* latest = latestRun(session)) {
        const PerplexityRules& rules = latest->text->perplexity.rules;
        text.path = latest->text->source == builtInSource ? std::string() : latest->text->source;
        text.field.clear();
        text.rules.window = rules.window;
        kept.choice.tokens.reset();
        kept.usualTokens = rules.mostTokens;
    }
    return kept;
}

std::int64_t decidedTokens(const Model& model, const std::function<std::int64_t()>& decide) {
    QSettings settings;
    const QString key = "evaluation/usualTokens/" + QString::fromStdString(model.fingerprint());
    if (const auto known = countIn(settings.value(key).toString().toStdString()))
        return *known;
    const std::int64_t decided = decide();
    settings.setValue(key, static_cast<qlonglong>(decided));
    return decided;
}

std::int64_t textTokens(const Model& model, const KeptChoice& kept, ComputeType type, const Progress& progress) {
    if (const auto tokens = kept.tokens())
        return *tokens;
    return decidedTokens(model, [&] {
        const auto dense = model.runner().plan(PruningMask(model.spec()), type);
        return interactiveTokens(runSpeed(model, *dense, progress), model.spec());
    });
}

} // namespace secateur
