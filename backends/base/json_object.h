#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

/// A JSON object from an untrusted file. Keys are unique, and depth is limited. The getters return nothing for an
/// absent key and for null, and throw an Error that names file and key for a value of another type.
class JsonObject {
public:
    /// @param subject the file, for messages. @throws Error if the text is not one JSON object
    static JsonObject parse(std::string_view text, const std::string& subject);

    const std::string& subject() const { return m_subject; }
    std::vector<std::string> keys() const;
    bool has(const std::string& key) const;   ///< true even if the value is null
    bool isSet(const std::string& key) const; ///< neither absent nor null

    bool isText(const std::string& key) const;
    bool isObject(const std::string& key) const;
    /// Whether the key is absent, null, or has this value.
    bool isNullOr(const std::string& key, std::string_view json) const;
    /// The value as JSON, shortened, for messages.
    std::string shownValue(const std::string& key) const;
    /// This object without the keys for which `keeps` returns false.
    JsonObject filtered(const std::function<bool(const std::string&)>& keeps) const;

    /// A whole number. @throws Error also if it is outside least..most
    std::optional<std::int64_t> integer(const std::string& key, std::int64_t least, std::int64_t most) const;
    std::optional<double> number(const std::string& key) const;
    std::optional<bool> flag(const std::string& key) const;
    std::optional<std::string> text(const std::string& key) const;
    std::optional<JsonObject> object(const std::string& key) const;
    /// A list of whole numbers from 0.
    std::optional<std::vector<std::int64_t>> sizes(const std::string& key) const;
    /// A list of whole numbers from 0 and ranges: [[0, 31], 77] is 0 to 31 and 77. Each range has first <= last.
    std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> ranges(const std::string& key) const;
    std::optional<std::vector<std::string>> texts(const std::string& key) const;
    std::optional<std::vector<JsonObject>> objects(const std::string& key) const;
    /// A list of one text and one whole number from 0: ["[SEP]", 102].
    std::optional<std::pair<std::string, std::int64_t>> named(const std::string& key) const;

    /// Checks that all keys are known. @throws Error naming the first one that is not
    void allowOnly(std::initializer_list<std::string_view> known) const;
    /// @throws Error that names this key
    [[noreturn]] void refuse(const std::string& key, const std::string& message) const;

private:
    struct Value;
    JsonObject(std::shared_ptr<const Value> value, std::string subject);

    std::shared_ptr<const Value> m_value;
    std::string m_subject; ///< "config.json: rope_scaling"
};

} // namespace secateur
