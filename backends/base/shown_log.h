#pragma once

namespace secateur {

/// Makes a logger that writes to standard error the default one. It shows control characters of messages as shownLine()
/// does, because messages contain texts from files.
void startShownLog();

} // namespace secateur
