#include "widgets/gallery/gallery_runs.h"

#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "analysis/session/command_line.h"

#include <algorithm>
#include <variant>

namespace secateur {

namespace {

Figure runOn(const FromSession&, const ItemRun&, const Services&, const Progress&) {
    return {};
}

Figure runOn(const FromPrompt& source, const ItemRun& run, const Services& services, const Progress& progress) {
    const PromptInputs inputs{run.model, PruningMask(run.model->spec()), ComputeType::automatic,
                              services.readPrompt(*run.model, run.prompt), progress};
    Figure figure = source.draw(inputs, run.request.options);
    figure.command = shellText(plotPromptCommand(run.path, run.request.text, run.prompt, {}));
    return figure;
}

Figure runOn(const FromText& source, const ItemRun& run, const Services& services, const Progress& progress) {
    constexpr std::int64_t fewTokens = 8192;
    const std::int64_t tokens = run.text.tokens > 0 ? run.text.tokens : fewTokens;
    SequenceText text = services.readSequences(*run.model, run.text.text, tokens, progress.part(0, 0));
    if (const auto most = static_cast<std::size_t>(source.sequences); most > 0 && text.set.sequences.size() > most) {
        text.set.sequences.resize(most);
        text.labels.resize(std::min(text.labels.size(), most));
    }
    const auto plan = run.model->runner().plan(PruningMask(run.model->spec()));
    const TextInputs inputs{.model = *run.model,
                            .plan = *plan,
                            .maskName = {},
                            .sequences = text.set.sequences,
                            .labels = text.labels,
                            .progress = progress};
    Figure figure = source.draw(inputs, run.request.options);
    CommandLine command = plotCommand(run.path, run.request.text);
    if (!run.text.text.empty())
        command.insert(command.end(), {"--text", run.text.text});
    command.insert(command.end(), {"--max-tokens", std::to_string(tokens)});
    figure.command = shellText(command);
    return figure;
}

Figure runOn(const FromWeights& source, const ItemRun& run, const Services& services, const Progress& progress) {
    const WeightInputs inputs{
        .model = run.model, .tensors = services.storedTensors(run.path, progress.part(0, 0)), .progress = progress};
    Figure figure = source.draw(inputs, run.request.options);
    figure.command = shellText(plotCommand(run.path, run.request.text));
    return figure;
}

} // namespace

bool canRun(const FigureInfo& item, const Services& services) {
    if (std::holds_alternative<FromPrompt>(item.source))
        return static_cast<bool>(services.readPrompt);
    if (std::holds_alternative<FromWeights>(item.source))
        return static_cast<bool>(services.storedTensors);
    return std::holds_alternative<FromText>(item.source) && static_cast<bool>(services.readSequences);
}

Figure runItem(const ItemRun& run, const Services& services, const Progress& progress) {
    return std::visit([&](const auto& source) { return runOn(source, run, services, progress); },
                      run.request.figure->source);
}

double passesOf(const FigureInfo& item) {
    const auto* source = std::get_if<FromText>(&item.source);
    return source ? source->forwards * upFactor + source->backwards * backwardFactor : 0;
}

} // namespace secateur
