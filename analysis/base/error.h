#pragma once

#include <stdexcept>
#include <string>

namespace secateur {

/// A failure that the user can act on. what() reads "SUBJECT: MESSAGE. HINT", in one or two sentences.
class Error : public std::runtime_error {
public:
    /// @param message what failed, what was expected and what was found; no full stop at the end
    /// @param subject the file, tensor or option concerned; may be empty
    /// @param hint what to do about it; may be empty
    explicit Error(std::string message, std::string subject = {}, std::string hint = {});

    const std::string& message() const { return m_message; }
    const std::string& subject() const { return m_subject; }
    const std::string& hint() const { return m_hint; }

    /// The same failure with `outerSubject` in front of its subject: "model.safetensors: header".
    Error within(const std::string& outerSubject) const;

private:
    std::string m_message;
    std::string m_subject;
    std::string m_hint;
};

} // namespace secateur
