#include "app/cli/evaluation_keeper.h"

#include "analysis/base/text.h"
#include "backends/session/mask_digest.h"
#include "backends/session/session_hdf5.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace secateur::cli {

EvaluationKeeper::EvaluationKeeper(std::string path, const Model& model)
    : m_path(std::move(path)) {
    const ModelCard card = fullCard(model);
    checkCanAdd(card, m_path);
    if (std::filesystem::exists(m_path))
        m_session = readSession(m_path);
    m_session.model = card;
}

std::string EvaluationKeeper::add(const std::string& name, const MaskRecord& mask) {
    if (mask.mask.keepsAll())
        return name;
    return secateur::add(m_session, SessionMask{name, maskDigest(mask.mask), mask});
}

void EvaluationKeeper::keep(Evaluation evaluation) {
    evaluation.created = utcNow();
    Session more;
    more.model = m_session.model;
    more.created = evaluation.created;
    const auto mask = std::ranges::find(m_session.masks, evaluation.mask.name, &SessionMask::name);
    if (mask != m_session.masks.end())
        more.masks.push_back(*mask);
    more.evaluations.push_back(evaluation);
    addToSession(more, m_path);
    secateur::add(m_session, std::move(evaluation));
}

void EvaluationKeeper::keep(std::shared_ptr<const PredictionBasis> basis) {
    Session more;
    more.model = m_session.model;
    more.created = utcNow();
    more.prediction = basis;
    addToSession(more, m_path);
    m_session.prediction = std::move(basis);
}

} // namespace secateur::cli
