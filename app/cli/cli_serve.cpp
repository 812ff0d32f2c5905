#include "app/cli/cli_common.h"
#include "app/window/window_services.h"
#include "backends/base/runtime.h"
#include "backends/engine/open_model.h"
#include "backends/remote/remote_server.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <unistd.h>

namespace secateur::cli {

namespace {

/// The standard output as a file of the messages alone. What the program prints goes to standard error.
int messagesFile() {
    const int file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); // NOLINT: the interface of POSIX
    if (file < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        throw Error(std::string("The standard output cannot be used: ") + std::strerror(errno));
    return file;
}

void serveVerb(const Console& console) {
    if (isatty(STDIN_FILENO) != 0)
        throw UsageError("answers a window, not a person", "serve", "Open ssh://HOST/PATH in the window");
    Services services = windowServices();
    services.openModel = [&console](const std::string& path, const Progress& progress) {
        static std::once_flag once;
        std::call_once(once, [&console] { initialiseRuntime(console.threads); });
        OpenOptions options;
        options.device = console.device;
        return openModel(path, progress, options);
    };
    serve(services, STDIN_FILENO, messagesFile(), console.stop.get_token());
}

} // namespace

void addServe(CLI::App& program, Console& console) {
    CLI::App* verb = program.add_subcommand("serve", "Answer the window on another machine (secateur ssh://HOST/PATH)");
    addCommonOptions(*verb, console);
    verb->footer("Example: secateur-cli serve --threads 8");
    verb->callback([&console] { serveVerb(console); });
}

} // namespace secateur::cli
