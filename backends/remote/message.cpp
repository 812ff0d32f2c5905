#include "backends/remote/message.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace secateur {

namespace {

constexpr std::array<std::string_view, 11> kindNames{"hello",    "call", "enough", "cancel", "ping",     "pong",
                                                     "progress", "part", "result", "failed", "cancelled"};
constexpr std::uint32_t mostHead = 1U << 16U;
constexpr std::size_t prefix = sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t mostText = 8192; ///< bytes of a text in a head

template <typename Number>
Number numberAt(std::string_view bytes, std::size_t place) {
    Number number{};
    std::memcpy(&number, bytes.data() + place, sizeof(Number));
    return number;
}

MessageKind kindOf(const JsonObject& head) {
    const std::string name = head.text("kind").value_or("");
    const auto* const found = std::ranges::find(kindNames, name);
    if (found == kindNames.end())
        throw Error("A message is of an unknown kind");
    return static_cast<MessageKind>(found - kindNames.begin());
}

Message messageOf(const JsonObject& head) {
    Message message;
    message.kind = kindOf(head);
    message.id =
        static_cast<std::uint64_t>(head.integer("id", 0, std::numeric_limits<std::int64_t>::max()).value_or(0));
    message.job = head.text("job").value_or("");
    message.text = head.text("text").value_or("");
    message.subject = head.text("subject").value_or("");
    message.hint = head.text("hint").value_or("");
    message.fraction = std::clamp(head.number("fraction").value_or(0), 0.0, 1.0);
    message.version = static_cast<int>(head.integer("version", 0, std::numeric_limits<int>::max()).value_or(0));
    message.isUsageError = head.flag("usage").value_or(false);
    return message;
}

} // namespace

std::string encoded(const Message& message) {
    nlohmann::ordered_json head{{"kind", kindNames.at(static_cast<std::size_t>(message.kind))}};
    const auto addText = [&head](const char* key, const std::string& text) {
        if (!text.empty())
            head[key] = text.substr(0, mostText);
    };
    if (message.id != 0)
        head["id"] = message.id;
    addText("job", message.job);
    addText("text", message.text);
    addText("subject", message.subject);
    addText("hint", message.hint);
    if (message.fraction != 0)
        head["fraction"] = message.fraction;
    if (message.version != 0)
        head["version"] = message.version;
    if (message.isUsageError)
        head["usage"] = true;
    const std::string text = head.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (message.body.size() > mostBody)
        throw Error(
            fmt::format("A message has {} bytes, more than the {} that one may have", message.body.size(), mostBody));
    const auto headSize = static_cast<std::uint32_t>(text.size());
    const auto bodySize = static_cast<std::uint64_t>(message.body.size());
    std::string bytes;
    bytes.reserve(prefix + text.size() + message.body.size());
    bytes.append(reinterpret_cast<const char*>(&headSize), sizeof headSize);
    bytes.append(reinterpret_cast<const char*>(&bodySize), sizeof bodySize);
    return bytes.append(text).append(message.body);
}

void MessageReader::add(std::string_view bytes) {
    if (m_begin > 0) {
        m_bytes.erase(0, m_begin);
        m_begin = 0;
    }
    m_bytes.append(bytes);
}

std::optional<Message> MessageReader::next() {
    const std::string_view bytes = std::string_view(m_bytes).substr(m_begin);
    if (bytes.size() < prefix)
        return std::nullopt;
    const auto head = numberAt<std::uint32_t>(bytes, 0);
    const auto body = numberAt<std::uint64_t>(bytes, sizeof(std::uint32_t));
    if (head > mostHead || body > mostBody)
        throw Error(fmt::format("A message states {} and {} bytes, more than one may have", head, body));
    if (bytes.size() - prefix < head || bytes.size() - prefix - head < body)
        return std::nullopt;
    Message message = messageOf(JsonObject::parse(bytes.substr(prefix, head), "message"));
    message.body = bytes.substr(prefix + head, body);
    m_begin += prefix + head + static_cast<std::size_t>(body);
    return message;
}

} // namespace secateur
