#include "backends/base/mapped_file.h"
#include "backends/engine/open_model.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/safetensors_bytes.h"

#include <QDir>

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

namespace secateur::test {

using namespace safetensors;

namespace {

QString opened(const Scratch& scratch, const QString& name) {
    return scratch.refusal([&] { openModel(scratch.path(name).toStdString()); });
}

/// The message for a file that the user may not read. Root may read every file, so as root the test acts as the user
/// "nobody" while it opens the file.
QString withoutPermission(const Scratch& scratch) {
    constexpr uid_t nobody = 65534;
    const std::string path = scratch.write("locked.gguf", "GGUF");
    ::chmod(scratch.path().toUtf8().constData(), 0755);
    ::chmod(path.c_str(), 0);
    if (::geteuid() == 0)
        ::setfsuid(nobody);
    const QString said = opened(scratch, "locked.gguf");
    if (::geteuid() == 0)
        ::setfsuid(0);
    return said;
}

QString shrinking(const Scratch& scratch) {
    const std::string path = scratch.write("m.safetensors", fileOf(oneTensor("F32", "[10000]", "[0,40000]"), 40'000));
    const auto file = MappedFile::open(path);
    if (::truncate(path.c_str(), 5000) != 0 || file->bytes().back() != std::byte{0})
        return "did not shrink";
    return scratch.refusal([&] { file->checkWhole(); });
}

} // namespace

Corruptions fileCorruptions() {
    Corruptions rows;
    const QString nothing =
        "has no config.json and no .gguf file. Open a Hugging Face directory, a .safetensors, .bin, "
        ".pt or .pth file beside its config.json, or a .gguf file";
    const auto row = [&](const char* name, const QString& sentence, auto make) {
        rows.append({"any file", name, sentence, make});
    };
    row("missing", "gone.gguf: does not exist", [](const Scratch& scratch) { return opened(scratch, "gone.gguf"); });
    row("empty", "m.safetensors: is empty", [](const Scratch& scratch) {
        scratch.write("m.safetensors", "");
        return opened(scratch, "m.safetensors");
    });
    row("no permission", "locked.gguf: cannot be opened: Permission denied", withoutPermission);
    row("a folder with nothing in it", "FOLDER: " + nothing,
        [](const Scratch& scratch) { return opened(scratch, {}); });
    row("a folder named as a file", "m.gguf: " + nothing, [](const Scratch& scratch) {
        QDir(scratch.path()).mkdir("m.gguf");
        return opened(scratch, "m.gguf");
    });
    row("a pipe", "m.gguf: is not a regular file", [](const Scratch& scratch) {
        ::mkfifo(scratch.path("m.gguf").toUtf8().constData(), 0600);
        return opened(scratch, "m.gguf");
    });
    row("a device", "/dev/zero: is not a regular file",
        [](const Scratch& scratch) { return scratch.refusal([] { openModel("/dev/zero"); }); });
    row("a link to nothing", "m.gguf: does not exist", [](const Scratch& scratch) {
        QFile::link("gone", scratch.path("m.gguf"));
        return opened(scratch, "m.gguf");
    });
    row("a link to itself", "m.gguf: Too many levels of symbolic links", [](const Scratch& scratch) {
        QFile::link("m.gguf", scratch.path("m.gguf"));
        return opened(scratch, "m.gguf");
    });
    row("a name beyond what can be", "mmmmmmmmmmmmmmmmmmmm: File name too long",
        [](const Scratch& scratch) { return opened(scratch, QString(5000, 'm')).right(40); });
    row("shrinks while it is mapped",
        "m.safetensors: was cut short while it was open: it had 40070 bytes and has 5000. Open it again when it is "
        "complete",
        shrinking);
    return rows;
}

} // namespace secateur::test
