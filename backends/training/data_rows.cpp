#include "backends/training/data_rows.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <utility>

namespace secateur {

namespace {

std::string textField(const JsonObject& row, const std::string& key) {
    const auto text = row.text(key);
    if (!text)
        row.refuse(key, "is missing");
    return *text;
}

} // namespace

LabelledLine labelledLine(const std::string& line, const std::string& place) {
    const std::size_t at = line.rfind('@');
    if (at == std::string::npos)
        throw Error("has no label: expected TEXT@LABEL", place);
    LabelledLine result{std::string(trimmed(line.substr(0, at))), std::string(trimmed(line.substr(at + 1)))};
    if (result.text.empty() || result.label.empty())
        throw Error(fmt::format("has no {}: expected TEXT@LABEL", result.text.empty() ? "text" : "label"), place);
    return result;
}

std::vector<ChatMessage> instructionMessages(const JsonObject& row) {
    return {{"user", textField(row, "instruction"), row.text("input").value_or("")},
            {"assistant", textField(row, "output")}};
}

std::vector<ChatMessage> chatMessages(const JsonObject& row) {
    const auto objects = row.objects("messages");
    if (!objects || objects->empty())
        row.refuse("messages", "is missing or empty");
    std::vector<ChatMessage> messages;
    for (const JsonObject& message : *objects) {
        messages.push_back({textField(message, "role"), textField(message, "content")});
        const std::string& role = messages.back().role;
        if (role != "system" && role != "user" && role != "assistant")
            message.refuse("role", fmt::format("expected system, user or assistant, found \"{}\"", role));
    }
    return messages;
}

} // namespace secateur
