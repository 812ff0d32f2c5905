#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "app/window/window_services.h"
#include "tests/kills/writers.h"
#endif

#include "tests/kills/interposed_calls.h"
#include "tests/kills/killed_children.h"
#include "widgets/document/autosave.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/jobs/job_runner.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <QTimer>

#include <unistd.h>

namespace secateur::test {

namespace {

constexpr int edits = 60;
constexpr int editMs = 40;

void tellOf(const char* what, int number) {
    tell(fmt::format("{} {} {}", what, number, nanoseconds()));
}

void runAutosave(const std::string& folder, long call) {
    JobRunner jobs;
    Services services = windowServices();
    services.writeSession = [write = services.writeSession](const Session& session, const std::string& path) {
        const int number = numberOf(session.masks.at(0).name);
        tellOf("begin", number);
        write(session, path);
        tellOf("done", number);
    };
    Document document(services, &jobs);
    Autosave autosave(&document, QString::fromStdString(folder));
    QTimer next;
    int edit = 0;
    QObject::connect(&next, &QTimer::timeout, &document, [&] {
        if (++edit > edits) {
            tell("calls " + std::to_string(countedCalls()));
            _exit(0); // ends without any cleanup, as in a crash
        }
        tellOf("edit", edit);
        document.masks()->replaceMask(editedMask(document.spec(), edit), "edit");
        document.masks()->renameMask(QString("edit %1").arg(edit));
    });
    QObject::connect(&document, &Document::opened, &document, [&] {
        dieAtCall(folder, call);
        next.start(editMs);
    });
    document.files()->open(QString::fromStdString(autosavedModel()));
    QCoreApplication::exec();
}

} // namespace

int writeUntilKilled(const QStringList& arguments) {
    const std::string id = arguments.at(0).toStdString();
    const std::string folder = arguments.at(1).toStdString();
    const long call = arguments.at(2).toLong();
    if (id == "autosave") {
        runAutosave(folder, call);
        return 0;
    }
    dieAtCall(folder, call);
    for (int generation = 1; generation <= writer(id).generations; ++generation) {
        tellOf("begin", generation);
        writer(id).write(folder, generation);
        tellOf("done", generation);
    }
    tell("calls " + std::to_string(countedCalls()));
    return 0;
}

int holdSession(const QStringList& arguments) {
    JobRunner jobs;
    Document document(windowServices(), &jobs);
    Autosave autosave(&document, arguments.at(0));
    bool elsewhere = false;
    QObject::connect(&autosave, &Autosave::openElsewhere, &autosave, [&] { elsewhere = true; });
    QObject::connect(
        &document, &Document::sessionPathChanged, &document, [&] { tell(elsewhere ? "open elsewhere" : "open"); },
        Qt::QueuedConnection);
    document.files()->open(arguments.at(1));
    return QCoreApplication::exec();
}

} // namespace secateur::test
