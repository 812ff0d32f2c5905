// Finding models on this computer: in the Hugging Face cache, in the folder of the demo model, and next to files that
// were opened before.

#include "backends/formats/found_models.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <filesystem>
#include <fstream>

using namespace secateur;
using namespace secateur::test;

namespace fs = std::filesystem;

namespace {

constexpr auto demoName = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// A home directory whose folders the tests fill.
class Home {
public:
    Home() {
        for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
            qunsetenv(name);
        qputenv("HOME", m_scratch.path().toUtf8());
    }

    fs::path path(const std::string& name) const { return fs::path(m_scratch.path().toStdString()) / name; }
    std::string add(const std::string& name, int bytes = 10) const {
        fs::create_directories(path(name).parent_path());
        std::ofstream(path(name)) << std::string(static_cast<std::size_t>(bytes), 'x');
        return path(name).string();
    }
    /// Adds a model's folder in the form of Hugging Face. @returns its path
    std::string addFolder(const std::string& name, int bytes = 1000) const {
        add(name + "/config.json");
        add(name + "/model.safetensors", bytes);
        return path(name).string();
    }
    std::string addToHub(const std::string& repository) const {
        return addFolder(".cache/huggingface/hub/" + repository + "/snapshots/r1");
    }

private:
    Scratch m_scratch;
};

/// Names and paths relative to the home directory.
QStringList namesOf(const std::vector<FoundModel>& models) {
    QStringList names;
    for (const FoundModel& model : models)
        names << QString::fromStdString(model.name);
    names.sort();
    return names;
}

QStringList found(const std::vector<std::string>& opened) {
    return namesOf(foundModels(opened));
}

} // namespace

class TestFoundModels : public QObject {
    Q_OBJECT

private slots:
    void theDemoFolderIsThatOfTheScript() {
        const Home home;
        QCOMPARE(demoModelFolder(), home.path(".cache/secateur").string());
        qputenv("XDG_CACHE_HOME", "/caches");
        QCOMPARE(QString::fromStdString(demoModelFolder()), "/caches/secateur");
        QFile script(QDir(SECATEUR_SOURCE_DIR).filePath("scripts/fetch-demo-model.sh"));
        QVERIFY(script.open(QIODevice::ReadOnly));
        const QByteArray text = script.readAll();
        QVERIFY(text.contains("cache=${XDG_CACHE_HOME:-$HOME/.cache}/secateur\n"));
        QVERIFY(text.contains(QByteArray("model_name=") + demoName + "\n"));
    }

    void theDemoModelIsFound() {
        const Home home;
        QVERIFY(foundModels({}).empty());
        home.add(std::string(".cache/secateur/") + demoName, 93);
        home.add(".cache/secateur/other.gguf", 7);
        home.add(std::string("elsewhere/") + demoName);
        const auto models = foundModels(std::vector{home.path("elsewhere/s.h5").string()});
        QCOMPARE(models.size(), 3);
        for (const FoundModel& model : models) {
            QCOMPARE(model.isDemo, model.bytes == 93);
            QCOMPARE(model.folder, fs::path(model.path).parent_path().string());
        }
    }

    void neighboursOfOpenedFilesAreFound() {
        const Home home;
        const std::string opened = home.addFolder("models/first");
        home.addFolder("models/second", 1234);
        home.add("models/third.gguf", 30);
        home.add("models/split/m-00001-of-00002.gguf", 5);
        home.add("models/split/m-00002-of-00002.gguf", 6);
        home.add("models/third.h5");
        home.add("models/adapter/adapter_config.json");
        home.addFolder("models/.hidden");
        home.addFolder("models/deep/deeper/deepest");
        home.addFolder("other/unrelated");
        const QStringList expected{"first", "m-00001-of-00002.gguf", "second", "third.gguf"};
        QCOMPARE(found({opened}), expected);
        QCOMPARE(found({opened + "/"}), expected);
        QCOMPARE(found({opened + "/model.safetensors"}), expected); // a file of a model stands for the model
        QCOMPARE(found({home.path("models/gone.h5").string()}), expected);
        for (const FoundModel& model : foundModels(std::vector{opened})) {
            QVERIFY(fs::exists(model.path));
            if (model.name == "second") {
                QCOMPARE(model.bytes, 1234);
                QCOMPARE(model.folder, home.path("models").string());
            }
            if (model.name.starts_with("m-"))
                QCOMPARE(model.bytes, 11);
        }
    }

    void nothingIsListedTwice() {
        const Home home;
        const std::string cached = home.addToHub("models--a--cached");
        const std::string demo = home.add(std::string(".cache/secateur/") + demoName);
        const std::string one = home.addFolder("models/one");
        fs::create_directory_symlink(home.path("models"), home.path("link"));
        fs::create_directory_symlink(cached, home.path("models/again"));
        // Files next to each other, the demo model, a snapshot in the cache, and the same folder by another name.
        const std::vector<std::string> opened{one, home.path("models/s.h5").string(), demo, cached,
                                              home.path("link/one").string()};
        QCOMPARE(found(opened), QStringList({demoName, "a/cached", "one"}));
        for (const FoundModel& model : foundModels(opened))
            QCOMPARE(model.folder.empty(), model.name == "a/cached");
    }

    void newestComesFirst() {
        const Home home;
        const std::string old = home.addToHub("models--a--old");
        fs::last_write_time(old + "/model.safetensors", fs::file_time_type::clock::now() - std::chrono::hours(24));
        const std::string opened = home.add("models/new.gguf");
        const auto models = foundModels(std::vector{opened});
        QCOMPARE(models.size(), 2);
        QCOMPARE(QString::fromStdString(models[0].name), "new.gguf");
    }

    void largeFoldersAreReadInPart() {
        const Home home;
        for (int i = 0; i < 150; ++i)
            home.addFolder("many/m" + std::to_string(i), 1);
        const auto models = modelsOfFolder(home.path("many").string());
        QVERIFY(models.size() >= 50);
        QVERIFY(models.size() <= 100);
    }

    void foldersThatAreNotThereAreEmpty() {
        const Home home;
        QVERIFY(modelsOfFolder("/nowhere/at/all").empty());
        QVERIFY(modelsOfFolder({}).empty());
        QVERIFY(found({"/nowhere/at/all", "", "/", "name"}).isEmpty());
        qunsetenv("HOME");
        QVERIFY(demoModelFolder().empty());
    }

    void theSearchCanBeStopped() {
        const Home home;
        const std::string opened = home.addFolder("models/one");
        std::stop_source stop;
        stop.request_stop();
        QVERIFY_EXCEPTION_THROWN(foundModels(std::vector{opened}, Progress({}, stop.get_token())), Cancelled);
    }
};

SECATEUR_SUITE(TestFoundModels)
#include "tst_found_models.moc"
