#pragma once

#include "analysis/session/services.h"

#include <stop_token>

namespace secateur {

/// Answers the messages of one client until its input ends or a stop is requested. Each call runs on a thread of its
/// own.
/// @param services of this machine @param input, output open files; nothing else may write to `output`
/// @throws Error for bytes that are no message, or if the client has another version
void serve(const Services& services, int input, int output, const std::stop_token& stop = {});

} // namespace secateur
