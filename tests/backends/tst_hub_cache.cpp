// Listing the models in a cache of huggingface_hub. The tests write a cache with complete, incomplete and damaged
// repositories.

#include "backends/engine/open_model.h"
#include "backends/formats/hub_cache.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <filesystem>
#include <fstream>

using namespace secateur;
using namespace secateur::test;

namespace fs = std::filesystem;

namespace {

/// Writes repositories in the layout of huggingface_hub: blobs, and snapshots that consist of symbolic links to blobs.
class Cache {
public:
    Cache() { fs::create_directories(root()); }

    fs::path root() const { return m_scratch.path("hub").toStdString(); }
    fs::path snapshot(const std::string& repository, const std::string& revision) const {
        return root() / repository / "snapshots" / revision;
    }
    /// Adds a file to a snapshot, as a link to a new blob of `bytes` bytes.
    void add(const std::string& repository, const std::string& revision, const std::string& file, int bytes = 10) {
        const fs::path blob = root() / repository / "blobs" / ("blob" + std::to_string(++m_blobs));
        fs::create_directories(blob.parent_path());
        std::ofstream(blob) << std::string(static_cast<std::size_t>(bytes), 'x');
        link(repository, revision, file, blob);
    }
    void link(const std::string& repository, const std::string& revision, const std::string& file,
              const fs::path& target) {
        const fs::path path = snapshot(repository, revision) / file;
        fs::create_directories(path.parent_path());
        fs::create_symlink(target, path);
    }
    void setMain(const std::string& repository, const std::string& revision) {
        fs::create_directories(root() / repository / "refs");
        std::ofstream(root() / repository / "refs" / "main") << revision;
    }
    /// Adds a complete model with a single revision.
    void addModel(const std::string& repository, const std::string& revision = "r1", int bytes = 1000) {
        add(repository, revision, "config.json");
        add(repository, revision, "model.safetensors", bytes);
        setMain(repository, revision);
    }
    static void age(const fs::path& path, int hours) {
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    }
    QStringList names() const {
        QStringList list;
        for (const FoundModel& model : cachedModels(root().string()))
            list << QString::fromStdString(model.name);
        list.sort();
        return list;
    }
    FoundModel only() const {
        const std::vector<FoundModel> models = cachedModels(root().string());
        if (models.size() != 1)
            qFatal("%zu models instead of one", models.size());
        return models.front();
    }

private:
    Scratch m_scratch;
    int m_blobs = 0;
};

} // namespace

class TestHubCache : public QObject {
    Q_OBJECT

private slots:
    void init() {
        for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
            qunsetenv(name);
        qputenv("HOME", "/home/someone");
    }

    void theFolderIsFoundAsHuggingFaceFindsIt() {
        const auto folder = [] { return QString::fromStdString(hubCacheFolder()); };
        QCOMPARE(folder(), "/home/someone/.cache/huggingface/hub");
        qputenv("XDG_CACHE_HOME", "/caches");
        QCOMPARE(folder(), "/caches/huggingface/hub");
        qputenv("HF_HOME", "~/hf");
        QCOMPARE(folder(), "/home/someone/hf/hub");
        qputenv("HUGGINGFACE_HUB_CACHE", "/old");
        QCOMPARE(folder(), "/old");
        qputenv("HF_HUB_CACHE", "/new");
        QCOMPARE(folder(), "/new");
        qputenv("HF_HUB_CACHE", "");
        QCOMPARE(folder(), "/old");
    }

    void aModelHasItsNameSizeAndTime() {
        Cache cache;
        cache.addModel("models--HuggingFaceTB--SmolLM2-135M", "abc", 1234);
        const FoundModel model = cache.only();
        QCOMPARE(QString::fromStdString(model.name), "HuggingFaceTB/SmolLM2-135M");
        QCOMPARE(model.path, cache.snapshot("models--HuggingFaceTB--SmolLM2-135M", "abc").string());
        QCOMPARE(model.bytes, 1234);
        QVERIFY(std::abs(model.modified - QDateTime::currentSecsSinceEpoch()) < 60);
    }
    void repositoriesWithoutAnOrganisationKeepTheirName() {
        Cache cache;
        cache.addModel("models--gpt2");
        QCOMPARE(cache.names(), QStringList{"gpt2"});
    }
    void shardsAndOldWeightsCount() {
        Cache cache;
        cache.add("models--a--sharded", "r", "config.json");
        cache.add("models--a--sharded", "r", "model.safetensors.index.json");
        cache.add("models--a--sharded", "r", "model-00001-of-00002.safetensors", 300);
        cache.add("models--a--sharded", "r", "model-00002-of-00002.safetensors", 400);
        // The same weights in another format, which must not be counted twice.
        cache.add("models--a--sharded", "r", "pytorch_model.bin", 5000);
        QCOMPARE(cache.only().bytes, 700);
        Cache old;
        old.add("models--a--old", "r", "config.json");
        old.add("models--a--old", "r", "pytorch_model.bin", 500);
        QCOMPARE(old.only().bytes, 500);
    }
    void eachGgufIsAModel() {
        Cache cache;
        cache.add("models--b--m-GGUF", "r", "m-Q4_0.gguf", 40);
        cache.add("models--b--m-GGUF", "r", "m-Q8_0.gguf", 80);
        cache.add("models--b--m-GGUF", "r", "mmproj-m.gguf", 7);
        cache.add("models--b--m-GGUF", "r", "F16/m-F16-00001-of-00002.gguf", 100);
        cache.add("models--b--m-GGUF", "r", "F16/m-F16-00002-of-00002.gguf", 60);
        const QStringList expected{"b/m-GGUF/F16/m-F16-00001-of-00002.gguf", "b/m-GGUF/m-Q4_0.gguf",
                                   "b/m-GGUF/m-Q8_0.gguf"};
        QCOMPARE(cache.names(), expected);
        for (const FoundModel& model : cachedModels(cache.root().string())) {
            QVERIFY(fs::exists(model.path));
            if (model.name.find("F16") != std::string::npos)
                QCOMPARE(model.bytes, 160);
        }
    }
    void newestComesFirst() {
        Cache cache;
        for (const char* name : {"models--a--old", "models--a--new", "models--a--older"})
            cache.addModel(name);
        const auto weights = [&](const char* name) {
            return fs::canonical(cache.snapshot(name, "r1") / "model.safetensors");
        };
        Cache::age(weights("models--a--old"), 24);
        Cache::age(weights("models--a--older"), 48);
        const auto models = cachedModels(cache.root().string());
        QCOMPARE(QString::fromStdString(models[0].name), "a/new");
        QCOMPARE(QString::fromStdString(models[2].name), "a/older");
    }

    void mainIsTakenElseTheNewestSnapshotWithACheckpoint() {
        Cache cache;
        cache.addModel("models--a--m", "first");
        cache.addModel("models--a--m", "second");
        cache.setMain("models--a--m", "first");
        Cache::age(cache.snapshot("models--a--m", "first"), 100);
        QCOMPARE(cache.only().path, cache.snapshot("models--a--m", "first").string());
        fs::remove(cache.root() / "models--a--m" / "refs" / "main");
        QCOMPARE(cache.only().path, cache.snapshot("models--a--m", "second").string());
        cache.add("models--a--m", "third", "config.json"); // newer, but without weights
        cache.setMain("models--a--m", "third");
        QCOMPARE(cache.only().path, cache.snapshot("models--a--m", "second").string());
        cache.setMain("models--a--m", "../../elsewhere");
        QCOMPARE(cache.only().path, cache.snapshot("models--a--m", "second").string());
    }

    void whatIsBrokenIsLeftOut() {
        Cache cache;
        cache.addModel("models--a--good");
        cache.add("models--a--tokenizer-only", "r", "config.json");
        cache.add("models--a--dangling", "r", "config.json");
        cache.link("models--a--dangling", "r", "model.safetensors", "../../blobs/gone");
        cache.add("models--a--circle", "r", "config.json");
        cache.link("models--a--circle", "r", "model.safetensors", "model.safetensors");
        cache.add("models--a--lost-config", "r", "model.safetensors");
        cache.link("models--a--lost-config", "r", "config.json", "gone");
        cache.add("models--a--shardless", "r", "config.json");
        cache.add("models--a--shardless", "r", "model.safetensors.index.json");
        fs::create_directories(cache.root() / "models--a--empty");
        fs::create_directories(cache.root() / "models--a--no-snapshot" / "snapshots");
        fs::create_directories(cache.root() / "models--a--folder" / "snapshots" / "r" / "model.gguf");
        fs::create_directories(cache.root() / "datasets--a--data" / "snapshots" / "r");
        fs::create_directories(cache.root() / ".locks" / "models--a--good");
        std::ofstream(cache.root() / "models--a--file") << "a file";
        std::ofstream(cache.root() / "version.txt") << "1";
        fs::create_symlink("gone", cache.root() / "models--a--gone");
        cache.link("models--a--loop", "r", "again", cache.root() / "models--a--loop" / "snapshots" / "r");
        QCOMPARE(cache.names(), QStringList{"a/good"});
    }
    void foldersThatMayNotBeReadAreLeftOut() {
        Cache cache;
        cache.addModel("models--a--good");
        cache.addModel("models--a--secret");
        const fs::path secret = cache.root() / "models--a--secret" / "snapshots";
        fs::permissions(secret, fs::perms::none);
        std::error_code failure;
        const bool isSuperuser = fs::directory_iterator(secret, failure) != fs::directory_iterator();
        const QStringList names = cache.names();
        fs::permissions(secret, fs::perms::owner_all);
        if (isSuperuser)
            QSKIP("nothing is forbidden to this user");
        QCOMPARE(names, QStringList{"a/good"});
    }
    void noCacheIsAnEmptyOne() {
        QVERIFY(cachedModels("/nowhere/at/all").empty());
        QVERIFY(cachedModels({}).empty());
    }
    void theSearchCanBeStopped() {
        Cache cache;
        cache.addModel("models--a--m");
        std::stop_source stop;
        stop.request_stop();
        QVERIFY_EXCEPTION_THROWN(cachedModels(cache.root().string(), Progress({}, stop.get_token())), Cancelled);
    }

    void aRepositorysFolderStandsForItsSnapshot() {
        Cache cache;
        cache.addModel("models--a--m", "r1");
        const std::string repository = (cache.root() / "models--a--m").string();
        QCOMPARE(snapshotOf(repository), cache.snapshot("models--a--m", "r1").string());
        QCOMPARE(snapshotOf(repository + "/"), cache.snapshot("models--a--m", "r1").string());
        cache.add("models--a--gguf", "r", "only.gguf");
        QCOMPARE(snapshotOf((cache.root() / "models--a--gguf").string()),
                 (cache.snapshot("models--a--gguf", "r") / "only.gguf").string());
        cache.add("models--a--gguf", "r", "second.gguf");
        QCOMPARE(snapshotOf((cache.root() / "models--a--gguf").string()),
                 cache.snapshot("models--a--gguf", "r").string());
    }
    void otherPathsStayAsTheyAre() {
        Cache cache;
        fs::create_directories(cache.root() / "models--a--empty");
        for (const std::string& path : {std::string(), std::string("/nowhere"), cache.root().string(),
                                        (cache.root() / "models--a--empty").string()})
            QCOMPARE(snapshotOf(path), path);
    }
    void modelsInTheCacheOpen() {
        Cache cache;
        const fs::path small = SECATEUR_TEST_SOURCES "/gqa-f32";
        for (const char* file : {"config.json", "model.safetensors"})
            cache.link("models--a--small", "r", file, small / file);
        const std::string repository = (cache.root() / "models--a--small").string();
        for (const std::string& path : {repository, cache.only().path}) {
            const auto model = openModel(path);
            QCOMPARE(QString::fromStdString(model->card().name), "small");
            QCOMPARE(model->spec().layerCount(), 2);
        }
        QVERIFY(!listTensors(repository).empty());
    }
};

SECATEUR_SUITE(TestHubCache)
#include "tst_hub_cache.moc"
