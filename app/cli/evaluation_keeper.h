#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/mask_record.h"
#include "analysis/session/session.h"
#include "app/cli/cli_common.h"

#include <memory>
#include <string>

namespace secateur::cli {

/// The session that `evaluate --out` adds to: what it holds need not be run again, and what is run is in the file as
/// soon as it is known.
class EvaluationKeeper {
public:
    /// @throws Error when the file cannot be added to, or is of another model
    EvaluationKeeper(std::string path, const Model& model);

    const std::string& path() const { return m_path; }
    const Session& session() const { return m_session; }
    /// A mask whose runs will be kept, unless it keeps all. @returns the name that they go by
    std::string add(const std::string& name, const MaskRecord& mask);
    /// Writes one more evaluation. @throws Error
    void keep(Evaluation evaluation);

    /// Writes what masks are predicted from. @throws Error
    void keep(std::shared_ptr<const PredictionBasis> basis);

    /// Null when the session holds no such run.
    const Evaluation* text(const Evaluation& like) const { return sameText(m_session, like, like.mask.digest); }
    const TaskEvaluation* task(const Evaluation& like, const TaskEvaluation& task) const {
        return sameTask(m_session, like, task, like.mask.digest);
    }

private:
    std::string m_path;
    Session m_session; ///< what the file holds, and what was kept
};

} // namespace secateur::cli
