#include "app/cli/sweep_recovery.h"

#include "app/reference/offered_values.h"

#include <cstdint>

namespace secateur::cli {

void addRecoveryOptions(CLI::App& verb, RecoveryChoice& choice) {
    CLI::Option* recover =
        verb.add_option("--recover", choice.recipe,
                        "Also train a LoRA adapter under each mask by this recipe (see: list recipes), and score the "
                        "recovered model as a further point")
            ->option_text("RECIPE")
            ->check(offersIds("recipes"));
    verb.add_option("--recover-data", choice.data,
                    "Text, .jsonl or .json to train on, as --data of recover [built-in text]")
        ->option_text("FILE")
        ->needs(recover);
    CLI::Option* steps = verb.add_option("--recover-steps", choice.steps, "Number of steps of each training [recipe]")
                             ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
                             ->needs(recover);
    CLI::Option* epochs =
        verb.add_option("--recover-epochs", choice.epochs, "Passes of each training over its data [recipe]")
            ->check(CLI::PositiveNumber)
            ->needs(recover)
            ->excludes(steps);
    verb.add_option("--recover-minutes", choice.minutes, "Duration of each training in minutes [recipe]")
        ->check(CLI::PositiveNumber)
        ->needs(recover)
        ->excludes(steps)
        ->excludes(epochs);
}

} // namespace secateur::cli
