#include "backends/json/json_fields.h"

#include <cmath>

namespace secateur {

namespace {

/// For each layer a number or, if a layer has several units, a list of numbers.
OrderedJson values(const Matrix& matrix, Scope scope, const ModelSpec& spec) {
    OrderedJson rows = OrderedJson::array();
    for (std::size_t layer = 0; layer < matrix.rows(); ++layer) {
        if (scope == Scope::layer) {
            rows.push_back(finiteOrNull(matrix(layer, 0)));
            continue;
        }
        OrderedJson cells = OrderedJson::array();
        for (std::size_t cell = 0; cell < cellsInLayer(scope, spec.layers[layer]); ++cell)
            cells.push_back(finiteOrNull(matrix(layer, cell)));
        rows.push_back(std::move(cells));
    }
    return rows;
}

/// values() of a result. If the result has prefix lengths, a list of values() with one element for each length.
OrderedJson allValues(const MetricResult& result, const ModelSpec& spec) {
    const Scope scope = result.request.info->scope;
    if (result.lengths.empty())
        return values(result.values, scope, spec);
    OrderedJson all = OrderedJson::array();
    for (const Matrix& own : result.overLengths)
        all.push_back(values(own, scope, spec));
    return all;
}

/// The classes of a metric's units, as names.
OrderedJson classesOf(const MetricResult& result, const ModelSpec& spec) {
    const auto names = result.request.info->classes;
    OrderedJson rows = OrderedJson::array();
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer) {
        OrderedJson cells = OrderedJson::array();
        for (std::size_t cell = 0; cell < cellsInLayer(result.request.info->scope, spec.layers[layer]); ++cell) {
            const double value = result.values(layer, cell);
            const bool isClass = value >= 0 && value < static_cast<double>(names.size());
            cells.push_back(isClass ? OrderedJson(names[static_cast<std::size_t>(value)]) : OrderedJson(nullptr));
        }
        rows.push_back(std::move(cells));
    }
    return rows;
}

OrderedJson textOrNull(const std::string& text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
}

OrderedJson taskMetricFields(const TaskMetric& metric) {
    return {{"value", finiteOrNull(metric.value)}, {"standard_error", finiteOrNull(metric.standardError)}};
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
        OrderedJson fields{{"value", finiteOrNull(difference.value)},
                           {"standard_error", finiteOrNull(difference.standardError)}};
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
        scores.push_back(finiteOrNull(score.logProbability));
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
                           {"f1", finiteOrNull(written.f1)}});
    return answers;
}

const char* bosName(BosRule rule) {
    return rule == BosRule::always ? "always" : rule == BosRule::never ? "never" : "tokenizer_default";
}

OrderedJson secondsOf(const Timing& timing) {
    return {{"mean_seconds", timing.mean()},
            {"median_seconds", timing.median()},
            {"p10_seconds", timing.percentile(10)},
            {"p90_seconds", timing.percentile(90)}};
}

OrderedJson speedupFields(const std::optional<Speedup>& speedup) {
    return speedup ? OrderedJson{{"ratio", speedup->ratio}, {"p10", speedup->p10}, {"p90", speedup->p90}}
                   : OrderedJson();
}

OrderedJson sublayerFields(const std::optional<SublayerSeconds>& seconds) {
    if (!seconds)
        return nullptr;
    return {{"attention", seconds->attentionTotal()},
            {"mlp", seconds->mlpTotal()},
            {"rest", seconds->rest},
            {"attention_share", seconds->attentionTotal() / seconds->total()},
            {"layers", {{"attention", seconds->attention}, {"mlp", seconds->mlp}}}};
}

OrderedJson passFields(const PrefillTiming& pass) {
    OrderedJson fields{{"seconds", pass.timing.median()}, {"runs", pass.timing.seconds.size()}};
    fields.update(secondsOf(pass.timing));
    fields["by_sublayer"] = sublayerFields(pass.bySublayer);
    return fields;
}

} // namespace

std::string jsonText(const OrderedJson& document) {
    return document.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson finiteOrNull(double value) {
    return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson metricFields(const MetricResult& result, const ModelSpec& spec) {
    const MetricInfo& info = *result.request.info;
    OrderedJson fields{{"scope", name(info.scope)},
                       {"prune_first", name(info.pruneFirst)},
                       {"unit", info.unit},
                       {"values", allValues(result, spec)}};
    if (!result.lengths.empty())
        fields["lengths"] = result.lengths;
    if (!info.classes.empty())
        fields["classes"] = classesOf(result, spec);
    for (const MetricFeature& feature : result.features)
        fields["features"][feature.name] = values(feature.values, info.scope, spec);
    if (result.data)
        fields["is_complete"] = result.isWhole;
    if (result.standardError)
        fields["standard_error"] = values(*result.standardError, info.scope, spec);
    fields["options"] = OrderedJson::object();
    for (const auto& [option, value] : result.request.options)
        fields["options"][option] = value;
    fields["seconds"] = result.seconds;
    return fields;
}

OrderedJson dataFields(const MeasuredData& data, const std::string& digest) {
    return {{"source", data.source},        {"digest", digest},
            {"sequences", data.sequences},  {"tokens", data.tokens},
            {"all_tokens", data.allTokens}, {"sequence_length", data.sequenceLength},
            {"split", data.split},          {"bos", data.bos},
            {"part", data.part},            {"parts", data.parts}};
}

OrderedJson taskFields(const TaskEvaluation& task, bool answers) {
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
                       {"subject_mean", finiteOrNull(run.scores.subjectMean)},
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

OrderedJson latencyFields(const Latency& latency, const OrderedJson& reference) {
    const LatencyRules& rules = latency.rules;
    OrderedJson fields{{"prompt_tokens", rules.promptTokens},
                       {"new_tokens", rules.newTokens},
                       {"batch", 1},
                       {"warmup", rules.warmup},
                       {"runs", latency.run.seconds.size()}};
    fields.update(secondsOf(latency.run));
    fields["tokens_per_second"] = latency.tokensPerSecond(latency.run);
    fields["reference"] = nullptr;
    if (latency.reference) {
        fields["reference"] = {{"mask", reference}};
        fields["reference"].update(secondsOf(*latency.reference));
        fields["reference"]["tokens_per_second"] = latency.tokensPerSecond(*latency.reference);
    }
    fields["speedup"] = speedupFields(latency.speedup);
    return fields;
}

OrderedJson prefillFields(const Prefill& prefill, const OrderedJson& reference) {
    OrderedJson fields{{"tokens", prefill.tokens}};
    fields.update(passFields(prefill.run));
    fields["reference"] = nullptr;
    if (prefill.reference) {
        fields["reference"] = {{"mask", reference}};
        fields["reference"].update(passFields(*prefill.reference));
    }
    fields["speedup"] = speedupFields(prefill.speedup);
    return fields;
}

} // namespace secateur
