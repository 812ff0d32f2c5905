#include "backends/task_json.h"

#include <cmath>

namespace secateur {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json textOrNull(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Json metricFields(const TaskMetric& metric) {
    return {{"value", number(metric.value)}, {"standard_error", number(metric.standardError)}};
}

Json metricsOf(const TaskRun& run) {
    Json metrics = Json::object();
    for (const TaskMetric& metric : run.scores.metrics)
        metrics[metric.id] = metricFields(metric);
    return metrics;
}

Json subjectsOf(const TaskRun& run) {
    if (run.scores.subjects.empty())
        return nullptr;
    Json subjects = Json::object();
    for (const SubjectScore& subject : run.scores.subjects)
        subjects[subject.subject] = {{"count", subject.count}, {"acc", metricFields(subject.accuracy)}};
    return subjects;
}

Json deltaOf(const ReferenceTask& reference) {
    Json delta = Json::object();
    for (const MetricDifference& difference : reference.differences) {
        Json fields{{"value", number(difference.value)}, {"standard_error", number(difference.standardError)}};
        if (const auto& pairs = difference.answers) {
            fields["both_right"] = pairs->bothRight;
            fields["only_reference"] = pairs->onlyFirst;
            fields["only_run"] = pairs->onlySecond;
            fields["both_wrong"] = pairs->bothWrong;
        }
        delta[difference.id] = std::move(fields);
    }
    return delta;
}

Json answerFields(const TaskRun& run, const AnsweredQuestion& question) {
    Json scores = Json::array();
    for (const OptionScore& score : question.scores)
        scores.push_back(number(score.logProbability));
    Json fields{{"line", question.line}, {"subject", textOrNull(question.subject)}};
    if (run.kind == TaskKind::lastWord)
        fields["greedy"] = question.scores.front().isGreedy;
    else {
        fields["gold"] = question.gold;
        fields["acc"] = question.byTotal;
    }
    if (run.kind == TaskKind::choice) {
        fields["acc_norm"] = question.byCodePoints;
        fields["acc_bytes"] = question.byBytes;
    }
    fields["scores"] = std::move(scores);
    return fields;
}

Json answersOf(const TaskRun& run) {
    Json answers = Json::array();
    for (const AnsweredQuestion& question : run.questions)
        answers.push_back(answerFields(run, question));
    for (const WrittenAnswer& written : run.written)
        answers.push_back({{"line", written.line},
                           {"text", written.text},
                           {"compared", written.compared},
                           {"exact_match", written.isExact},
                           {"f1", number(written.f1)}});
    return answers;
}

const char* bosName(BosRule rule) {
    return rule == BosRule::always ? "always" : rule == BosRule::never ? "never" : "tokenizer_default";
}

} // namespace

nlohmann::ordered_json taskFields(const TaskEvaluation& task, bool answers) {
    const TaskRun& run = task.run;
    Json fields{{"source", task.source},
                {"format", task.formatId},
                {"questions", task.questions},
                {"count", run.scores.count},
                {"seed", task.rules.seed},
                {"shots", task.rules.shots.count},
                {"examples", textOrNull(run.shots)},
                {"bos", bosName(task.rules.tokens.bos)},
                {"metrics", metricsOf(run)},
                {"subjects", subjectsOf(run)},
                {"subject_mean", number(run.scores.subjectMean)},
                {"classes", task.classNames.empty() ? Json() : Json(task.classNames)},
                {"delta", task.reference ? deltaOf(*task.reference) : Json()},
                {"reference", nullptr}};
    if (task.reference)
        fields["reference"] = {{"mask", nullptr}, {"metrics", metricsOf(task.reference->run)}};
    if (answers) {
        fields["answers"] = answersOf(run);
        if (task.reference)
            fields["reference"]["answers"] = answersOf(task.reference->run);
    }
    return fields;
}

} // namespace secateur
