#include "backends/json/task_json.h"

#include <cmath>

namespace secateur {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson scoreNumber(double value) {
    return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson textOrNull(const std::string& text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
}

OrderedJson taskMetricFields(const TaskMetric& metric) {
    return {{"value", scoreNumber(metric.value)}, {"standard_error", scoreNumber(metric.standardError)}};
}

OrderedJson metricsOf(const TaskRun& run) {
    OrderedJson metrics = OrderedJson::object();
    for (const TaskMetric& metric : run.scores.metrics)
        metrics[metric.id] = taskMetricFields(metric);
    return metrics;
}

OrderedJson subjectsOf(const TaskRun& run) {
    if (run.scores.subjects.empty())
        return nullptr;
    OrderedJson subjects = OrderedJson::object();
    for (const SubjectScore& subject : run.scores.subjects)
        subjects[subject.subject] = {{"count", subject.count}, {"acc", taskMetricFields(subject.accuracy)}};
    return subjects;
}

OrderedJson deltaOf(const ReferenceTask& reference) {
    OrderedJson delta = OrderedJson::object();
    for (const MetricDifference& difference : reference.differences) {
        OrderedJson fields{{"value", scoreNumber(difference.value)}, {"standard_error", scoreNumber(difference.standardError)}};
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

OrderedJson answerFields(const TaskRun& run, const AnsweredQuestion& question) {
    OrderedJson scores = OrderedJson::array();
    for (const OptionScore& score : question.scores)
        scores.push_back(scoreNumber(score.logProbability));
    OrderedJson fields{{"line", question.line}, {"subject", textOrNull(question.subject)}};
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

OrderedJson answersOf(const TaskRun& run) {
    OrderedJson answers = OrderedJson::array();
    for (const AnsweredQuestion& question : run.questions)
        answers.push_back(answerFields(run, question));
    for (const WrittenAnswer& written : run.written)
        answers.push_back({{"line", written.line},
                           {"text", written.text},
                           {"compared", written.compared},
                           {"exact_match", written.isExact},
                           {"f1", scoreNumber(written.f1)}});
    return answers;
}

const char* bosName(BosRule rule) {
    return rule == BosRule::always ? "always" : rule == BosRule::never ? "never" : "tokenizer_default";
}

} // namespace

nlohmann::ordered_json taskFields(const TaskEvaluation& task, bool answers) {
    const TaskRun& run = task.run;
    OrderedJson fields{{"source", task.source},
                {"format", task.formatId},
                {"questions", task.questions},
                {"count", run.scores.count},
                {"seed", task.rules.seed},
                {"shots", task.rules.shots.count},
                {"examples", textOrNull(run.shots)},
                {"bos", bosName(task.rules.tokens.bos)},
                {"metrics", metricsOf(run)},
                {"subjects", subjectsOf(run)},
                {"subject_mean", scoreNumber(run.scores.subjectMean)},
                {"classes", task.classNames.empty() ? OrderedJson() : OrderedJson(task.classNames)},
                {"delta", task.reference ? deltaOf(*task.reference) : OrderedJson()},
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
