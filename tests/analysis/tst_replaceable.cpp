// The rule which existing files a writer may replace.

#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <array>
#include <string>

using namespace secateur;

namespace {

/// How a file is treated: "replaced", "forced" (replaced with --force only), or "kept".
QString treated(const std::string& name, const QByteArray& content, FileKind by) {
    const auto isReplaced = [&](bool force) {
        try {
            checkReplaceable(name, {content.constData(), static_cast<std::size_t>(content.size())}, by, force);
            return true;
        } catch (const Error&) {
            return false;
        }
    };
    return isReplaced(false) ? "replaced" : isReplaced(true) ? "forced" : "kept";
}

const QByteArray mask = R"({ "secateur_mask": 1, "layers": [] })";
const QByteArray session = QByteArray("\x89HDF\r\n\x1a\n") + "..." + "secateur-session";
const QByteArray png = "\x89PNG\r\n\x1a\n...";
const QByteArray svg = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
const QByteArray csv = "layer,value\r\n0,1\r\n";
const QByteArray figure = R"({"kind": "heat_map", "title": "Gate-norm", "cells": []})";
const QByteArray card = "# A, pruned\n\nA as a masked export, written by Secateur 0.1.0 on 2026-11-21\n";
const QByteArray report = "<!DOCTYPE html>\n<!-- Report, written by Secateur 0.1.0 -->\n<html lang=\"en\">";
const QByteArray safetensors = QByteArray("\x08\0\0\0\0\0\0\0", 8) + R"({"a":{}})";

} // namespace

class TestReplaceable : public QObject {
    Q_OBJECT

private slots:
    void filesOfOneKindReplaceEachOther() {
        struct Case {
            const char* name;
            QByteArray content;
            FileKind kind;
        };
        const std::array cases{Case{"a.mask.json", mask, FileKind::mask},
                               Case{"a.h5", session, FileKind::session},
                               Case{"a.png", png, FileKind::png},
                               Case{"a.svg", svg, FileKind::svg},
                               Case{"a.pdf", "%PDF-1.4", FileKind::pdf},
                               Case{"a.csv", csv, FileKind::csv},
                               Case{"a.json", figure, FileKind::figureJson},
                               Case{"a.json", R"({"kind": "table", "title": "a", "rows": []})", FileKind::figureJson},
                               Case{"t.md", "<!-- Table, written by Secateur: a, b -->\n\n| a |\n", FileKind::markdown},
                               Case{"t.tex", "% Table, written by Secateur: a, b\n% Needs booktabs\n", FileKind::latex},
                               Case{"t.html", "<!DOCTYPE html>\n<!-- Table, written by Secateur -->\n", FileKind::html},
                               Case{"a.caption.txt", "Heads, by layer.\n\nDrawn by Secateur: a\n", FileKind::caption},
                               Case{"a.gguf", "GGUF...", FileKind::gguf},
                               Case{"a.md", card, FileKind::exportCard},
                               Case{"a.html", report, FileKind::report}};
        for (const Case& old : cases)
            for (const Case& by : cases) {
                const QString how = treated(old.name, old.content, by.kind);
                const bool isHdf5 = old.kind == FileKind::session;
                const char* other = isHdf5 || old.kind == FileKind::gguf ? "kept" : "forced";
                QVERIFY2(
                    how == (old.kind == by.kind ? "replaced" : other),
                    qPrintable(QString("%1 by kind %2: %3").arg(old.name).arg(static_cast<int>(by.kind)).arg(how)));
            }
    }

    void filesOfModelsStay_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("config") << "m/config.json" << QByteArray(R"({"model_type": "llama"})");
        QTest::newRow("tokenizer") << "tokenizer.json" << QByteArray(R"({"version": "1.0"})");
        QTest::newRow("words") << "vocab.txt" << QByteArray("[PAD]\n[UNK]\n");
        QTest::newRow("safetensors") << "model.safetensors" << safetensors;
        QTest::newRow("safetensors of another name") << "weights.png" << safetensors;
        QTest::newRow("GGUF of another name") << "weights" << QByteArray("GGUF\3\0\0\0", 8);
        QTest::newRow("PyTorch") << "pytorch_model.bin" << QByteArray("PK\3\4....");
        QTest::newRow("pickle") << "old.pt" << QByteArray("\x80\2...");
        QTest::newRow("index") << "model.safetensors.index.json" << QByteArray(R"({"weight_map": {}})");
        QTest::newRow("Keras") << "tf_model.h5" << QByteArray("\x89HDF\r\n\x1a\n...");
    }
    void filesOfModelsStay() {
        QFETCH(QString, name);
        QFETCH(QByteArray, content);
        for (const FileKind kind : {FileKind::mask, FileKind::session, FileKind::png, FileKind::svg, FileKind::pdf,
                                    FileKind::csv, FileKind::figureJson, FileKind::exportCard})
            QCOMPARE(treated(name.toStdString(), content, kind), "kept");
    }

    void otherFilesNeedForce() {
        QCOMPARE(treated("thesis.tex", "\\documentclass{article}", FileKind::mask), "forced");
        QCOMPARE(treated("thesis.tex", "\\documentclass{article}", FileKind::latex), "forced");
        QCOMPARE(treated("README.md", "# Title\n", FileKind::markdown), "forced");
        QCOMPARE(treated("two.csv", "a,\"two\nlines\"\r\n1,2\r\n", FileKind::csv), "replaced");
        QCOMPARE(treated("notes.json", R"({"a": 1})", FileKind::mask), "forced");
        QCOMPARE(treated("rows.csv", R"({"text": "a, b"})", FileKind::csv), "forced");
        QCOMPARE(treated("picture.png", "not yet a picture", FileKind::png), "forced");
        QCOMPARE(treated("empty", "", FileKind::mask), "replaced");
    }

    void figuresAreWrittenByTheirExtension() {
        QVERIFY(figureFileKind("png") == FileKind::png);
        QVERIFY(figureFileKind("json") == FileKind::figureJson);
        QVERIFY(figureFileKind("md") == FileKind::markdown && figureFileKind("tex") == FileKind::latex);
        QVERIFY(figureFileKind("html") == FileKind::html);
        QVERIFY_EXCEPTION_THROWN(figureFileKind("gif"), Error);
        QVERIFY_EXCEPTION_THROWN(figureFileKind(""), Error);
        QVERIFY(reportFileKind("html") == FileKind::report);
        QVERIFY(reportFileKind("pdf") == FileKind::pdf);
        QVERIFY_EXCEPTION_THROWN(reportFileKind("svg"), Error);
    }
};

SECATEUR_SUITE(TestReplaceable)
#include "tst_replaceable.moc"
