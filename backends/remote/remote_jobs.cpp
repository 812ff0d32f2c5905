#include "backends/remote/remote_jobs.h"

#include <fmt/format.h>

#include <algorithm>

namespace secateur {

const RemoteJob* findRemoteJob(std::string_view name) {
    for (const auto jobs : {weightJobs(), runningJobs(), searchJobs()})
        if (const auto found = std::ranges::find(jobs, name, &RemoteJob::name); found != jobs.end())
            return &*found;
    return nullptr;
}

std::string remoteJobTable() {
    std::string table = "| job | does |\n| --- | --- |\n";
    for (const auto jobs : {weightJobs(), runningJobs(), searchJobs()})
        for (const RemoteJob& job : jobs)
            table += fmt::format("| `{}` | {} |\n", job.name, job.summary);
    return table;
}

} // namespace secateur
