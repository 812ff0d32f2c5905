#include "backends/base/json_object.h"

#include "analysis/base/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>

namespace secateur {

using Json = nlohmann::json;

namespace {

constexpr int deepest = 32;

/// Empties a value from its leaves upwards. The library's destructor allocates where a value has children, and without
/// memory that would end the program. The depth of parsed documents is limited.
void dismantle(Json& value) {
    if (!value.is_structured())
        return;
    for (Json& child : value)
        dismantle(child);
    value.clear();
}

/// A value whose end needs no memory.
struct Document {
    Document() = default;
    explicit Document(Json&& value)
        : root(std::move(value)) {}
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;
    ~Document() { dismantle(root); }

    Json root;
};

} // namespace

/// A parsed document and the object in it that a JsonObject stands for.
struct JsonObject::Value {
    std::shared_ptr<const Document> document;
    const Json* node;
};

namespace {

/// Callback of the JSON parser that rejects repeated keys and deep nesting.
class DepthWatch {
public:
    explicit DepthWatch(const std::string& subject)
        : m_subject(subject) {}

    bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
        if (depth > deepest)
            throw Error(fmt::format("nests deeper than {} levels", deepest), m_subject);
        if (event == Json::parse_event_t::object_start)
            m_keys.emplace_back();
        else if (event == Json::parse_event_t::object_end)
            m_keys.pop_back();
        else if (event == Json::parse_event_t::key && !m_keys.back().insert(parsed.get<std::string>()).second)
            throw Error(fmt::format("has the key \"{}\" twice", parsed.get<std::string>()), m_subject);
        return true;
    }

private:
    std::string m_subject;
    std::vector<std::set<std::string>> m_keys;
};

/// The value of a key; nullptr if it is absent or null.
const Json* valueAt(const Json& object, const std::string& key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string shown(const Json& value) {
    constexpr std::size_t longest = 40;
    // Invalid UTF-8 in texts is replaced, because dump() would throw otherwise.
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::optional<std::int64_t> wholeNumber(const Json& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return static_cast<std::int64_t>(number);
    } else if (value.is_number_integer()) {
        return value.get<std::int64_t>();
    }
    return std::nullopt;
}

} // namespace

JsonObject::JsonObject(std::shared_ptr<const Value> value, std::string subject)
    : m_value(std::move(value))
    , m_subject(std::move(subject)) {}

JsonObject JsonObject::parse(std::string_view text, const std::string& subject) {
    const auto document = std::make_shared<Document>();
    try {
        DepthWatch watch(subject);
        document->root = Json::parse(text.begin(), text.end(), std::ref(watch));
    } catch (const Json::parse_error& error) {
        throw Error(fmt::format("is not valid JSON (byte {})", error.byte), subject);
    } catch (const Json::exception&) {
        throw Error("is not valid JSON (a number out of range)", subject);
    }
    if (!document->root.is_object())
        throw Error("is not a JSON object", subject);
    return JsonObject(std::make_shared<const Value>(Value{document, &document->root}), subject);
}

void JsonObject::refuse(const std::string& key, const std::string& message) const {
    throw Error(message, m_subject + ": " + key);
}

void JsonObject::allowOnly(std::initializer_list<std::string_view> known) const {
    for (const auto& item : m_value->node->items()) {
        if (std::ranges::find(known, item.key()) == known.end())
            refuse(item.key(), fmt::format("is an unknown field; the fields are {}", fmt::join(known, ", ")));
    }
}

std::vector<std::string> JsonObject::keys() const {
    std::vector<std::string> keys;
    for (const auto& item : m_value->node->items())
        keys.push_back(item.key());
    return keys;
}

bool JsonObject::has(const std::string& key) const {
    return m_value->node->contains(key);
}

bool JsonObject::isSet(const std::string& key) const {
    return valueAt(*m_value->node, key) != nullptr;
}

bool JsonObject::isText(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    return value && value->is_string();
}

bool JsonObject::isObject(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    return value && value->is_object();
}

bool JsonObject::isNullOr(const std::string& key, std::string_view json) const {
    const Json* value = valueAt(*m_value->node, key);
    return !value || *value == Document(Json::parse(json)).root;
}

std::string JsonObject::shownValue(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    return value ? shown(*value) : "null";
}

JsonObject JsonObject::filtered(const std::function<bool(const std::string&)>& keeps) const {
    const auto document = std::make_shared<Document>(Json::object());
    for (const auto& item : m_value->node->items()) {
        if (keeps(item.key()))
            document->root[item.key()] = item.value();
    }
    return JsonObject(std::make_shared<const Value>(Value{document, &document->root}), m_subject);
}

std::optional<std::int64_t> JsonObject::integer(const std::string& key, std::int64_t least, std::int64_t most) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    const auto number = wholeNumber(*value);
    if (!number || *number < least || *number > most)
        refuse(key, fmt::format("expected a whole number from {} to {}, found {}", least, most, shown(*value)));
    return number;
}

std::optional<double> JsonObject::number(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    if (!value->is_number())
        refuse(key, "expected a number, found " + shown(*value));
    return value->get<double>();
}

std::optional<bool> JsonObject::flag(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    if (!value->is_boolean())
        refuse(key, "expected true or false, found " + shown(*value));
    return value->get<bool>();
}

std::optional<std::string> JsonObject::text(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    if (!value->is_string())
        refuse(key, "expected text, found " + shown(*value));
    return value->get<std::string>();
}

std::optional<JsonObject> JsonObject::object(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    if (!value->is_object())
        refuse(key, "expected an object, found " + shown(*value));
    return JsonObject(std::make_shared<const Value>(Value{m_value->document, value}), m_subject + ": " + key);
}

std::optional<std::vector<std::int64_t>> JsonObject::sizes(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    if (!value->is_array())
        refuse(key, "expected a list of whole numbers, found " + shown(*value));
    std::vector<std::int64_t> sizes;
    for (const Json& element : *value) {
        const auto number = wholeNumber(element);
        if (!number || *number < 0)
            refuse(key, "expected a list of whole numbers from 0, found " + shown(*value));
        sizes.push_back(*number);
    }
    return sizes;
}

std::optional<std::vector<double>> JsonObject::numbers(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    const auto isValid = [](const Json& element) { return element.is_number() || element.is_null(); };
    if (!value->is_array() || !std::ranges::all_of(*value, isValid))
        refuse(key, "expected a list of numbers, found " + shown(*value));
    std::vector<double> numbers;
    for (const Json& element : *value)
        numbers.push_back(element.is_null() ? std::numeric_limits<double>::quiet_NaN() : element.get<double>());
    return numbers;
}

std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> JsonObject::ranges(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    const std::string expected = "expected a list of whole numbers from 0 and of ranges [first, last], found ";
    if (!value->is_array())
        refuse(key, expected + shown(*value));
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const Json& element : *value) {
        const bool isRange = element.is_array() && element.size() == 2;
        const auto first = wholeNumber(isRange ? element[0] : element);
        const auto last = isRange ? wholeNumber(element[1]) : first;
        if (!first || !last || *first < 0 || *last < *first)
            refuse(key, expected + shown(element));
        ranges.emplace_back(*first, *last);
    }
    return ranges;
}

std::optional<std::vector<std::string>> JsonObject::texts(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    if (!value->is_array() || !std::ranges::all_of(*value, [](const Json& element) { return element.is_string(); }))
        refuse(key, "expected a list of texts, found " + shown(*value));
    return value->get<std::vector<std::string>>();
}

std::optional<std::vector<JsonObject>> JsonObject::objects(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    if (!value->is_array() || !std::ranges::all_of(*value, [](const Json& element) { return element.is_object(); }))
        refuse(key, "expected a list of objects, found " + shown(*value));
    std::vector<JsonObject> objects;
    for (const Json& element : *value)
        objects.push_back(JsonObject(std::make_shared<const Value>(Value{m_value->document, &element}),
                                     fmt::format("{}: {}[{}]", m_subject, key, objects.size())));
    return objects;
}

std::optional<std::pair<std::string, std::int64_t>> JsonObject::named(const std::string& key) const {
    const Json* value = valueAt(*m_value->node, key);
    if (!value)
        return std::nullopt;
    const auto number = value->is_array() && value->size() == 2 ? wholeNumber((*value)[1]) : std::nullopt;
    if (!number || *number < 0 || !(*value)[0].is_string())
        refuse(key, "expected a text and a whole number, found " + shown(*value));
    return std::pair((*value)[0].get<std::string>(), *number);
}

} // namespace secateur
