#pragma once

#include "analysis/base/wire.h"
#include "backends/remote/job_side.h"

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace secateur {

/// A job that a server can run.
struct RemoteJob {
    std::string_view name;
    std::string_view summary; ///< for the manual
    /// Reads the arguments, runs the job and returns its result as bytes. @throws Error; Cancelled
    std::string (*run)(JobSide& side, WireReader& arguments, const JobControl& control);
    /// Reads the arguments only. @throws Error
    void (*read)(WireReader& arguments);
};

/// A row for a function (JobSide&, const JobControl&, arguments...). The arguments come in this order; the result may
/// be void.
template <auto Function>
struct JobOf;

template <typename Result, typename... Arguments, Result (*Function)(JobSide&, const JobControl&, Arguments...)>
struct JobOf<Function> {
    using Values = std::tuple<std::decay_t<Arguments>...>;

    static Values values(WireReader& reader) {
        Values values{reader.get<std::decay_t<Arguments>>()...}; // in braces: in order
        reader.finish();
        return values;
    }
    static std::string run(JobSide& side, WireReader& reader, const JobControl& control) {
        const auto call = [&](auto&... arguments) { return Function(side, control, arguments...); };
        Values arguments = values(reader);
        if constexpr (std::is_void_v<Result>) {
            std::apply(call, arguments);
            return {};
        } else {
            return wireBytes(std::apply(call, arguments));
        }
    }
    static void read(WireReader& reader) { static_cast<void>(values(reader)); }
    static constexpr RemoteJob row(std::string_view name, std::string_view summary) {
        return {name, summary, &run, &read};
    }
};

std::span<const RemoteJob> weightJobs();  ///< of the model, its weights and its files
std::span<const RemoteJob> runningJobs(); ///< that run the model under masks
std::span<const RemoteJob> searchJobs();  ///< that measure, prune, sweep and export

/// The job with this name; null if there is none.
const RemoteJob* findRemoteJob(std::string_view name);

/// The table of all jobs for the manual.
std::string remoteJobTable();

} // namespace secateur
