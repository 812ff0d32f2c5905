#include "backends/training/row_templates.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "backends/base/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace secateur {

namespace {

/// Collects the parts of a conversation.
class PartWriter {
public:
    explicit PartWriter(const Tokenizer& tokenizer)
        : m_tokenizer(tokenizer) {}

    /// The next part begins a text.
    void startText() { m_startsText = true; }
    void text(std::string text, bool isTrained = false) { add({std::move(text), {}, isTrained}); }
    /// A special token by its spelling; text, if the tokenizer does not have it.
    void special(const std::string& spelling, bool isTrained = false) {
        const auto id = m_tokenizer.id(spelling);
        add({spelling, id && m_tokenizer.isSpecial(*id) ? id : std::nullopt, isTrained});
    }
    void bos() { token(m_tokenizer.card().bos, false); }
    void eos() { token(m_tokenizer.card().eos, true); }

    std::vector<TemplatePart> take() { return std::move(m_parts); }

private:
    void token(std::optional<int> id, bool isTrained) {
        if (id)
            add({m_tokenizer.token(*id).value_or(""), id, isTrained});
    }

    void add(TemplatePart part) {
        part.startsText = std::exchange(m_startsText, false);
        m_parts.push_back(std::move(part));
    }

    const Tokenizer& m_tokenizer;
    bool m_startsText = false;
    std::vector<TemplatePart> m_parts;
};

bool isAnswer(const ChatMessage& message) {
    return message.role == "assistant";
}

/// The content of a message, followed by the input of its instruction.
std::string contentOf(const ChatMessage& message) {
    return message.input.empty() ? message.content : message.content + "\n\n" + message.input;
}

/// Removes a system message in front. Checks that users and assistants speak in turn after it.
std::optional<std::string> takeSystem(std::vector<ChatMessage>& messages, const RowTemplate& row) {
    std::optional<std::string> system;
    if (!messages.empty() && messages.front().role == "system") {
        system = messages.front().content;
        messages.erase(messages.begin());
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const char* const expected = i % 2 == 0 ? "user" : "assistant";
        if (messages[i].role != expected)
            throw Error(fmt::format("has a message of the role {} where the template {} has {}", messages[i].role,
                                    row.name, expected));
    }
    return system;
}

constexpr std::string_view alpacaTask = "Below is an instruction that describes a task";
constexpr std::string_view alpacaInput = ", paired with an input that provides further context";
constexpr std::string_view alpacaRequest = ". Write a response that appropriately completes the request.";

std::string alpacaPrompt(const ChatMessage& message, const std::optional<std::string>& system, bool isFirst) {
    const bool hasInput = !trimmed(message.input).empty();
    std::string text;
    if (isFirst)
        text = system ? *system : fmt::format("{}{}{}", alpacaTask, hasInput ? alpacaInput : "", alpacaRequest);
    text += "\n\n### Instruction:\n" + message.content;
    if (hasInput)
        text += "\n\n### Input:\n" + message.input;
    return text + "\n\n### Response:\n";
}

std::vector<TemplatePart> alpaca(const RowTemplate& row, std::vector<ChatMessage> messages, const Tokenizer& tokenizer,
                                 bool encodesAnswersApart) {
    const auto system = takeSystem(messages, row);
    PartWriter parts(tokenizer);
    parts.startText();
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!isAnswer(messages[i])) {
            parts.text(alpacaPrompt(messages[i], system, i == 0));
            continue;
        }
        if (encodesAnswersApart)
            parts.startText();
        parts.text(messages[i].content, true);
        parts.eos();
    }
    return parts.take();
}

std::vector<TemplatePart> alpacaParts(const RowTemplate& row, std::vector<ChatMessage> messages,
                                      const Tokenizer& tokenizer) {
    return alpaca(row, std::move(messages), tokenizer, false);
}

std::vector<TemplatePart> alpacaCodeParts(const RowTemplate& row, std::vector<ChatMessage> messages,
                                          const Tokenizer& tokenizer) {
    return alpaca(row, std::move(messages), tokenizer, true);
}

std::vector<TemplatePart> chatmlParts(const RowTemplate& row, std::vector<ChatMessage> messages,
                                      const Tokenizer& tokenizer) {
    if (!row.system.empty() && !messages.empty() && messages.front().role != "system")
        messages.insert(messages.begin(), {"system", std::string(row.system)});
    PartWriter parts(tokenizer);
    for (const ChatMessage& message : messages) {
        parts.special("<|im_start|>");
        parts.text(message.role + "\n");
        parts.text(contentOf(message), isAnswer(message));
        parts.special("<|im_end|>", isAnswer(message));
        parts.text("\n");
    }
    return parts.take();
}

std::vector<TemplatePart> llama2Parts(const RowTemplate& row, std::vector<ChatMessage> messages,
                                      const Tokenizer& tokenizer) {
    const auto system = takeSystem(messages, row);
    PartWriter parts(tokenizer);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        std::string content = contentOf(messages[i]);
        if (system && i == 0)
            content = "<<SYS>>\n" + *system + "\n<</SYS>>\n\n" + content;
        content = trimmed(std::string(content));
        if (isAnswer(messages[i])) {
            parts.text(" ");
            parts.text(content + " ", true);
            parts.eos();
        } else {
            parts.bos();
            parts.text("[INST] " + content + " [/INST]");
        }
    }
    return parts.take();
}

std::vector<TemplatePart> llama3Parts(const RowTemplate&, std::vector<ChatMessage> messages,
                                      const Tokenizer& tokenizer) {
    PartWriter parts(tokenizer);
    parts.bos();
    for (const ChatMessage& message : messages) {
        parts.special("<|start_header_id|>");
        parts.text(message.role);
        parts.special("<|end_header_id|>");
        parts.text("\n\n");
        parts.text(std::string(trimmed(contentOf(message))), isAnswer(message));
        parts.special("<|eot_id|>", isAnswer(message));
    }
    return parts.take();
}

constexpr std::array<RowTemplate, 7> conversationTemplates{{
    {"alpaca", "Stanford Alpaca; the answer ends with EOS", "", {}, alpacaParts},
    {"alpaca_code",
     "alpaca, with answers encoded apart after a BOS of their own, as the code of AMP does",
     "",
     {},
     alpacaCodeParts},
    {"chatml", "ChatML", "", {"<|im_start|>", "<|im_end|>"}, chatmlParts},
    {"smollm2",
     "ChatML of SmolLM2-Instruct",
     "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
     {"<|im_start|>", "<|im_end|>"},
     chatmlParts},
    {"qwen2", "ChatML of Qwen2-Instruct", "You are a helpful assistant.", {"<|im_start|>", "<|im_end|>"}, chatmlParts},
    {"llama2", "Llama-2-Chat", "", {}, llama2Parts},
    {"llama3", "Llama-3-Instruct", "", {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}, llama3Parts},
}};

/// A chat template of published checkpoints, and the template that writes the same messages.
struct KnownChatTemplate {
    std::string_view digest; ///< SHA-256 of its text, with line breaks in place of `\n`
    std::string_view name;
};

constexpr std::array<KnownChatTemplate, 7> knownChatTemplates{{
    {"153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3", "chatml"},
    {"7efc46ad1c5f20cfe0c709f7e289e87870c1724dee63504949bf7cca9a108fc5", "chatml"}, // without a prompt for the answer
    {"872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788", "smollm2"},
    {"793202280c0910ab26bc6eb57c8212c2417324c6d8c4efd0d10d59092ab3e3eb", "qwen2"},
    {"9780fae5bfea3cfd7be37d328c6edfd296a8869be8131495bbe7eb37e780c88c", "llama2"},
    {"ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122", "llama3"},
    {"b48c47f6443892716176eb200bf4ef108f64e06ca26ed0fa8ebc0a4b3992fcb2", "llama3"}, // always prompts for an answer
}};

} // namespace

std::span<const RowTemplate> rowTemplates() {
    return conversationTemplates;
}

std::string rowTemplateNames() {
    std::vector<std::string> names;
    for (const RowTemplate& row : conversationTemplates)
        names.emplace_back(row.name);
    return join(names, ", ");
}

const RowTemplate& rowTemplate(std::string_view name) {
    const auto found = std::ranges::find(conversationTemplates, name, &RowTemplate::name);
    if (found == conversationTemplates.end())
        throw UsageError(fmt::format("is not known; the templates are {}", rowTemplateNames()),
                         fmt::format("template {}", name));
    return *found;
}

const RowTemplate* recognisedTemplate(std::string_view chatTemplate) {
    std::string text(chatTemplate);
    for (std::size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at))
        text.replace(at, 2, "\n");
    Sha256 sum;
    sum.add(text.data(), text.size());
    const auto found = std::ranges::find(knownChatTemplates, sum.hexadecimal(), &KnownChatTemplate::digest);
    return found == knownChatTemplates.end() ? nullptr : &rowTemplate(found->name);
}

} // namespace secateur
