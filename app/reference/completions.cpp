#include "app/reference/completions.h"

#include "app/reference/shell_text.h"

#include <array>

namespace secateur {

std::span<const Shell> shells() {
    static constexpr std::array rows{
        Shell{"bash", "Completions for bash", bashCompletion},
        Shell{"zsh", "Completions for zsh", zshCompletion},
        Shell{"fish", "Completions for fish", fishCompletion},
    };
    return rows;
}

} // namespace secateur
