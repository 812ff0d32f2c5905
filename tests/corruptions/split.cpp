#include "backends/engine/open_model.h"
#include "tests/corruptions/corruptions.h"
#include "tests/support/gguf_bytes.h"

#include <QRegularExpression>

namespace secateur::test {

using namespace gguf;

namespace {

QString opened(const Scratch& folder, const QString& name) {
    return folder.refusal([&] { listTensors(folder.path(name).toStdString()); });
}

QByteArray saying(const QByteArray& number, const QByteArray& count) {
    return fileOf({pair("split.no", u16, number), pair("split.count", u16, count)}, {oneTensor}, oneTensorBytes);
}

} // namespace

Corruptions splitCorruptions() {
    Corruptions rows;
    const QString first = "m-00001-of-00002.gguf";
    const QString second = "m-00002-of-00002.gguf";
    /// Adds a split model whose first part is valid and whose second part has the content `bytes`. Without bytes, the
    /// second part is missing.
    const auto row = [&](const char* name, const QByteArray& bytes, const QString& sentence) {
        rows.append({"split GGUF", name, sentence, [=](const Scratch& folder) {
                         folder.write(first, partOf(0, 2, "v", 2));
                         if (!bytes.isEmpty())
                             folder.write(second, bytes);
                         return opened(folder, first);
                     }});
    };
    /// Adds a model that consists of one file named `file`.
    const auto alone = [&](const char* name, const QString& file, const QByteArray& bytes, const QString& sentence) {
        rows.append({"split GGUF", name, file + ": " + sentence, [=](const Scratch& folder) {
                         folder.write(file, bytes);
                         return opened(folder, file);
                     }});
    };
    const QByteArray two = little<quint16>(2);
    row("a missing part", {}, second + ": is missing: it is part 2 of 2 of a split model");
    row("another part's number", partOf(0, 2, "w", 2), second + ": is part 2 by its name, but part 1 by its split.no");
    row("another model's count", partOf(1, 3, "w", 2),
        second + ": is one of 2 parts by its name, but one of 3 by its split.count");
    row("a part that is whole", fileOf({}, {oneTensor}, oneTensorBytes),
        second + ": is one of 2 parts by its name, but one of 0 by its split.count");
    row("a tensor too many",
        fileOf({pair("split.no", u16, little<quint16>(1)), pair("split.count", u16, two)},
               {tensor("w", {4}, 0, 0), tensor("x", {4}, 0, 32)}, 48),
        first + ": split.tensors.count: expected 2 tensors in 2 parts, found 3");
    row("a damaged part", "GGUF",
        second + ": ends inside the version: 4 bytes are needed, 0 are left. The file is cut short or damaged");
    rows.append({"split GGUF", "the same tensor in two parts", "FILE: v: appears twice", [=](const Scratch& folder) {
                     folder.write(first, partOf(0, 2, "v", 2));
                     folder.write(second, partOf(1, 2, "v", 2));
                     // Both parts could be named in the message. The test accepts either.
                     return opened(folder, first).replace(QRegularExpression("^m-0000[12]-of-00002.gguf"), "FILE");
                 }});
    rows.append({"split GGUF", "a part that leads back to the first",
                 second + ": is part 2 by its name, but part 1 by its split.no", [=](const Scratch& folder) {
                     folder.write(first, partOf(0, 2, "v", 2));
                     QFile::link(first, folder.path(second));
                     return opened(folder, first);
                 }});
    rows.append({"split GGUF", "a part that links to itself", second + ": Too many levels of symbolic links",
                 [=](const Scratch& folder) {
                     folder.write(first, partOf(0, 2, "v", 2));
                     QFile::link(second, folder.path(second));
                     return opened(folder, first);
                 }});
    alone("a part under another name", "part.gguf", partOf(0, 2, "v", 2),
          "is one of 2 parts of a model, but does not have the name of a part. Parts have names like "
          "model-00001-of-00002.gguf");
    alone("a name of more parts", "m-00001-of-00009.gguf", partOf(0, 2, "v", 2),
          "is one of 9 parts by its name, but one of 2 by its split.count");
    rows.append({"split GGUF", "65535 parts",
                 "m-00002-of-65535.gguf: is missing: it is part 2 of 65535 of a split model",
                 [=](const Scratch& folder) {
                     folder.write("m-00001-of-65535.gguf", partOf(0, 65535, "v", 2));
                     return opened(folder, "m-00001-of-65535.gguf");
                 }});
    alone("a count that is text", "m-00001-of-00002.gguf",
          fileOf({pair("split.count", string, text("2"))}, {oneTensor}, oneTensorBytes),
          "split.count: expected a whole number from 0 to 65535, found a value of another type");
    alone("a negative count", "m-00001-of-00002.gguf",
          fileOf({pair("split.count", i32, little<qint32>(-2))}, {oneTensor}, oneTensorBytes),
          "split.count: expected a whole number from 0 to 65535, found -2");
    alone("a number beyond the count", first, saying(little<quint16>(7), two),
          "is part 1 by its name, but part 8 by its split.no");
    return rows;
}

} // namespace secateur::test
