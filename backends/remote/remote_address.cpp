#include "backends/remote/remote_address.h"

#include "analysis/base/usage_error.h"
#include "analysis/model/far_model.h"

#include <algorithm>
#include <cstdlib>

namespace secateur {

namespace {

constexpr const char* form = "An address is ssh://[USER@]HOST[:PORT]/PATH";

/// The characters of names of users and hosts. Nothing that a shell or ssh would read as more than a name.
bool isName(std::string_view text) {
    static constexpr std::string_view more = "._-%:[]";
    return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               more.find(c) != std::string_view::npos;
    });
}

bool isPort(std::string_view text) {
    constexpr std::size_t mostDigits = 5;
    return !text.empty() && text.size() <= mostDigits &&
           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string sshProgram() {
    const char* own = std::getenv("SECATEUR_SSH");
    return own && *own != '\0' ? own : "ssh";
}

} // namespace

bool isRemotePath(std::string_view path) {
    return path.starts_with(sshScheme);
}

RemoteAddress addressOf(const std::string& path) {
    const std::size_t slash = path.find('/', sshScheme.size());
    if (!isRemotePath(path) || slash == std::string::npos || slash + 1 == path.size())
        throw UsageError("names no model on a server", path, form);
    std::string host = path.substr(sshScheme.size(), slash - sshScheme.size());
    RemoteAddress address;
    address.shown = path;
    address.path = pathOnServer(path);
    address.command = {sshProgram(), "-T", "-o", "ServerAliveInterval=15"};
    const std::size_t colon = host.rfind(':');
    if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
        const std::string port = host.substr(colon + 1);
        if (!isPort(port))
            throw UsageError("has a port that is no number", path, form);
        address.command.insert(address.command.end(), {"-p", port});
        host.resize(colon);
    }
    const std::size_t at = host.find('@');
    const std::string user = at == std::string::npos ? std::string() : host.substr(0, at);
    address.place = host.substr(at == std::string::npos ? 0 : at + 1);
    if ((at != std::string::npos && !isName(user)) || !isName(address.place))
        throw UsageError("has characters that no name of a host has", path, form);
    address.command.insert(address.command.end(), {"--", host, "secateur-cli serve"});
    return address;
}

RemoteAddress addressOfCommand(const std::string& command, const std::string& path) {
    return {{"/bin/sh", "-c", command}, "server", path, path};
}

} // namespace secateur
