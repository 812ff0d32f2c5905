#include "backends/engine/weight_store.h"

#include <algorithm>

namespace secateur {

std::shared_ptr<const void> WeightStore::find(const std::string& key, std::int64_t most,
                                              const std::function<Item()>& make) {
    std::shared_ptr<Slot> slot;
    {
        const std::lock_guard lock(m_mutex);
        std::shared_ptr<Slot>& entry = m_slots[key];
        if (!entry)
            entry = std::make_shared<Slot>();
        slot = entry;
        slot->lastUse = ++m_clock;
        if (slot->item.weights)
            return slot->item.weights;
    }
    const std::lock_guard making(slot->making);
    Item made = slot->item.weights ? slot->item : make();
    const std::lock_guard lock(m_mutex);
    slot->item = made;
    shrink(slot.get(), std::min(most, m_budget));
    return made.weights;
}

void WeightStore::shrink(const Slot* except, std::int64_t most) {
    std::int64_t bytes = 0;
    for (const auto& [_, slot] : m_slots)
        bytes += slot->item.bytes;
    while (bytes > most) {
        auto oldest = m_slots.end();
        for (auto it = m_slots.begin(); it != m_slots.end(); ++it) {
            const bool isIdle = it->second.get() != except && it->second->item.weights;
            if (isIdle && (oldest == m_slots.end() || it->second->lastUse < oldest->second->lastUse))
                oldest = it;
        }
        if (oldest == m_slots.end())
            return;
        bytes -= oldest->second->item.bytes;
        m_slots.erase(oldest);
    }
}

} // namespace secateur
