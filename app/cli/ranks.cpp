#include "app/cli/ranks.h"

#include "analysis/base/usage_error.h"
#include "backends/session/session_hdf5.h"

#include <algorithm>
#include <array>
#include <optional>

namespace secateur::cli {

namespace {

const RankCluster* sharing = nullptr; ///< the result of cluster()

bool sharesWork(std::string_view verb) {
    constexpr std::array verbs{"ablate", "evaluate", "measure", "sweep"};
    return std::ranges::find(verbs, verb) != verbs.end();
}

} // namespace

Ranks::Ranks(std::string_view verb, Console& console) {
    const Launch launch = launchOfProcess();
    if (!launch.isShared)
        return;
    console.isFirst = launch.rank == 0;
    if (!console.isFirst)
        dropAllOutput();
    m_cluster = joinCluster([stop = console.stop]() mutable { stop.request_stop(); });
    m_isShared = sharesWork(verb);
    if (!m_isShared)
        return;
    sharing = m_cluster.get();
    console.threadsOfRank = m_cluster->threads();
}

bool Ranks::runsVerb() const {
    return !m_cluster || m_isShared || m_cluster->rank() == 0;
}

int Ranks::leave(int status, const std::string& sentence, const Console& console) {
    if (!m_cluster)
        return status;
    if (m_cluster->rank() > 0 && !sentence.empty())
        m_cluster->fail({sentence, status});
    m_cluster->leave();
    sharing = nullptr;
    const std::optional<RankFailure> failure = m_cluster->failure();
    m_cluster.reset();
    if (!console.isFirst)
        return 0; // the launcher reports the first status other than 0, which is to be that of rank 0
    if (!failure || !sentence.empty())
        return status;
    printError(shownLine("secateur-cli: " + failure->sentence) + "\n");
    return failure->status;
}

const RankCluster* cluster() {
    return sharing;
}

bool writesResults() {
    return !sharing || sharing->rank() == 0;
}

Session sessionToExtend(const std::string& path, const ModelCard& card) {
    Session session;
    if (writesResults()) {
        checkCanAdd(card, path);
        if (hasContent(path))
            session = readSession(path);
    }
    session.model = card;
    if (sharing)
        session = sessionFromBytes(sharing->broadcast(sessionBytes(session)));
    session.model = card;
    return session;
}

void addToResults(const Session& additions, const std::string& path) {
    if (!writesResults())
        return;
    addToSession(additions, path);
    noteWritten(path);
}

void checkTimesAlone(bool isWanted) {
    if (isWanted && sharing)
        throw UsageError("times the model, which needs the machine for itself: run it without mpirun", "--latency");
}

} // namespace secateur::cli
