#include "widgets/evaluations/extra_choice_keeper.h"

#include "widgets/document/document.h"
#include "widgets/evaluations/live_evaluation.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>

namespace secateur {

namespace {

constexpr auto viewName = "more_measurements";

QString toText(const std::string& text) {
    return QString::fromStdString(text);
}

QJsonObject toJson(const PromptRequest& prompt) {
    return {{"text", toText(prompt.text)},
            {"new_tokens", prompt.newTokens},
            {"temperature", prompt.sampling.temperature},
            {"top_p", prompt.sampling.topP},
            {"seed", static_cast<qint64>(prompt.sampling.seed)},
            {"parse_special", prompt.special == SpecialText::parsed}};
}

PromptRequest promptOf(const QJsonObject& json) {
    PromptRequest prompt;
    prompt.text = json["text"].toString().toStdString();
    prompt.newTokens = json["new_tokens"].toInt(prompt.newTokens);
    prompt.sampling.temperature = json["temperature"].toDouble(prompt.sampling.temperature);
    prompt.sampling.topP = json["top_p"].toDouble(prompt.sampling.topP);
    prompt.sampling.seed = static_cast<std::uint64_t>(json["seed"].toInteger());
    if (json["parse_special"].toBool())
        prompt.special = SpecialText::parsed;
    return prompt;
}

QJsonObject toJson(const TaskRequest& task) {
    return {{"path", toText(task.path)},
            {"format", toText(task.format)},
            {"labels", toText(task.labels)},
            {"shots", static_cast<qint64>(task.shots)},
            {"shots_from", toText(task.shotsFrom)},
            {"draws_shots", task.drawsShots},
            {"limit", static_cast<qint64>(task.limit)},
            {"seed", static_cast<qint64>(task.seed)},
            {"bos", static_cast<int>(task.bos)},
            {"batch_tokens", static_cast<qint64>(task.batchTokens)}};
}

TaskRequest taskOf(const QJsonObject& json) {
    const auto text = [&json](const char* name) { return json[name].toString().toStdString(); };
    const auto count = [&json](const char* name) {
        return static_cast<std::size_t>(std::max<qint64>(json[name].toInteger(), 0));
    };
    TaskRequest task;
    task.path = text("path");
    task.format = text("format");
    task.labels = text("labels");
    task.shots = count("shots");
    task.shotsFrom = text("shots_from");
    task.drawsShots = json["draws_shots"].toBool();
    task.limit = count("limit");
    task.seed = static_cast<std::uint64_t>(json["seed"].toInteger(static_cast<qint64>(task.seed)));
    const int bos = json["bos"].toInt();
    if (bos >= 0 && bos <= static_cast<int>(BosRule::firstOnly))
        task.bos = static_cast<BosRule>(bos);
    task.batchTokens = std::max<qint64>(json["batch_tokens"].toInteger(task.batchTokens), 1);
    return task;
}

QJsonObject toJson(const SpeedRequest& speed) {
    return {{"prompt_tokens", speed.promptTokens},
            {"new_tokens", speed.newTokens},
            {"warmup", speed.warmup},
            {"runs", speed.runs}};
}

SpeedRequest speedOf(const QJsonObject& json) {
    SpeedRequest speed;
    speed.promptTokens = json["prompt_tokens"].toInt(speed.promptTokens);
    speed.newTokens = json["new_tokens"].toInt(speed.newTokens);
    speed.warmup = json["warmup"].toInt(speed.warmup);
    speed.runs = json["runs"].toInt(speed.runs);
    return speed;
}

} // namespace

std::string extraChoiceText(const ExtraChoice& choice) {
    QJsonObject json;
    if (choice.prompt)
        json["prompt"] = toJson(*choice.prompt);
    QJsonArray tasks;
    for (const TaskRequest& task : choice.tasks)
        tasks << toJson(task);
    if (!tasks.isEmpty())
        json["tasks"] = tasks;
    if (choice.speed)
        json["speed"] = toJson(*choice.speed);
    return QJsonDocument(json).toJson(QJsonDocument::Compact).toStdString();
}

ExtraChoice readExtraChoice(const std::string& text) {
    const QJsonObject json = QJsonDocument::fromJson(QByteArray::fromStdString(text)).object();
    ExtraChoice choice;
    if (json["prompt"].isObject())
        choice.prompt = promptOf(json["prompt"].toObject());
    for (const QJsonValue& task : json["tasks"].toArray())
        if (!task["path"].toString().isEmpty())
            choice.tasks.push_back(taskOf(task.toObject()));
    if (json["speed"].isObject())
        choice.speed = speedOf(json["speed"].toObject());
    return choice;
}

ExtraChoiceKeeper::ExtraChoiceKeeper(Document* document, LiveEvaluation* live, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_live(live) {
    connect(document, &Document::opened, this, &ExtraChoiceKeeper::restore);
    connect(live, &LiveEvaluation::changed, this, &ExtraChoiceKeeper::keep);
}

void ExtraChoiceKeeper::restore() {
    m_restored = m_document->generation();
    const std::string stored = m_document->storedView(viewName);
    EvaluationChoice choice = m_live->choice();
    if (!stored.empty() || !m_document->sessionPath().isEmpty()) {
        const ExtraChoice restored = readExtraChoice(stored);
        choice.extra.prompt = restored.prompt;
        choice.extra.tasks = restored.tasks;
        choice.extra.speed = restored.speed;
    }
    m_kept = extraChoiceText(choice.extra);
    m_document->setView(viewName, m_kept);
    if (!(choice == m_live->choice()))
        m_live->choose(choice);
}

void ExtraChoiceKeeper::keep() {
    // What was opened just now has a choice of its own, which is restored next.
    if (!m_document->isOpen() || m_restored != m_document->generation())
        return;
    const std::string now = extraChoiceText(m_live->choice().extra);
    if (now == m_kept)
        return;
    m_kept = now;
    m_document->setView(viewName, now);
    m_document->noteChange();
}

} // namespace secateur
