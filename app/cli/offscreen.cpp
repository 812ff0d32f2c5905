#include "app/cli/offscreen.h"

#ifdef SECATEUR_WITH_QT

#include <spdlog/spdlog.h>

#include <QApplication>

namespace secateur::cli {

void runOffscreen(const std::function<void()>& draw) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString& text) {
        spdlog::debug("{}", text.toStdString()); // Qt warns about missing parts of a desktop
    });
    int count = 1;
    char name[] = "secateur-cli";
    char* values[] = {name, nullptr};
    const QApplication application(count, values);
    draw();
}

} // namespace secateur::cli

#endif
