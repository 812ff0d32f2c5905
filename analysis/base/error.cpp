#include "analysis/base/error.h"

#include <algorithm>

namespace secateur {

namespace {

/// Replaces control characters by '?'. Names from files may contain them; printed, they would break lines or control a
/// terminal.
std::string plain(std::string text) {
    constexpr unsigned char firstPrintable = 0x20;
    constexpr unsigned char del = 0x7f;
    std::replace_if(
        text.begin(), text.end(), [](unsigned char letter) { return letter < firstPrintable || letter == del; }, '?');
    return text;
}

std::string joinedSentence(const std::string& message, const std::string& subject, const std::string& hint) {
    std::string text = subject.empty() ? message : subject + ": " + message;
    if (!hint.empty())
        text += ". " + hint;
    return text;
}

} // namespace

Error::Error(std::string message, std::string subject, std::string hint)
    : std::runtime_error(plain(joinedSentence(message, subject, hint)))
    , m_message(plain(std::move(message)))
    , m_subject(plain(std::move(subject)))
    , m_hint(plain(std::move(hint))) {}

Error Error::within(const std::string& outerSubject) const {
    return Error(m_message, m_subject.empty() ? outerSubject : outerSubject + ": " + m_subject, m_hint);
}

} // namespace secateur
