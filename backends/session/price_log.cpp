#include "backends/session/price_log.h"

#include "analysis/base/error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace secateur {

namespace {

using nlohmann::json;

constexpr const char* priceFormat = "secateur-prices";

json priceJson(const StepPrice& price) {
    json object{{"of", static_cast<int>(price.of)}, {"layer", price.layer}, {"kind", price.kind}};
    if (price.isGone)
        object["gone"] = true;
    else
        object.update(
            {{"estimate", price.isEstimate}, {"saved", price.saved}, {"rise", price.rise}, {"loss", price.loss}});
    return object;
}

StepPrice priceOf(const json& object) {
    StepPrice price{.of = static_cast<BudgetOf>(object.at("of").get<int>()),
                    .layer = object.at("layer").get<int>(),
                    .kind = object.at("kind").get<int>(),
                    .isGone = object.contains("gone")};
    if (price.isGone)
        return price;
    price.isEstimate = object.at("estimate").get<bool>();
    price.saved = object.at("saved").get<double>();
    price.rise = object.at("rise").get<double>();
    price.loss = object.at("loss").get<double>();
    return price;
}

/// The prices of a line; empty if the line was cut short.
std::optional<std::vector<StepPrice>> pricesIn(const std::string& line) {
    try {
        std::vector<StepPrice> prices;
        for (const json& object : json::parse(line))
            prices.push_back(priceOf(object));
        return prices;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

/// The key of a file of prices. @throws Error if it is another file
std::string keyIn(const std::string& line, const std::string& path) {
    const json header = json::parse(line, nullptr, false);
    if (header.is_object() && header.value("format", json()) == priceFormat && header.value("key", json()).is_string())
        return header["key"];
    throw Error("is not a file of prices of a search: it is not replaced", path, "Move it, or choose another --out");
}

} // namespace

PriceLog::PriceLog(std::string path, const std::string& key)
    : m_path(std::move(path)) {
    if (readEarlier(key)) {
        m_file.open(m_path, std::ios::app);
        return;
    }
    m_file.open(m_path, std::ios::trunc);
    append(json{{"format", priceFormat}, {"key", key}}.dump());
}

/// Reads the prices of an earlier run, and removes a line that was cut short. Returns false if there are none.
bool PriceLog::readEarlier(const std::string& key) {
    std::ifstream file(m_path);
    std::string line;
    if (!std::getline(file, line) || keyIn(line, m_path) != key)
        return false;
    std::uintmax_t whole = line.size() + 1;
    while (std::getline(file, line) && !file.eof()) { // a line without its end was cut short
        const auto prices = pricesIn(line);
        if (!prices)
            break;
        m_known.insert(m_known.end(), prices->begin(), prices->end());
        whole += line.size() + 1;
    }
    std::error_code failure;
    std::filesystem::resize_file(m_path, whole, failure);
    return !failure;
}

void PriceLog::append(const std::string& line) {
    if (!(m_file << line << '\n').flush())
        throw Error("cannot be written", m_path);
}

void PriceLog::add(std::span<const StepPrice> prices) {
    json list = json::array();
    for (const StepPrice& price : prices)
        list.push_back(priceJson(price));
    append(list.dump());
}

void PriceLog::remove() {
    m_file.close();
    std::error_code ignored;
    std::filesystem::remove(m_path, ignored);
}

} // namespace secateur
