#pragma once

#include "analysis/evaluation/text_evaluator.h"
#include "analysis/running/attention_reader.h"
#include "analysis/running/far_plan.h"
#include "analysis/session/services.h"
#include "backends/remote/copied_files.h"

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

/// How a job reports, and how it is told to end.
struct JobControl {
    Progress progress;
    std::function<void(std::string part)> part; ///< sends the result of a part of the work
    std::function<bool()> isEnough;             ///< whether what was done is enough
};

/// The latest values of a kind, by the bytes that they were made of. A value is made once, and used by one job at a
/// time.
template <typename Value>
class Latest {
public:
    struct Entry {
        std::mutex mutex; ///< held by the job that uses the value
        std::unique_ptr<Value> value;
    };

    /// @param make called if the value is not known, with Entry::mutex held
    template <typename Make, typename Use>
    auto use(const std::string& key, const Make& make, const Use& use) {
        const std::shared_ptr<Entry> entry = entryOf(key);
        const std::lock_guard lock(entry->mutex);
        if (!entry->value)
            entry->value = make();
        return use(*entry->value);
    }

private:
    std::shared_ptr<Entry> entryOf(const std::string& key) {
        constexpr std::size_t most = 3;
        const std::lock_guard lock(m_mutex);
        for (auto known = m_known.begin(); known != m_known.end(); ++known)
            if (known->first == key) {
                m_known.splice(m_known.begin(), m_known, known);
                return known->second;
            }
        m_known.emplace_front(key, std::make_shared<Entry>());
        if (m_known.size() > most)
            m_known.pop_back();
        return m_known.front().second;
    }

    std::mutex m_mutex;
    std::list<std::pair<std::string, std::shared_ptr<Entry>>> m_known; ///< the latest first
};

/// A path in which a leading "~/" stands for the home directory.
std::string expanded(const std::string& path);

/// What the jobs of a server share. Nothing in it is more than a shortcut: each call has all that it needs.
class JobSide {
public:
    /// @param services of this machine; must outlive this object
    explicit JobSide(const Services& services)
        : m_services(services) {}

    const Services& services() const { return m_services; }
    /// Opens the model of this server. @throws as Services::openModel
    std::shared_ptr<const Model> open(const std::string& path, const Progress& progress);
    /// The open model. @throws Error if there is none
    const Model& model() const { return *shared(); }
    std::shared_ptr<const Model> shared() const;
    /// The spec of the open model; null if there is none.
    const ModelSpec* spec() const;
    /// A plan. The latest ones keep their converted weights.
    std::shared_ptr<const Plan> plan(const FarPlan& wanted);
    const Tokenizer& tokenizer();
    std::shared_ptr<const StoredTensors> tensors(const std::string& path, const Progress& progress);
    KeptFiles& files() { return m_files; }
    Latest<TextEvaluator>& evaluators() { return m_evaluators; }
    Latest<AttentionReader>& readers() { return m_readers; }

private:
    const Services& m_services;
    mutable std::mutex m_mutex;
    std::shared_ptr<const Model> m_model;
    std::list<std::pair<ComputeType, std::shared_ptr<const Plan>>> m_plans;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::pair<std::string, std::shared_ptr<const StoredTensors>> m_tensors;
    KeptFiles m_files;
    Latest<TextEvaluator> m_evaluators;
    Latest<AttentionReader> m_readers;
};

} // namespace secateur
