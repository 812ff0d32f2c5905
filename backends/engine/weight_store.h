#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace secateur {

/// Converted weights by key, no more bytes of them than they may take: what was not used for longest goes first.
/// Thread-safe; what somebody holds stays alive until he lets go.
class WeightStore {
public:
    struct Item {
        std::shared_ptr<const void> weights;
        std::int64_t bytes = 0;
    };

    explicit WeightStore(std::int64_t budget)
        : m_budget(budget) {}

    std::int64_t budget() const { return m_budget; }

    /// What is kept under the key, made first if need be. Two threads that want the same wait for one making.
    /// @param most bytes of weights that are kept beside it, within the budget
    template <typename Weights>
    std::shared_ptr<const Weights> get(const std::string& key, std::int64_t most,
                                       const std::function<Weights()>& make) {
        return std::static_pointer_cast<const Weights>(find(key, most, [&] {
            auto made = std::make_shared<const Weights>(make());
            const std::int64_t bytes = made->bytes;
            return Item{std::move(made), bytes};
        }));
    }

private:
    struct Slot {
        std::mutex making;
        Item item;
        std::uint64_t lastUse = 0;
    };

    std::shared_ptr<const void> find(const std::string& key, std::int64_t most, const std::function<Item()>& make);
    void shrink(const Slot* except, std::int64_t most);

    std::int64_t m_budget;
    std::mutex m_mutex;
    std::uint64_t m_clock = 0;
    std::map<std::string, std::shared_ptr<Slot>> m_slots;
};

} // namespace secateur
