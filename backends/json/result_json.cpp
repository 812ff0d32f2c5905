#include "backends/json/result_json.h"

#include "analysis/session/result_key.h"
#include "backends/export/export_targets.h"
#include "backends/json/json_fields.h"

namespace secateur {

namespace {

/// The groups of layers that share weights. Null if no layers do.
OrderedJson tiedGroups(const ModelSpec& spec) {
    const auto groups = spec.tiedGroups();
    return groups.empty() ? OrderedJson() : OrderedJson(groups);
}

template <typename Get>
OrderedJson perLayer(const ModelSpec& spec, Get get) {
    OrderedJson list = OrderedJson::array();
    for (const LayerSpec& layer : spec.layers)
        list.push_back(get(layer));
    return list;
}

/// "sliding" if only the keys in a window are visible, otherwise name(AttentionKind).
std::string_view attentionName(const LayerSpec& layer) {
    const bool hasWindow = layer.attention == AttentionKind::full && layer.window > 0;
    return hasWindow ? "sliding" : name(layer.attention);
}

OrderedJson cardFields(const ModelCard& card) {
    const ModelSpec& spec = card.spec;
    return {{"path", card.path},
            {"format", card.format},
            {"name", card.name},
            {"architecture", spec.architecture},
            {"family", name(spec.family)},
            {"structure", spec.structure()},
            {"layers", spec.layerCount()},
            {"hidden", spec.hidden},
            {"heads", perLayer(spec, [](const LayerSpec& l) { return l.heads; })},
            {"kv_heads", perLayer(spec, [](const LayerSpec& l) { return l.kvHeads; })},
            {"head_dim", perLayer(spec, [](const LayerSpec& l) { return l.headDim; })},
            {"ffn", perLayer(spec, [](const LayerSpec& l) { return l.ffn; })},
            {"attention", perLayer(spec, attentionName)},
            {"window", perLayer(spec, [](const LayerSpec& l) { return l.window; })},
            {"vocab", spec.vocab},
            {"context", spec.context},
            {"tied_embeddings", spec.tiedEmbeddings},
            {"tied_groups", tiedGroups(spec)},
            {"parameters", card.parameters},
            {"bytes", card.bytes},
            {"dtype", card.dtype},
            {"tokenizer", card.tokenizer},
            {"fingerprint", card.fingerprint},
            {"warnings", card.warnings}};
}

OrderedJson modelFields(const ModelCard& card) {
    OrderedJson fields{
        {"path", card.path}, {"architecture", card.spec.architecture}, {"fingerprint", card.fingerprint}};
    if (!card.adapter.empty())
        fields["adapter"] = card.adapter;
    return fields;
}

OrderedJson maskFields(const EvaluatedMask& mask) {
    return mask.name.empty() ? OrderedJson() : OrderedJson{{"name", mask.name}, {"digest", mask.digest}};
}

/// Adds the adapter of an evaluation, if there is one.
void addAdapter(OrderedJson& fields, const EvaluatedAdapter& adapter) {
    if (adapter.isPresent())
        fields["adapter"] = {{"name", adapter.name}, {"digest", adapter.digest}};
}

OrderedJson lossFields(const Perplexity& run) {
    OrderedJson nats = OrderedJson::array();
    for (const WindowLoss& window : run.windows)
        nats.push_back(finiteOrNull(window.nats));
    return {{"loss_nats", finiteOrNull(run.lossNats)},
            {"perplexity", finiteOrNull(run.perplexity())},
            {"standard_error", finiteOrNull(run.standardError)},
            {"window_nats", std::move(nats)}};
}

OrderedJson textFields(const TextEvaluation& text) {
    const Perplexity& run = text.perplexity;
    const bool byWords = run.rules.protocol == TextProtocol::wordPpl;
    OrderedJson fields{{"source", text.source},
                       {"digest", text.digest},
                       {"protocol", name(run.rules.protocol)},
                       {"bos", name(run.rules.bos.value_or(BosMode::tokenizerDefault))},
                       {"window", run.rules.window},
                       {"windows", run.windows.size()},
                       {"tokens", run.tokens}};
    fields.update(lossFields(run));
    fields["token_loss_nats"] = finiteOrNull(run.tokenLossNats());
    fields["delta_nats"] = text.reference ? finiteOrNull(text.reference->difference.nats) : OrderedJson();
    fields["delta_standard_error"] =
        text.reference ? finiteOrNull(text.reference->difference.standardError) : OrderedJson();
    fields["reference"] = nullptr;
    if (text.reference) {
        fields["reference"] = {{"mask", maskFields(text.reference->mask)}};
        fields["reference"].update(lossFields(text.reference->perplexity));
    }
    fields["pages"] = byWords ? OrderedJson(run.pages.size()) : OrderedJson();
    fields["words"] = byWords ? OrderedJson(run.words()) : OrderedJson();
    fields["bytes"] = byWords ? OrderedJson(run.bytes()) : OrderedJson();
    fields["byte_perplexity"] = byWords ? finiteOrNull(run.bytePerplexity()) : OrderedJson();
    fields["bits_per_byte"] = byWords ? finiteOrNull(run.bitsPerByte()) : OrderedJson();
    return fields;
}

OrderedJson pooledFields(const PooledEvaluation& pooled) {
    const PooledDistance& distance = pooled.distance;
    return {{"source", pooled.source},
            {"digest", pooled.digest},
            {"sequence_length", pooled.sequenceLength},
            {"sequences", distance.sequences},
            {"tokens", distance.tokens},
            {"of", distance.hasPooler ? "pooler" : "first_token"},
            {"relative", finiteOrNull(distance.relative.value)},
            {"relative_standard_error", finiteOrNull(distance.relative.standardError)},
            {"cosine", finiteOrNull(distance.cosine.value)},
            {"cosine_standard_error", finiteOrNull(distance.cosine.standardError)},
            {"reference", {{"mask", maskFields(pooled.reference)}}}};
}

/// Adds the measured times of an evaluation, if there are any.
void addTimes(OrderedJson& fields, const Evaluation& evaluation) {
    const OrderedJson timedAgainst = maskFields(evaluation.timedAgainst);
    if (evaluation.latency)
        fields["latency"] = latencyFields(*evaluation.latency, timedAgainst);
    for (const Prefill& prefill : evaluation.prefills)
        fields["prefill"].push_back(prefillFields(prefill, timedAgainst));
}

OrderedJson continuationFields(const PromptContinuation& written) {
    return {{"prompt", written.prompt.text},
            {"text", written.text},
            {"tokens", written.continuation.tokens},
            {"end", name(written.continuation.end)}};
}

void addPrediction(OrderedJson& document, const Evaluation& evaluation) {
    if (!evaluation.predicted)
        return;
    document["predicted_delta_nats"] = finiteOrNull(evaluation.predicted->nats);
    document["predicted_interval"] = {finiteOrNull(evaluation.predicted->low),
                                      finiteOrNull(evaluation.predicted->high)};
}

/// The conditions of a metric's measurement, without the values.
OrderedJson measurementFields(const MetricResult& result) {
    const Measurement& measurement = result.measurement;
    return {{"result_id", result.request.resultId()},
            {"key", measurementKey(measurement)},
            {"text", result.data ? OrderedJson(result.data->source) : OrderedJson()},
            {"mask_digest", measurement.maskDigest},
            {"data_digest", measurement.dataDigest.empty() ? OrderedJson() : OrderedJson(measurement.dataDigest)},
            {"dtype", measurement.dtype},
            {"device", measurement.device},
            {"created", measurement.created}};
}

OrderedJson storedFields(const Evaluation& evaluation) {
    OrderedJson fields{{"mask", maskFields(evaluation.mask)},
                       {"dtype", evaluation.dtype},
                       {"device", evaluation.device},
                       {"created", evaluation.created},
                       {"seconds", evaluation.seconds}};
    addAdapter(fields, evaluation.adapter);
    if (evaluation.text) {
        fields["text"] = textFields(*evaluation.text);
        fields["text"]["is_complete"] = evaluation.text->isComplete();
    }
    for (const TaskEvaluation& task : evaluation.tasks)
        fields["tasks"][task.name] = taskFields(task, false);
    addTimes(fields, evaluation);
    for (const PromptContinuation& written : evaluation.continuations)
        fields["continuations"].push_back(continuationFields(written));
    return fields;
}

} // namespace

std::string inspectJson(const ModelCard& card) {
    return jsonText(cardFields(card));
}

std::string inspectJson(const ModelCard& card, const std::vector<TensorInfo>& tensors) {
    OrderedJson document = cardFields(card);
    OrderedJson list = OrderedJson::array();
    for (const TensorInfo& tensor : tensors)
        list.push_back({{"name", tensor.name},
                        {"dtype", tensor.dtype},
                        {"shape", tensor.shape},
                        {"bytes", tensor.bytes},
                        {"file", tensor.file}});
    document["tensors"] = std::move(list);
    return jsonText(document);
}

std::string tokensJson(const Tokenizer& tokenizer, std::string_view text, const Encoding& encoding) {
    const TokenizerCard& card = tokenizer.card();
    const auto idOrNull = [](const std::optional<int>& id) { return id ? OrderedJson(*id) : OrderedJson(nullptr); };
    OrderedJson tokens = OrderedJson::array();
    for (std::size_t i = 0; i < encoding.ids.size(); ++i)
        tokens.push_back({{"id", encoding.ids[i]},
                          {"token", tokenizer.token(encoding.ids[i]).value_or("")},
                          {"begin", encoding.ranges[i].begin},
                          {"end", encoding.ranges[i].end}});
    OrderedJson document = {{"source", card.source},
                            {"kind", card.kind},
                            {"size", card.size},
                            {"bos", idOrNull(card.bos)},
                            {"eos", idOrNull(card.eos)},
                            {"unknown", idOrNull(card.unknown)},
                            {"separator", idOrNull(card.separator)},
                            {"padding", idOrNull(card.padding)},
                            {"classifier", idOrNull(card.classifier)},
                            {"mask", idOrNull(card.mask)},
                            {"chat_template", card.chatTemplate},
                            {"text", text},
                            {"tokens", std::move(tokens)},
                            {"decoded", tokenizer.decode(encoding.ids)},
                            {"warnings", card.warnings}};
    return jsonText(document);
}

namespace {

/// Fields of results that were measured together.
struct ResultFields {
    OrderedJson data;
    OrderedJson metrics = OrderedJson::object();
    Measurement measurement;
};

/// @param warnings receives the warnings of the results
ResultFields resultFields(std::span<const MetricResult> results, const ModelSpec& spec,
                          std::vector<std::string>& warnings) {
    ResultFields fields;
    for (const MetricResult& result : results) {
        fields.metrics[result.request.resultId()] = metricFields(result, spec);
        for (const std::string& warning : result.warnings)
            warnings.push_back(result.request.resultId() + ": " + warning);
    }
    const MetricResult* run = results.empty() ? nullptr : &results.front();
    for (const MetricResult& result : results) // preferably of a metric that ran the model, because it has a text
        if (result.data && !run->data)
            run = &result;
    if (run)
        fields.measurement = run->measurement;
    if (run && run->data)
        fields.data = dataFields(*run->data, run->measurement.dataDigest);
    return fields;
}

} // namespace

std::string measureJson(const ModelCard& card, std::span<const MetricResult> results, const EvaluatedMask& mask,
                        double seconds, std::int64_t peakBytes, std::span<const std::string> notes) {
    std::vector<std::string> warnings = card.warnings;
    if (!notes.empty())
        warnings.assign(notes.begin(), notes.end());
    ResultFields fields = resultFields(results, card.spec, warnings);
    return jsonText({{"model", modelFields(card)},
                     {"mask", maskFields(mask)},
                     {"data", std::move(fields.data)},
                     {"dtype", fields.measurement.dtype},
                     {"device", fields.measurement.device},
                     {"seconds", seconds},
                     {"peak_bytes", peakBytes},
                     {"metrics", std::move(fields.metrics)},
                     {"warnings", warnings}});
}

std::string measureTasksJson(const ModelCard& card, std::span<const TaskResults> tasks, const EvaluatedMask& mask,
                             double seconds, std::int64_t peakBytes, std::span<const std::string> notes) {
    std::vector<std::string> warnings(notes.begin(), notes.end());
    OrderedJson documents = OrderedJson::object();
    Measurement measurement;
    for (const TaskResults& task : tasks) {
        ResultFields fields = resultFields(task.results, card.spec, warnings);
        documents[task.task] = {{"data", std::move(fields.data)}, {"metrics", std::move(fields.metrics)}};
        measurement = fields.measurement;
    }
    return jsonText({{"model", modelFields(card)},
                     {"mask", maskFields(mask)},
                     {"dtype", measurement.dtype},
                     {"device", measurement.device},
                     {"seconds", seconds},
                     {"peak_bytes", peakBytes},
                     {"tasks", std::move(documents)},
                     {"warnings", warnings}});
}

std::string generationJson(const PromptContinuation& written, double seconds, std::span<const std::string> warnings) {
    OrderedJson document = continuationFields(written);
    document["seconds"] = seconds;
    document["warnings"] = warnings;
    return jsonText(document);
}

std::string generationsJson(std::span<const PromptContinuation> written, double seconds,
                            std::span<const std::string> warnings) {
    OrderedJson texts = OrderedJson::array();
    for (const PromptContinuation& one : written)
        texts.push_back(continuationFields(one));
    return jsonText({{"texts", std::move(texts)}, {"seconds", seconds}, {"warnings", warnings}});
}

std::string evaluationJson(const ModelCard& card, const Evaluation& evaluation, bool answers) {
    OrderedJson document{{"model", modelFields(card)},
                         {"mask", maskFields(evaluation.mask)},
                         {"dtype", evaluation.dtype},
                         {"device", evaluation.device}};
    addAdapter(document, evaluation.adapter);
    if (evaluation.text)
        document["text"] = textFields(*evaluation.text);
    if (evaluation.pooled)
        document["pooled_distance"] = pooledFields(*evaluation.pooled);
    for (const TaskEvaluation& task : evaluation.tasks) {
        document["tasks"][task.name] = taskFields(task, answers);
        if (task.reference)
            document["tasks"][task.name]["reference"]["mask"] = maskFields(task.reference->mask);
    }
    addTimes(document, evaluation);
    document["parameters"] = evaluation.parameters;
    document["kv_bytes_per_token"] = evaluation.kvBytesPerToken;
    addPrediction(document, evaluation);
    document["seconds"] = evaluation.seconds;
    document["warnings"] = evaluation.warnings;
    return jsonText(document);
}

std::string evaluationsJson(const ModelCard& card, std::span<const Evaluation> runs, double seconds,
                            std::span<const std::string> warnings) {
    OrderedJson list = OrderedJson::array();
    for (const Evaluation& run : runs) {
        OrderedJson fields{
            {"mask", maskFields(run.mask)}, {"seconds", run.seconds}, {"reused_layers", run.reusedLayers}};
        addAdapter(fields, run.adapter);
        fields["parameters"] = run.parameters;
        fields["kv_bytes_per_token"] = run.kvBytesPerToken;
        addPrediction(fields, run);
        if (run.text)
            fields["text"] = textFields(*run.text);
        list.push_back(std::move(fields));
    }
    return jsonText({{"model", modelFields(card)},
                     {"dtype", runs.front().dtype},
                     {"device", runs.front().device},
                     {"runs", std::move(list)},
                     {"seconds", seconds},
                     {"warnings", warnings}});
}

std::string exportJson(const ExportResult& result) {
    OrderedJson files = OrderedJson::array();
    for (const ExportedFile& file : result.files)
        files.push_back({{"path", file.path}, {"bytes", file.bytes}});
    OrderedJson verified{{"max_logit_difference", finiteOrNull(result.verified.most)},
                         {"logit_scale", finiteOrNull(result.verified.scale)},
                         {"tolerance", result.tolerance},
                         {"probe_tokens", result.verified.tokens}};
    if (result.verified.step >= 0)
        verified["max_step_difference"] = finiteOrNull(result.verified.step);
    OrderedJson document{{"target", result.target},
                         {"layout", result.layout},
                         {"path", result.path},
                         {"files", std::move(files)},
                         {"verified", result.verified.tokens > 0 ? verified : OrderedJson()},
                         {"mask", {{"path", result.maskPath}, {"digest", result.maskDigest}}},
                         {"measured", result.measured},
                         {"left_out", result.leftOut},
                         {"write_seconds", result.writeSeconds},
                         {"verify_seconds", result.verifySeconds},
                         {"warnings", result.warnings}};
    if (!result.adapterPath.empty())
        document["adapter"] = result.adapterPath;
    return jsonText(document);
}

std::string sessionJson(const Session& session) {
    OrderedJson metrics = OrderedJson::array();
    for (const MetricResult& result : session.results)
        metrics.push_back(measurementFields(result));
    OrderedJson masks = OrderedJson::array();
    for (const SessionMask& mask : session.masks)
        masks.push_back({{"name", mask.name}, {"digest", mask.digest}});
    OrderedJson evaluations = OrderedJson::array();
    for (const Evaluation& stored : session.evaluations)
        evaluations.push_back(storedFields(compared(session, stored)));
    OrderedJson curves = OrderedJson::array();
    for (const Curves& own : session.curves)
        curves.push_back(curvesFields(session, own));
    return jsonText({{"model", modelFields(session.model)},
                     {"created", session.created},
                     {"metrics", std::move(metrics)},
                     {"masks", std::move(masks)},
                     {"evaluations", std::move(evaluations)},
                     {"curves", std::move(curves)}});
}

std::string errorJson(const Error& error) {
    return jsonText({{"error", {{"message", error.message()}, {"subject", error.subject()}, {"hint", error.hint()}}}});
}

std::string progressJson(double fraction, std::string_view text) {
    return OrderedJson{{"fraction", fraction}, {"text", text}}.dump(-1, ' ', false,
                                                                    OrderedJson::error_handler_t::replace);
}

std::string forecastJson(double expectedSeconds, std::string_view text) {
    return OrderedJson{{"fraction", 0.0}, {"text", text}, {"expected_seconds", expectedSeconds}}.dump(
        -1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string listJson(std::string_view kind, const std::vector<ListItem>& items) {
    OrderedJson list = OrderedJson::array();
    for (const ListItem& item : items) {
        OrderedJson options = OrderedJson::array();
        for (const OptionInfo& option : item.options)
            options.push_back({{"name", option.name},
                               {"type", option.type},
                               {"default", option.defaultValue},
                               {"meaning", option.meaning}});
        OrderedJson fields{{"id", item.id}, {"summary", item.summary}, {"source", item.source}};
        for (const auto& [name, text] : item.fields)
            fields[name] = text;
        fields["options"] = std::move(options);
        list.push_back(std::move(fields));
    }
    return jsonText({{"kind", kind}, {"items", std::move(list)}});
}

} // namespace secateur
