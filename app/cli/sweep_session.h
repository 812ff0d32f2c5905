#pragma once

#include "analysis/campaigns/campaign.h"
#include "analysis/model/model.h"
#include "analysis/session/session.h"

#include <string>

namespace secateur::cli {

/// The session of `sweep --out`. What a sweep finds is written at once.
class SweepKeeper {
public:
    /// @throws Error if the file cannot be extended, or belongs to another model
    SweepKeeper(std::string path, const Model& model);

    const Session& session() const { return m_session; }
    /// Adds news to the session and writes the file. @throws Error
    void keep(const SweepNews& news);

    /// The ranks that share the sweep. They exchange news as sessions. @returns a value that must not outlive this
    /// object
    SweepRanks ranks() const;

private:
    Session sessionOf(const SweepNews& news) const;

    std::string m_path;
    Session m_session; ///< the content of the file
};

} // namespace secateur::cli
