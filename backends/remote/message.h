#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// The version of the messages (resources/manual/formats.md, Messages of a server).
inline constexpr int messageVersion = 1;

/// Maximum number of bytes of Message::body.
inline constexpr std::uint64_t mostBody = std::uint64_t{1} << 30U;

/// The line that a server writes before its first message. What a login prints before it is skipped.
inline constexpr std::string_view serverGreeting = "secateur-serve\n";

/// What a message is. A call is answered by any number of `progress` and `part`, and then by one of `result`, `failed`
/// and `cancelled`.
enum class MessageKind {
    hello,  ///< both sides: version of the messages and of the program; the server also its name
    call,   ///< a job with its arguments in the body
    enough, ///< a call shall end early, with what it has
    cancel, ///< a call shall stop
    ping,   ///< to be answered by pong
    pong,
    progress, ///< fraction and text
    part,     ///< the result of a part of a call in the body
    result,   ///< the result of a call in the body
    failed,   ///< message, subject and hint of an Error
    cancelled,
};

struct Message {
    MessageKind kind = MessageKind::ping;
    std::uint64_t id = 0;     ///< of the call or the ping
    std::string job = {};     ///< call
    std::string text = {};    ///< progress: what is done; failed: the message; hello: version of the program
    std::string subject = {}; ///< failed; hello of the server: name of its machine
    std::string hint = {};
    double fraction = 0;       ///< progress
    int version = 0;           ///< hello
    bool isUsageError = false; ///< failed
    std::string body = {};     ///< bytes of a WireWriter
};

/// A message as bytes: the length of its head (4 bytes) and of its body (8 bytes), little-endian, the head as JSON, the
/// body. @throws Error if the body is too large
std::string encoded(const Message& message);

/// Takes messages out of a stream of bytes. Memory grows only with the bytes that arrive.
class MessageReader {
public:
    void add(std::string_view bytes);
    /// The next message; nothing as long as it is incomplete. @throws Error for bytes that are no message, after which
    /// the reader must not be used
    std::optional<Message> next();

private:
    std::string m_bytes;
    std::size_t m_begin = 0; ///< of the bytes that are not read yet
};

} // namespace secateur
