// The window on a model of a server: the real window here, `secateur-cli serve` in another process, behind a relay that
// delays every byte.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include "analysis/model/far_model.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/far_models.h"
#endif

#include "tests/support/suite.h"
#include "widgets/attention/attention_run.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/messages.h"
#include "widgets/window/main_window.h"
#include "widgets/window/recent_files.h"

#include <QElapsedTimer>
#include <QFile>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace secateur;
using test::Scratch;

namespace {

/// Passes bytes on after a while, in order.
void passOn(int from, int to, std::chrono::milliseconds delay) {
    using Clock = std::chrono::steady_clock;
    struct Piece {
        Clock::time_point due;
        std::string bytes;
    };
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Piece> pieces;
    std::jthread writer([&] {
        while (true) {
            std::unique_lock lock(mutex);
            arrived.wait(lock, [&] { return !pieces.empty(); });
            const Piece piece = std::move(pieces.front());
            pieces.pop_front();
            lock.unlock();
            std::this_thread::sleep_until(piece.due);
            if (piece.bytes.empty())
                break;
            for (std::size_t done = 0; done < piece.bytes.size();) {
                const ssize_t count = write(to, piece.bytes.data() + done, piece.bytes.size() - done);
                if (count <= 0)
                    break;
                done += static_cast<std::size_t>(count);
            }
        }
        close(to);
    });
    std::string buffer(65536, '\0');
    ssize_t count = 1;
    while (count > 0) {
        count = read(from, buffer.data(), buffer.size());
        const std::lock_guard lock(mutex);
        pieces.push_back(
            {Clock::now() + delay, buffer.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)))});
        arrived.notify_one();
    }
}

/// A program of its own: starts a server and passes its messages on in both directions, each after a delay.
int relay(int /*count*/, char** values) {
    std::signal(SIGPIPE, SIG_IGN);
    int toServer[2];   // NOLINT: as pipe() takes them
    int fromServer[2]; // NOLINT
    if (pipe2(toServer, O_CLOEXEC) != 0 || pipe2(fromServer, O_CLOEXEC) != 0)
        return 1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, toServer[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fromServer[1], STDOUT_FILENO);
    std::string command = test::serverCommand();
    std::string shell = "/bin/sh";
    std::string option = "-c";
    char* arguments[] = {shell.data(), option.data(), command.data(), nullptr};
    pid_t server = 0;
    if (posix_spawn(&server, shell.c_str(), &actions, nullptr, arguments, environ) != 0)
        return 1;
    close(toServer[0]);
    close(fromServer[1]);
    const std::chrono::milliseconds delay(std::stoi(values[1]));
    std::thread([=] { passOn(STDIN_FILENO, toServer[1], delay); }).detach();
    passOn(fromServer[0], STDOUT_FILENO, delay);
    waitpid(server, nullptr, 0);
    _exit(0);
}

const test::SuiteRegistration registrationOfRelay("tst_delayed_server.cpp", relay);

/// The program, as a person starts it with --serve-with.
struct Program {
    JobRunner jobs;
    Document document;
    MainWindow window{&document, &jobs};
    LiveEvaluation& live = *window.findChild<LiveEvaluation*>();
    QStringList failures;

    explicit Program(const std::string& command)
        : document(withServers(windowServices(), command), &jobs) {
        QObject::connect(&document, &Document::failed, &jobs, [this](const QString& text) { failures << text; });
        QObject::connect(&jobs, &JobRunner::failed, &jobs, [this](quint64, const QString& text) { failures << text; });
        window.show();
    }
    bool isScored() const {
        return document.model() && jobs.isIdle() && live.state() == LiveEvaluation::State::complete;
    }
    bool isMeasured() const { return isScored() && live.extra()->state() == ExtraEvaluation::State::complete; }
};

std::string delayed(int ms) {
    return QCoreApplication::applicationFilePath().toStdString() + " delayed_server " + std::to_string(ms);
}

/// The longest time during which the window's thread did not look at its events.
class Watch {
public:
    Watch() {
        m_timer.setInterval(1);
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer,
                         [this] { m_longest = std::max(m_longest, m_since.restart()); });
        m_since.start();
        m_timer.start();
    }
    qint64 longestMs() const { return m_longest; }
    void forget() {
        m_longest = 0;
        m_since.restart();
    }

private:
    QTimer m_timer;
    QElapsedTimer m_since;
    qint64 m_longest = 0;
};

} // namespace

class TestRemoteWindow : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void theWindowWorksOnAModelOfASlowServer();
    void aCutConnectionIsSaidAndMadeAgain();
    void recentFilesKeepAddresses();

private:
    QTemporaryDir m_settings;
};

void TestRemoteWindow::initTestCase() {
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_settings.path());
    QCoreApplication::setOrganizationName("secateur");
    qputenv("XDG_STATE_HOME", m_settings.path().toUtf8());
    qputenv("HF_HOME", m_settings.path().toUtf8());
}

void TestRemoteWindow::theWindowWorksOnAModelOfASlowServer() {
    constexpr int delayMs = 50;
    const Scratch folder;
    const std::string textFile = folder.write("words.txt", test::smallText());
    Program program(delayed(delayMs));
    EvaluationChoice choice = program.live.choice();
    choice.text.path = textFile;
    choice.text.rules.window = 16;
    choice.tokens = 256;
    choice.extra.prompt.emplace().text = "the sand";
    choice.extra.prompt->newTokens = 4;
    choice.extra.speed = SpeedRequest{3, 4, 1, 3};
    TaskRequest task;
    task.path = folder.write("words.jsonl", test::smallQuestions());
    task.limit = 9;
    choice.extra.tasks = {task};
    program.live.choose(choice);
    Watch watch;
    program.window.open(QString::fromStdString(servedPath(test::writeSmallModel(folder).toStdString())));
    QTRY_VERIFY_WITH_TIMEOUT(program.isMeasured(), 60'000);
    QVERIFY2(program.window.windowTitle().contains(" on "), qPrintable(program.window.windowTitle()));

    // Measure, select and cut, see what it costs.
    MeasureChoice measuring;
    measuring.text = textFile;
    measuring.tokens = 128;
    watch.forget();
    program.document.measurements()->chooseMeasuring(measuring, false);
    program.document.measurements()->measure(parseMetricRequests("sink_head,attention_pattern,gnorm"));
    MaskEditor& masks = *program.document.masks();
    masks.setHeadsCut({{0, 1}}, true);
    QTRY_VERIFY_WITH_TIMEOUT(program.isMeasured(), 60'000);
    QVERIFY(program.document.measurements()->result("sink_head"));
    QVERIFY(program.live.prediction()->state() == MaskPrediction::State::ready);
    const qint64 longest = watch.longestMs();
    qInfo("longest pause of the window's thread: %lld ms", static_cast<long long>(longest));
    QVERIFY2(longest < 500, qPrintable(QString::number(longest))); // drawing alone, on a busy machine without display

    // An attention map, an export there, and the session here.
    AttentionRun& attention = *program.window.findChild<AttentionRun*>();
    attention.setPrompt("the sand a tin hotel");
    QSignalSpy mapped(&attention, &AttentionRun::mapChanged);
    attention.show({1, 2});
    QTRY_VERIFY_WITH_TIMEOUT(attention.map() != nullptr, 20'000);
    QSignalSpy exported(program.document.maskJobs(), &MaskJobs::exported);
    program.document.maskJobs()->exportModel(folder.path("pruned"), false);
    QTRY_COMPARE_WITH_TIMEOUT(exported.size(), 1, 60'000);
    QVERIFY(QFile::exists(folder.path("pruned")));
    QSignalSpy saved(program.document.files(), &DocumentFiles::saved);
    program.document.files()->saveSession(folder.path("far.h5"));
    QVERIFY(saved.wait());
    const Session session = readSession(folder.path("far.h5").toStdString());
    QVERIFY(session.evaluations.size() >= 2);
    QVERIFY2(program.failures.isEmpty(), qPrintable(program.failures.join('\n')));

    auto* server = program.window.findChild<QLabel*>("server");
    QVERIFY(server && server->isVisible());
    QTRY_VERIFY2_WITH_TIMEOUT(server->text().contains(" ms"), qPrintable(server->text()), 10'000);
    const int shownMs = server->text().section(": ", 1).section(' ', 0, 0).toInt();
    QVERIFY2(shownMs >= 2 * delayMs && shownMs < 2000, qPrintable(server->text()));
}

void TestRemoteWindow::aCutConnectionIsSaidAndMadeAgain() {
    const Scratch folder;
    const QString pidFile = folder.path("pid");
    Program program("echo $$ > " + pidFile.toStdString() + "; exec " + test::serverCommand());
    EvaluationChoice choice = program.live.choice();
    choice.text.path = folder.write("words.txt", test::smallText());
    choice.text.rules.window = 16;
    choice.tokens = 256;
    program.live.choose(choice);
    program.window.open(QString::fromStdString(servedPath(test::writeSmallModel(folder).toStdString())));
    QTRY_VERIFY_WITH_TIMEOUT(program.isScored(), 60'000);
    const std::size_t before = program.document.session().evaluations.size();
    program.document.masks()->setHeadsCut({{1, 0}}, true);
    QFile file(pidFile);
    QVERIFY(file.open(QIODevice::ReadOnly));
    kill(file.readAll().trimmed().toInt(), SIGKILL);
    auto* messages = program.window.findChild<MessageBar*>();
    QTRY_VERIFY2_WITH_TIMEOUT(messages->text().contains("again"), qPrintable(messages->text()), 20'000);
    QTRY_VERIFY_WITH_TIMEOUT(program.isScored(), 60'000);
    QVERIFY(program.document.session().evaluations.size() > before);
    QVERIFY2(program.failures.isEmpty(), qPrintable(program.failures.join('\n')));
}

void TestRemoteWindow::recentFilesKeepAddresses() {
    rememberRecentFile("ssh://host/models/a.gguf", "a");
    rememberRecentFile("server:/models/b.gguf", "b");
    QCOMPARE(recentFiles().value(0), QString("ssh://host/models/a.gguf"));
    forgetRecentFiles();
}

SECATEUR_SUITE(TestRemoteWindow)
#include "tst_remote_window.moc"
