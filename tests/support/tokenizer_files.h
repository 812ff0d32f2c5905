#pragma once

#include "backends/formats/gguf_fields.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/gguf_bytes.h"

#include <QByteArrayList>
#include <QDir>
#include <QFile>

#include <string>
#include <vector>

/// Texts for comparing tokenizers, and files with vocabularies only.
namespace secateur::test {

inline QByteArray bytesAt(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", qPrintable(path));
    return file.readAll();
}

/// A GGUF file without tensors.
inline QByteArray vocabularyFile(const std::vector<GgufField>& fields) {
    QByteArrayList pairs;
    for (const GgufField& field : fields) {
        std::vector<std::byte> bytes;
        appendField(bytes, field);
        pairs << QByteArray(reinterpret_cast<const char*>(bytes.data()), static_cast<int>(bytes.size()));
    }
    return gguf::fileOf(pairs, {}, 0);
}

/// The texts of the cases of a tokenizer in tests/data/tokenizers. Some are not valid UTF-8.
inline std::vector<std::string> caseTexts(const QString& name) {
    std::vector<std::string> texts;
    const nlohmann::json document = readJson(data().filePath("tokenizers/" + name + "/cases.json"));
    for (const auto& item : document.at("cases"))
        texts.push_back(
            QByteArray::fromHex(QByteArray::fromStdString(item.at("bytes").get<std::string>())).toStdString());
    return texts;
}

/// A text of every 97th character of Unicode, between words of several scripts, digits and runs of spaces.
inline std::string oddText() {
    QString text;
    int count = 0;
    for (char32_t code = 0x20; code < 0x2FA20; code += code < 0x3000 ? 7 : 97) {
        if (code >= 0xD800 && code < 0xE000)
            continue;
        text += QString::fromUcs4(&code, 1);
        static const QStringList words{" word",         "  12345 ",   "\u00E9t\u00E9",
                                       "\n\n",          "I'LL don't", "\t",
                                       " \u6771\u4EAC", "e\u0301",    "\U0001F98A\u200D\U0001F525",
                                       " ...  ",        "\u00A0",     "\r\n"};
        if (++count % 5 == 0)
            text += words[count / 5 % words.size()];
    }
    return text.toStdString();
}

/// Texts of at least 20,000 characters each from the folder of real texts, and oddText(). @param characters of each
inline std::vector<std::string> realTexts(int characters = 30'000) {
    std::vector<std::string> texts{oddText()};
    for (const char* name :
         {"text/wikitext-2-raw/wiki.test.raw", "text/tinyshakespeare/input.txt",
          "text/tinystories/tinystories_slice.txt", "text/c4/c4_demo.jsonl", "tasks/tweeteval-sentiment/test_text.txt",
          "tokenizers/sentencepiece-test/botchan.txt", "tasks/mmlu/dev.jsonl", "tasks/alpaca/alpaca_en_demo.json"})
        texts.push_back(QString::fromUtf8(bytesAt(realData() + "/" + name)).left(characters).toStdString());
    return texts;
}

} // namespace secateur::test
