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

/// A JSON object from an untrusted file. Keys are unique and the nesting depth is limited. The getters return nothing
/// if a key is absent or null. They throw an Error that names file and key if the value has another type.
class JsonObject {
public:
    /// @param subject the file's name, for error messages @throws Error if the text is not exactly one JSON object
    static JsonObject parse(std::string_view text, const std::string& subject);

    const std::string& subject() const { return m_subject; }
    std::vector<std::string> keys() const;
    bool has(const std::string& key) const;   ///< whether the key exists, even with the value null
    bool isSet(const std::string& key) const; ///< whether the key exists and its value is not null

    bool isText(const std::string& key) const;
    bool isObject(const std::string& key) const;
    /// Whether the key is absent, null, or has this value.
    bool isNullOr(const std::string& key, std::string_view json) const;
    /// The value as JSON, shortened, for messages.
    std::string shownValue(const std::string& key) const;
    /// This object without the keys for which `keeps` returns false.
    JsonObject filtered(const std::function<bool(const std::string&)>& keeps) const;

    /// A whole number. @throws Error also if the number is less than `least` or greater than `most`
    std::optional<std::int64_t> integer(const std::string& key, std::int64_t least, std::int64_t most) const;
    std::optional<double> number(const std::string& key) const;
    std::optional<bool> flag(const std::string& key) const;
    std::optional<std::string> text(const std::string& key) const;
    std::optional<JsonObject> object(const std::string& key) const;
    /// A list of whole numbers, each at least 0.
    std::optional<std::vector<std::int64_t>> sizes(const std::string& key) const;
    /// A list of numbers; null stands for NaN.
    std::optional<std::vector<double>> numbers(const std::string& key) const;
    /// A list of whole numbers, each at least 0, and ranges: [[0, 31], 77] is 0 to 31 and 77. Each range has first <=
    /// last.
    std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> ranges(const std::string& key) const;
    std::optional<std::vector<std::string>> texts(const std::string& key) const;
    std::optional<std::vector<JsonObject>> objects(const std::string& key) const;
    /// A list of one text and one whole number, which is at least 0: ["[SEP]", 102].
    std::optional<std::pair<std::string, std::int64_t>> named(const std::string& key) const;

    /// Checks that the object has no other keys than these. @throws Error naming the first unknown key
    void allowOnly(std::initializer_list<std::string_view> known) const;
    /// Reports an invalid value. @throws Error always, naming the key
    [[noreturn]] void refuse(const std::string& key, const std::string& message) const;

private:
    struct Value;
    JsonObject(std::shared_ptr<const Value> value, std::string subject);

    std::shared_ptr<const Value> m_value;
    std::string m_subject; ///< file and place in it: "config.json: rope_scaling"
};

} // namespace secateur
