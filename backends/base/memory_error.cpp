#include "backends/base/memory_error.h"

#include "analysis/base/text.h"
#include "backends/base/runtime.h"

#include <fmt/format.h>

#include <cstdlib>

namespace secateur {

Error memoryError(const std::string& subject, double bytes) {
    const std::string wanted = bytes > 0 ? fmt::format(" for another {}", shortBytes(bytes)) : "";
    return Error(fmt::format("there is not enough memory{}: {} are available", wanted,
                             shortBytes(static_cast<double>(availableMemory()))),
                 subject, "Use smaller batches (--batch-tokens), a smaller --memory-budget, or more memory");
}

Error torchError(const c10::Error& error, const std::string& subject) {
    const std::string text = error.what_without_backtrace();
    constexpr std::string_view allocation = "tried to allocate ";
    const std::size_t at = text.find(allocation);
    if (at == std::string::npos)
        return Error(text, subject);
    return memoryError(subject, std::strtod(text.c_str() + at + allocation.size(), nullptr));
}

} // namespace secateur
