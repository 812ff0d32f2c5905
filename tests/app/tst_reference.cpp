// Man pages and shell completions: all verbs and options that --help shows are in them, and the values that are known.

#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <nlohmann/json.hpp>

#include <QtTest>

#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>

#include <algorithm>

using namespace secateur;
using test::Outcome;
using test::run;
using test::Scratch;
using Json = nlohmann::json;

namespace {

/// A verb as --help shows it.
struct Verb {
    QStringList path; ///< without the program
    QString help;

    QString name() const { return path.join(' '); }
    bool isGroup() const { return help.contains("\nSubcommands:\n"); }
    QStringList options() const {
        static const QRegularExpression option("^  (?:-\\w,)?(--[a-z-]+)", QRegularExpression::MultilineOption);
        QStringList names;
        for (auto match = option.globalMatch(help); match.hasNext();)
            names << match.next().captured(1);
        return names;
    }
};

QList<Verb> verbsBelow(const QStringList& path) {
    static const QRegularExpression line("^  ([a-z]+) ", QRegularExpression::MultilineOption);
    const Verb verb{path, QString::fromUtf8(run(path + QStringList{"--help"}).out)};
    QList<Verb> verbs;
    if (!path.isEmpty())
        verbs << verb;
    if (verb.isGroup())
        for (auto match = line.globalMatch(verb.help.section("\nSubcommands:\n", 1)); match.hasNext();)
            verbs += verbsBelow(path + QStringList{match.next().captured(1)});
    return verbs;
}

const QList<Verb>& allVerbs() {
    static const QList<Verb> verbs = verbsBelow({});
    return verbs;
}

QMap<QString, QString> allPages() {
    QMap<QString, QString> pages;
    const Json document = run({"man", "--json"}).json();
    for (const Json& item : document.at("items"))
        pages[QString::fromStdString(item.at("id").get<std::string>())] =
            QString::fromStdString(item.at("text").get<std::string>());
    return pages;
}

QString completionFor(const QString& shell, const QString& program = "secateur-cli") {
    return QString::fromUtf8(run({"completions", shell, "--program", program}).out);
}

/// What a program that may be missing prints.
struct Printed {
    bool isThere = false;
    QString out;
    QString error;
};

Printed printed(const QString& program, const QStringList& arguments, const QByteArray& input = {}) {
    if (QStandardPaths::findExecutable(program).isEmpty())
        return {};
    QProcess process;
    process.start(program, arguments);
    process.write(input);
    process.closeWriteChannel();
    process.waitForFinished();
    return {true, QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
}

/// What bash offers for the last of some words.
QStringList offered(const QString& script, const QStringList& words) {
    static const QString command = "source \"$0\"; COMP_WORDS=(secateur-cli \"$@\"); COMP_CWORD=$#; _secateur_cli; "
                                   "printf '%s\\n' \"${COMPREPLY[@]}\"";
    QStringList arguments{"-c", command, script};
    return printed("bash", arguments + words).out.split('\n', Qt::SkipEmptyParts);
}

QStringList idsOf(const QString& kind) {
    QStringList ids;
    const Json document = run({"list", kind, "--json"}).json();
    for (const Json& item : document.at("items"))
        ids << QString::fromStdString(item.at("id").get<std::string>());
    return ids;
}

QString contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace

class TestReference : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        QVERIFY(allVerbs().size() > 20);
        m_script = m_scratch.path("secateur-cli.bash");
        m_scratch.write("secateur-cli.bash", completionFor("bash").toUtf8());
    }

    void everyVerbHasAPage() {
        const QMap<QString, QString> pages = allPages();
        for (const Verb& verb : allVerbs()) {
            const QString page = pages.value("secateur-cli-" + verb.path.first());
            QVERIFY2(page.contains(".SH SYNOPSIS\n\\fBsecateur\\-cli"), qPrintable(verb.name()));
            QVERIFY2(page.contains(".SH EXAMPLES\n"), qPrintable(verb.name()));
            for (const QString& option : verb.options())
                QVERIFY2(verb.isGroup() || page.contains(QString(option).replace("-", "\\-") + "\\fR"),
                         qPrintable(verb.name() + " " + option));
        }
        for (const QString verb : {"measure", "mask", "list"})
            QVERIFY(pages["secateur-cli"].contains(".BR secateur\\-cli\\-" + verb + " (1)\n"));
        for (const char* option : {"mask", "filter", "reference", "help", "version"})
            QVERIFY2(pages["secateur"].contains(QString("\\fB\\-\\-%1\\fR").arg(option)), option);
    }

    void examplesArePrintedAsTheyAreTyped() {
        const QString page = allPages()["secateur-cli-measure"];
        const Printed text = printed("groff", {"-man", "-Tutf8", "-ww", "-P-c", "-rLL=200n"}, page.toUtf8());
        if (!text.isThere)
            QSKIP("groff is not installed");
        const QString example =
            "secateur-cli measure Llama-3.1-8B --metric weights,gate_norm:fold_norm=true --out llama.h5";
        QVERIFY(run({"measure", "--help"}).out.contains(example.toUtf8()));
        QVERIFY2(text.out.simplified().contains(example), qPrintable(text.out));
    }

    void pagesAreRenderedWithoutWarnings() {
        const QMap<QString, QString> pages = allPages();
        for (const QString& name : pages.keys()) {
            const QByteArray page = pages[name].toUtf8();
            QVERIFY2(std::ranges::all_of(page, [](char c) { return (c >= ' ' && c < 127) || c == '\n'; }),
                     qPrintable(name));
            const Printed text = printed("groff", {"-man", "-Tutf8", "-ww"}, page);
            if (!text.isThere)
                QSKIP("groff is not installed");
            QVERIFY2(text.error.isEmpty(), qPrintable(name + ": " + text.error));
        }
    }

    void scriptsAreValid() {
        const QMap<QString, QString> checks{{"bash", "-n"}, {"zsh", "-n"}, {"fish", "--no-execute"}};
        for (const QString& shell : checks.keys()) {
            for (const QString program : {"secateur-cli", "secateur"}) {
                m_scratch.write("script", completionFor(shell, program).toUtf8());
                const Printed check = printed(shell, {checks[shell], m_scratch.path("script")});
                QVERIFY2(check.error.isEmpty(), qPrintable(shell + ": " + check.error));
            }
        }
    }

    void everyOptionIsInEachCompletion() {
        const QString zsh = completionFor("zsh");
        const QString fish = completionFor("fish");
        for (const Verb& verb : allVerbs()) {
            const QStringList inBash = offered(m_script, verb.path + QStringList{"--"});
            const QString function =
                zsh.section("\n_secateur_cli_" + verb.path.join('_') + "() {", 1).section("\n}\n", 0, 0);
            for (const QString& option : verb.options()) {
                const QByteArray what = (verb.name() + " " + option).toUtf8();
                QVERIFY2(inBash.contains(option), what);
                QVERIFY2(function.contains(QRegularExpression(option + "=?\\[")), what);
                QVERIFY2(fish.contains(QRegularExpression(
                             QString("_at(_end)? %1'.* -l %2( |\n)").arg(verb.name(), option.mid(2)))),
                         what);
            }
        }
    }

    void verbsAreOffered() {
        QStringList verbs;
        QStringList ofMasks;
        for (const Verb& verb : allVerbs()) {
            if (verb.path.size() == 1)
                verbs << verb.name();
            if (verb.path.size() == 2 && verb.path.first() == "mask")
                ofMasks << verb.path.last();
        }
        QCOMPARE(offered(m_script, {""}), verbs);
        QCOMPARE(offered(m_script, {"mask", ""}), ofMasks);
        QCOMPARE(offered(m_script, {"me"}), QStringList{"measure"});
    }

    void knownValuesAreOffered() {
        const QStringList styles{"auto", "plain", "json", "none"};
        QCOMPARE(offered(m_script, {"measure", "MODEL", "--progress", ""}), styles);
        QCOMPARE(offered(m_script, {"measure", "--progress", "=", ""}), styles);
        QCOMPARE(offered(m_script, {"measure", "--progress", "="}), styles);
        QCOMPARE(offered(m_script, {"measure", "MODEL", "--progress=p"}), QStringList{"plain"});
        QVERIFY(offered(m_script, {"list", ""}).contains("strategies"));
        QCOMPARE(offered(m_script, {"reproduce", ""}), idsOf("papers"));
        QVERIFY(offered(m_script, {"reproduce", "gate_norm", ""}).isEmpty()); // a model: bash offers files
        QVERIFY(offered(m_script, {"prune", "MODEL", "--out", ""}).isEmpty());
        QVERIFY(offered(m_script, {"plot", "s.h5", "--figure", "hea"}).contains("heads"));
    }

    void listsAreContinued() {
        const QStringList all = offered(m_script, {"measure", "MODEL", "--metric", ""});
        for (const QString& id : idsOf("metrics"))
            QVERIFY2(all.contains(id), qPrintable(id));
        QVERIFY(all.contains("weights"));
        QVERIFY(offered(m_script, {"measure", "MODEL", "--metric", "weights,sink_h"}).contains("weights,sink_head"));
        // bash has split gate_norm:fold_norm=true,sink_h at ":" and "=", and replaces the last part.
        const QStringList behindOption =
            offered(m_script, {"measure", "--metric", "gate_norm", ":", "fold_norm", "=", "true,sink_h"});
        QVERIFY2(behindOption.contains("true,sink_head"), qPrintable(behindOption.join('\n')));
    }

    /// Options whose text refers to `list KIND` offer the ids of that kind, unless they take a file.
    void optionsThatReferToAListOfferItsIds() {
        static const QRegularExpression reference("^  (--[a-z-]+) (\\S+).*?\\(see: list ([a-z]+)\\)",
                                                  QRegularExpression::MultilineOption |
                                                      QRegularExpression::DotMatchesEverythingOption);
        int seen = 0;
        for (const Verb& verb : allVerbs()) {
            for (const QString& entry : verb.help.split(QRegularExpression("\n(?=  -)"))) {
                const auto match = reference.match(entry);
                if (!match.hasMatch() || match.captured(2).startsWith("FILE"))
                    continue;
                ++seen;
                const QStringList values = offered(m_script, verb.path + QStringList{match.captured(1), ""});
                for (const QString& id : idsOf(match.captured(3)))
                    QVERIFY2(values.contains(id), qPrintable(verb.name() + " " + match.captured(1) + " " + id));
            }
        }
        QVERIFY(seen > 5);
    }

    void theWindowIsCompletedToo() {
        for (const QString shell : {"bash", "zsh", "fish"}) {
            const QString script = completionFor(shell, "secateur");
            for (const char* option : {"mask", "filter", "reference", "version"})
                QVERIFY2(script.contains(option), qPrintable(shell + ": " + option));
        }
    }

    void helpDoesNotShowTheseVerbs() {
        for (const Verb& verb : allVerbs())
            QVERIFY2(verb.name() != "man" && verb.name() != "completions", qPrintable(verb.name()));
        const Outcome unknown = run({"manual"});
        QCOMPARE(unknown.status, 2);
        QVERIFY2(!unknown.error.contains("completions"), qPrintable(unknown.error));
        QCOMPARE(run({"man", "secateur-cli-nothing"}).status, 2);
        QCOMPARE(run({"completions", "csh"}).status, 2);
        QVERIFY(run({"man"}).out.contains("secateur-cli-measure"));
        QVERIFY(run({"man", "secateur-cli-measure"}).out.startsWith(".\\\" "));
    }

    void theDesktopFileNamesTheTypesThatArePacked() {
        const QString folder = SECATEUR_SOURCE_DIR "/resources/";
        const QString desktop = contents(folder + "secateur.desktop");
        const QString types = contents(folder + "package/secateur.mime.xml");
        const QString metainfo = contents(folder + "package/org.secateur.secateur.metainfo.xml");
        static const QRegularExpression type("<mime-type type=\"([^\"]+)\"");
        int seen = 0;
        for (auto match = type.globalMatch(types); match.hasNext(); ++seen) {
            const QString name = match.next().captured(1);
            QVERIFY2(desktop.contains(name + ";"), qPrintable(name));
            QVERIFY2(metainfo.contains("<mediatype>" + name + "</mediatype>"), qPrintable(name));
        }
        QCOMPARE(seen, 2);
    }

private:
    Scratch m_scratch;
    QString m_script; ///< the completions for bash
};

SECATEUR_SUITE(TestReference)
#include "tst_reference.moc"
