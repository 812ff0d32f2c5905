#include "backends/base/shown_log.h"

#include "analysis/base/shown_text.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <memory>
#include <string>
#include <utility>

namespace secateur {

namespace {

class ShownPayload : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        const std::string text = shownLine({message.payload.data(), message.payload.size()});
        out.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<ShownPayload>(); }
};

} // namespace

void startShownLog() {
    spdlog::set_default_logger(spdlog::stderr_color_mt("secateur"));
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<ShownPayload>('*').set_pattern("[%Y-%m-%d %H:%M:%S.%e] [%n] [%^%l%$] %*");
    spdlog::set_formatter(std::move(formatter));
}

} // namespace secateur
