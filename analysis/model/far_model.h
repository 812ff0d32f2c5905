#pragma once

#include "analysis/base/progress.h"
#include "analysis/base/wire.h"
#include "analysis/model/model.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// The connection to the process that has a far model.
struct FarStatus {
    std::string place;             ///< name of the machine, for display
    std::optional<double> latency; ///< seconds of the latest answer to an empty message; empty = not measured yet
    bool isConnected = true;
    int connections = 1; ///< number of connections so far: above 1, the first was lost
    std::string problem; ///< why there is no connection; empty = there is one
};

/// A call of a job of the other process (resources/manual/formats.md, Messages of a server).
struct FarCall {
    std::string_view job;
    /// The arguments as bytes. Called again if the connection was lost and the call is repeated.
    std::function<std::string()> arguments;
    /// Called on the calling thread with each result of a part of the work. May be empty.
    std::function<void(std::string_view part)> part = {};
    /// Asked several times a second. Whether what was done is enough; the job then ends early. May be empty.
    std::function<bool()> isEnough = {};
};

/// A model of another process. Weights are fetched as they are asked for. Work on the whole model is sent there as a
/// job; functions that run a model begin with a question for farModel().
class FarModel : public Model {
public:
    /// Runs a job in the other process. If the connection is lost, it is made again, and the job is repeated.
    /// @returns the result as bytes @throws Error of the job, or if there is no connection any more; Cancelled. A
    /// cancelled job has half a second to return what it has.
    virtual std::string call(const FarCall& call, const Progress& progress) const = 0;
    virtual FarStatus status() const = 0;

    /// The result of a job that takes these arguments. @throws as call()
    template <typename Result, typename... Arguments>
    Result result(std::string_view job, const Progress& progress, const Arguments&... arguments) const {
        const std::string bytes = call({.job = job, .arguments = [&] { return wireBytes(arguments...); }}, progress);
        return fromWire<Result>(bytes, &spec());
    }
};

/// How the path of a model on another machine begins, and that of a model of a server that `--serve-with` starts.
inline constexpr std::string_view sshScheme = "ssh://";
inline constexpr std::string_view servedScheme = "server:";

/// Whether a path names a model of another process.
bool isFarPath(std::string_view path);
/// The path on the server: of "ssh://host/path" it is "/path". Any other path is returned as it is.
std::string pathOnServer(const std::string& path);

/// The model as a far model; null if it is a model of this process.
const FarModel* farModel(const Model& model);

} // namespace secateur
