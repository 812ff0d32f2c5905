#include "analysis/tasks/task_prompts.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace secateur {

namespace {

/// Moves a draw of `count` elements to the front. The standard leaves open how its own shuffle uses a generator.
void drawToFront(std::vector<std::size_t>& elements, std::size_t count, std::mt19937_64& random) {
    for (std::size_t i = 0; i < count; ++i)
        std::swap(elements[i], elements[i + random() % (elements.size() - i)]);
}

bool isSame(const TaskQuestion& a, const TaskQuestion& b) {
    return a.options == b.options && a.subject == b.subject;
}

class Examples {
public:
    Examples(std::span<const TaskQuestion> all, const ShotRules& rules)
        : m_all(all)
        , m_rules(rules)
        , m_random(rules.seed) {
        for (std::size_t i = 0; i < all.size(); ++i)
            m_bySubject[all[i].subject].push_back(i);
    }

    std::string inFrontOf(const TaskQuestion& question) {
        std::vector<std::size_t> own;
        for (const std::size_t index : m_bySubject[question.subject])
            if (!isSame(m_all[index], question))
                own.push_back(index);
        if (own.size() < m_rules.count)
            throw Error(fmt::format("There are {} examples{} to choose from, but {} are asked for", own.size(),
                                    question.subject.empty() ? "" : " of " + question.subject, m_rules.count));
        if (m_rules.choice == ShotChoice::drawn)
            drawToFront(own, m_rules.count, m_random);
        std::string text;
        for (std::size_t i = 0; i < m_rules.count; ++i)
            text += m_all[own[i]].solved() + "\n\n";
        return text;
    }

private:
    std::span<const TaskQuestion> m_all;
    const ShotRules& m_rules;
    std::mt19937_64 m_random;
    std::map<std::string, std::vector<std::size_t>> m_bySubject;
};

} // namespace

std::string shotLabel(const ShotRules& rules) {
    if (rules.count == 0)
        return {};
    return rules.choice == ShotChoice::first ? fmt::format("first {} of the list", rules.count)
                                             : fmt::format("own few-shot draw ({}, seed {})", rules.count, rules.seed);
}

std::vector<TaskQuestion> withShots(std::span<const TaskQuestion> all, std::span<const TaskQuestion> examples,
                                    const ShotRules& rules) {
    Examples shots(examples, rules);
    std::vector<TaskQuestion> prompted(all.begin(), all.end());
    for (TaskQuestion& question : prompted) {
        const std::string front = question.description + (rules.count > 0 ? shots.inFrontOf(question) : "");
        for (TaskOption& option : question.options)
            option.context.insert(0, front);
    }
    return prompted;
}

std::vector<std::size_t> shuffledOrder(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(seed);
    drawToFront(order, count, random);
    return order;
}

} // namespace secateur
