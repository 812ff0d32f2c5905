#include "analysis/base/error.h"

#include "analysis/base/shown_text.h"

#include <utility>

namespace secateur {

namespace {

/// Names from files may break lines, control terminals or have any length.
const std::string& madeSafe(std::string& text) {
    return text = shownLine(text);
}

std::string joinedSentence(const std::string& message, const std::string& subject, const std::string& hint) {
    std::string text = subject.empty() ? message : subject + ": " + message;
    if (!hint.empty())
        text += ". " + hint;
    return text;
}

} // namespace

Error::Error(std::string message, std::string subject, std::string hint)
    : std::runtime_error(joinedSentence(madeSafe(message), madeSafe(subject), madeSafe(hint)))
    , m_message(std::move(message))
    , m_subject(std::move(subject))
    , m_hint(std::move(hint)) {}

Error Error::within(const std::string& outerSubject) const {
    return Error(m_message, m_subject.empty() ? outerSubject : outerSubject + ": " + m_subject, m_hint);
}

} // namespace secateur
