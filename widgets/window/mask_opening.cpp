#include "widgets/window/mask_opening.h"

#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/jobs/messages.h"
#include "widgets/window/recent_files.h"

#include <QFileInfo>

#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr qsizetype mostOffered = 3;

/// A model's name in lower case, without the owner of its repository and the ending of its file.
QString plainName(const std::string& name) {
    constexpr auto ending = ".gguf";
    const QString plain = QString::fromStdString(name).section('/', -1).toLower();
    return plain.endsWith(ending) ? plain.chopped(QLatin1String(ending).size()) : plain;
}

} // namespace

MaskOpening::MaskOpening(Document* document, MessageBar* messages, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_messages(messages) {
    connect(document, &Document::opened, this, &MaskOpening::openWaiting);
    connect(document, &Document::failed, this, [this] {
        if (!m_document->isOpen() && !m_document->files()->isOpening()) // a model for the masks did not open
            for (const QString& mask : std::exchange(m_waiting, {}))
                lookForModel(mask);
    });
}

bool MaskOpening::isMaskFile(const QString& path) {
    const QString name = QFileInfo(path).fileName().toLower();
    return name.endsWith(".json") && name != "config.json" && !name.endsWith(".index.json");
}

void MaskOpening::open(const QString& path) {
    if (m_document->isOpen())
        m_document->maskJobs()->openMask(path);
    else if (m_document->files()->isOpening())
        m_waiting << path;
    else
        lookForModel(path);
}

void MaskOpening::openWaiting() {
    for (const QString& offer : std::exchange(m_offers, {}))
        m_messages->retract(offer);
    for (const QString& mask : std::exchange(m_waiting, {}))
        m_document->maskJobs()->openMask(mask);
}

void MaskOpening::lookForModel(const QString& mask) {
    const auto work = [this, mask, named = m_document->services().maskedModel, opened = recentPaths(),
                       search = m_document->services().foundModels](const Progress& progress) {
        const std::string model = named(mask.toStdString());
        QStringList paths;
        for (const FoundModel& found : search(opened, progress))
            if (!model.empty() && plainName(found.name) == plainName(model))
                paths << QString::fromStdString(found.path);
        return [this, mask, model = QString::fromStdString(model), paths] {
            QStringList all = recentFilesOf(model) + paths;
            all.removeDuplicates(); // recent files lie next to themselves
            offer(mask, model, all);
        };
    };
    m_document->start(tr("Reading %1").arg(QFileInfo(mask).fileName()), JobRunner::Priority::files, work);
}

void MaskOpening::offer(const QString& mask, const QString& model, const QStringList& paths) {
    if (m_document->isOpen()) // since the file was read
        return m_document->maskJobs()->openMask(mask);
    m_waiting << mask;
    std::vector<MessageBar::Choice> choices;
    for (const QString& path : paths.mid(0, mostOffered))
        choices.push_back({tr("Open %1").arg(QFileInfo(path).fileName()), [this, path] { emit modelWanted(path); }});
    choices.push_back({tr("Choose a file…"), [this] { emit modelChoiceWanted(); }});
    choices.push_back({tr("Choose a folder…"), [this] { emit folderChoiceWanted(); }});
    choices.push_back({tr("Not now"), [this, mask] { m_waiting.removeAll(mask); }});
    const QString name = QFileInfo(mask).fileName();
    const QString text = model.isEmpty() ? tr("%1 is a mask. Open its model to see it.").arg(name)
                                         : tr("%1 is a mask of %2. Open that model to see it.").arg(name, model);
    m_offers << text;
    m_messages->say(MessageBar::Kind::notice, text, std::move(choices));
}

} // namespace secateur
