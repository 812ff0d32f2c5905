#pragma once

#include "analysis/model/far_model.h"
#include "backends/remote/link.h"
#include "backends/remote/remote_address.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace secateur {

/// Calls of jobs on a server, by any number of threads. If the connection is lost, it is made again, the same model is
/// opened there, and the calls that were cut off are repeated.
class Connection {
public:
    /// Starts the server and opens the model there. @throws Error; Cancelled
    Connection(RemoteAddress address, const Progress& progress);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const RemoteAddress& address() const { return m_address; }
    /// What the server said of the model when it opened it first.
    const std::string& opened() const { return m_opened; }
    /// As FarModel::call().
    std::string call(const FarCall& call, const Progress& progress);
    FarStatus status() const;
    /// The path of a copy of a file or folder of this machine on the server. Copies are made once for each server.
    std::string copied(const std::string& path, const Progress& progress);

private:
    struct Pending;
    struct Session;
    class Lost {
    public:
        std::string why;
    };

    std::shared_ptr<Session> session(const Progress& progress);
    std::shared_ptr<Session> connected(const Progress& progress);
    std::shared_ptr<Session> reconnected(const std::string& why, const Progress& progress);
    std::string callOn(Session& session, const FarCall& call, const Progress& progress);
    std::string copyOn(Session& session, const std::string& path, const Progress& progress);
    void keep(const std::stop_token& stop);
    void ping();
    void setProblem(const std::string& problem);

    RemoteAddress m_address;
    std::string m_opened;

    std::mutex m_connecting; ///< held while a connection is made
    mutable std::mutex m_mutex;
    std::shared_ptr<Session> m_session; ///< null = there was none yet
    FarStatus m_status;
    std::condition_variable_any m_wakes;
    std::jthread m_keeper; ///< the last member: it uses the others
};

} // namespace secateur
