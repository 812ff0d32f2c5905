#include "analysis/error.h"

namespace secateur {

namespace {

std::string sentence(const std::string& message, const std::string& subject, const std::string& hint) {
    std::string text = subject.empty() ? message : subject + ": " + message;
    if (!hint.empty())
        text += ". " + hint;
    return text;
}

} // namespace

Error::Error(std::string message, std::string subject, std::string hint)
    : std::runtime_error(sentence(message, subject, hint))
    , m_message(std::move(message))
    , m_subject(std::move(subject))
    , m_hint(std::move(hint)) {}

Error Error::within(const std::string& outerSubject) const {
    return Error(m_message, m_subject.empty() ? outerSubject : outerSubject + ": " + m_subject, m_hint);
}

} // namespace secateur
