#include "backends/json/latency_json.h"

namespace secateur {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson secondsOf(const Timing& timing) {
    return {{"mean_seconds", timing.mean()},
            {"median_seconds", timing.median()},
            {"p10_seconds", timing.percentile(10)},
            {"p90_seconds", timing.percentile(90)}};
}

OrderedJson speedupFields(const std::optional<Speedup>& speedup) {
    return speedup ? OrderedJson{{"ratio", speedup->ratio}, {"p10", speedup->p10}, {"p90", speedup->p90}} : OrderedJson();
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
