#pragma once

#include "analysis/text/sequences.h"
#include "analysis/text/tokenizer.h"

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A message of a conversation. A row of instructions is a conversation of two messages.
struct ChatMessage {
    std::string role; ///< "system", "user" or "assistant"
    std::string content;
    std::string input{}; ///< further text that an instruction is about; may be empty
};

/// A part of a conversation as a template writes it.
struct TemplatePart {
    std::string text;           ///< of a special token: its spelling
    std::optional<int> token{}; ///< the special token; empty = text, which never contains special tokens
    bool isTrained = false;     ///< whether the loss counts its tokens
    bool startsText = false;    ///< whether it is encoded apart from the part before it, after a BOS of its own
};

/// A way to write conversations as text.
struct RowTemplate {
    std::string_view name;
    std::string_view summary;
    std::string_view system;                    ///< system message of conversations without one; empty = none
    std::initializer_list<const char*> special; ///< special tokens that it writes, besides BOS and EOS
    /// The parts of a conversation. @throws Error for an order of messages that the template does not have
    std::vector<TemplatePart> (*parts)(const RowTemplate&, std::vector<ChatMessage>, const Tokenizer&);
};

std::span<const RowTemplate> rowTemplates();
/// The names of all templates for messages: "alpaca, alpaca_code, chatml".
std::string rowTemplateNames();
/// @throws UsageError listing the known names
const RowTemplate& rowTemplate(std::string_view name);
/// The template that writes conversations as a checkpoint's chat template does; nullptr if it is not known. Chat
/// templates are programs. They are recognised by their digest and never executed.
const RowTemplate* recognisedTemplate(std::string_view chatTemplate);

/// A row as tokens, and which of them the loss counts.
struct EncodedRow {
    std::vector<int> ids;
    std::vector<bool> isTrained; ///< [ids]
};

/// Encodes parts up to the next `startsText` as one text. A token of two parts is trained if one of them is. Special
/// tokens in the text of a row are encoded as ordinary text.
EncodedRow encodedRow(const std::vector<TemplatePart>& parts, const Tokenizer& tokenizer, BosRule bos);

/// The tokens that begin a text: a BOS or none.
std::vector<int> beginningTokens(const Tokenizer& tokenizer, BosRule bos);

} // namespace secateur
