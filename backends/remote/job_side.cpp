#include "backends/remote/job_side.h"

#include "analysis/base/error.h"

#include <cstdlib>

namespace secateur {

std::string expanded(const std::string& path) {
    const char* home = std::getenv("HOME");
    return path.starts_with("~/") && home ? home + path.substr(1) : path;
}

std::shared_ptr<const Model> JobSide::open(const std::string& path, const Progress& progress) {
    auto model = m_services.openModel(expanded(path), progress);
    const std::lock_guard lock(m_mutex);
    if (m_model)
        throw Error("A server has one model, and it is open already", path);
    m_model = model;
    return model;
}

std::shared_ptr<const Model> JobSide::shared() const {
    const std::lock_guard lock(m_mutex);
    if (!m_model)
        throw Error("No model is open on this server");
    return m_model;
}

const ModelSpec* JobSide::spec() const {
    const std::lock_guard lock(m_mutex);
    return m_model ? &m_model->spec() : nullptr;
}

std::shared_ptr<const Plan> JobSide::plan(const FarPlan& wanted) {
    constexpr std::size_t most = 4;
    {
        const std::lock_guard lock(m_mutex);
        for (auto known = m_plans.begin(); known != m_plans.end(); ++known)
            if (known->first == wanted.type && known->second->mask() == wanted.mask) {
                m_plans.splice(m_plans.begin(), m_plans, known);
                return m_plans.front().second;
            }
    }
    auto made = model().runner().plan(wanted.mask, wanted.type);
    const std::lock_guard lock(m_mutex);
    m_plans.emplace_front(wanted.type, made);
    if (m_plans.size() > most)
        m_plans.pop_back();
    return made;
}

const Tokenizer& JobSide::tokenizer() {
    const std::shared_ptr<const Model> own = shared();
    const std::lock_guard lock(m_mutex);
    if (!m_tokenizer)
        m_tokenizer = m_services.openTokenizer(*own);
    return *m_tokenizer;
}

std::shared_ptr<const StoredTensors> JobSide::tensors(const std::string& path, const Progress& progress) {
    const std::string whole = expanded(path);
    {
        const std::lock_guard lock(m_mutex);
        if (m_tensors.second && m_tensors.first == whole)
            return m_tensors.second;
    }
    auto opened = m_services.storedTensors(whole, progress);
    const std::lock_guard lock(m_mutex);
    m_tensors = {whole, opened};
    return opened;
}

} // namespace secateur
