#pragma once

#include <string>

namespace secateur {

// Numbers as the window and its figures show them: with a true minus sign (U+2212), and shares as percentages with one
// decimal. Files, copied values and the command line use ASCII.

/// The same text with "−" in place of each "-". @param number only a number, or several
std::string withMinus(std::string number);
/// significant() with a true minus sign: "−0.0123".
std::string shownNumber(double value, int digits = 3);
/// withError() with a true minus sign: "−12.3 ± 0.2".
std::string shownWithError(double value, double error);
/// A difference, with "+" in front of positive ones: "+0.021 ± 0.002".
std::string shownChange(double value, double error = 0);
/// "61.0 %" for 0.61
std::string shownShare(double share);
/// "61.0 ± 1.2 %"
std::string shownShare(double share, double error);

} // namespace secateur
