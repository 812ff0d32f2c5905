#include "app/cli/cli_common.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/metrics/measure.h"
#include "analysis/model/kernels.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/session/result_key.h"
#include "app/reference/offered_values.h"
#include "backends/base/runtime.h"
#include "backends/engine/adapted_model.h"
#include "backends/engine/plan_memory.h"
#include "backends/json/result_json.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"
#include "backends/text/text_source.h"
#include "backends/training/peft_files.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

namespace secateur::cli {

namespace {

enum class Style { live, plain, json, none };

Style styleOf(const std::string& mode) {
    if (mode == "auto")
        return isatty(STDERR_FILENO) != 0 ? Style::live : Style::none;
    return mode == "plain" ? Style::plain : mode == "json" ? Style::json : Style::none;
}

/// Prints reports of progress, always including the first and the last. On a terminal at most ten per second; as plain
/// lines at most one per second.
class Printer {
public:
    explicit Printer(Style style)
        : m_style(style) {}
    ~Printer() {
        if (m_style == Style::live && m_printed)
            printError("\r\x1b[K");
    }

    void operator()(double fraction, std::string_view text) {
        const auto now = std::chrono::steady_clock::now();
        const std::lock_guard lock(m_mutex);
        const auto pause = std::chrono::milliseconds(m_style == Style::plain ? 1000 : 100);
        if (m_style == Style::none || (m_printed && fraction < 1 && now - m_last < pause))
            return;
        m_last = now;
        m_printed = true;
        if (m_style == Style::live)
            printError("\r\x1b[K" + lineOf("{:3.0f} %  {}", fraction * 100, text));
        else if (m_style == Style::plain)
            printError(lineOf("{:3.0f} %  {}", fraction * 100, text) + "\n");
        else
            printError(shownText(progressJson(fraction, text)) + "\n");
    }

private:
    Style m_style;
    std::mutex m_mutex;
    std::chrono::steady_clock::time_point m_last;
    bool m_printed = false;
};

/// "cpu", "cuda", or "cuda:" with a number (resources/manual/using.md, The command line).
bool isDevice(std::string_view text) {
    constexpr std::string_view cuda = "cuda:";
    if (text == "cpu" || text == "cuda")
        return true;
    const std::string_view number = text.starts_with(cuda) ? text.substr(cuda.size()) : std::string_view();
    return !number.empty() && number.size() < 3 &&
           std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

/// Bytes of a size such as "2G", "500MB" or "1000000". Units are powers of 1000. @throws UsageError
std::int64_t bytesOf(const std::string& text) {
    constexpr std::string_view units = "kmgt";
    double size = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), size);
    std::string unit(static_cast<const char*>(end), text.data() + text.size());
    std::ranges::transform(unit, unit.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    if (unit.ends_with('b'))
        unit.pop_back();
    const std::size_t power = unit.empty() ? 0 : units.find(unit) + 1; // an unknown unit gives npos + 1 = 0
    const double bytes = size * std::pow(1000.0, static_cast<double>(power));
    if (failure != std::errc() || unit.size() > 1 || (power == 0 && !unit.empty()) || !(bytes >= 1 && bytes < 1e18))
        throw UsageError(fmt::format("\"{}\" is not a size; examples are 2G, 500M and 1000000", text),
                         "--memory-budget");
    return static_cast<std::int64_t>(bytes);
}

} // namespace

Progress Console::progress() const {
    const auto printer = std::make_shared<Printer>(isFirst ? styleOf(progressMode) : Style::none);
    return Progress([printer](double fraction, std::string_view text) { (*printer)(fraction, text); },
                    stop.get_token());
}

bool Console::showsProgress() const {
    return isFirst && styleOf(progressMode) != Style::none;
}

void Console::announce(double expectedSeconds, std::string_view text) const {
    const Style style = isFirst ? styleOf(progressMode) : Style::none;
    if (style == Style::json)
        printError(shownText(forecastJson(expectedSeconds, text)) + "\n");
    else if (style != Style::none)
        printError((style == Style::live ? "\r\x1b[K" : "") + shownLine(text) + "\n");
}

void addCommonOptions(CLI::App& verb, Console& console) {
    verb.add_flag("--json", console.json, "Print one JSON document on standard output");
    verb.add_option("--progress", console.progressMode,
                    "Progress on standard error; auto = live on a terminal, else none")
        ->check(CLI::IsMember({"auto", "plain", "json", "none"}))
        ->capture_default_str();
    verb.add_option(
            "--threads", console.threads,
            "Number of threads; 0 = one per core, under mpirun the cores divided by the processes of the machine; at "
            "most four per core")
        ->check(CLI::Range(0, 4 * std::max(1, static_cast<int>(std::thread::hardware_concurrency()))))
        ->capture_default_str();
    verb.add_option("--device", console.device, "Device of the matrix products: cpu, cuda or cuda:N")
        ->check(CLI::Validator(
            [](const std::string& text) { return isDevice(text) ? "" : "is not cpu, cuda or cuda:N"; }, "DEVICE"))
        ->check(offers({"cpu", "cuda"}))
        ->capture_default_str();
    verb.add_option("--log-level", console.logLevel, "Lowest level of log messages on standard error")
        ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
        ->capture_default_str();
}

CLI::Validator isUtf8() {
    const auto refusal = [](const std::string& text) {
        try {
            checkUtf8(text, {});
        } catch (const Error& error) {
            return error.message();
        }
        return std::string();
    };
    return CLI::Validator(refusal, "");
}

std::shared_ptr<const Model> open(const std::string& path, const Console& console, const Progress& progress,
                                  std::int64_t memoryBudget) {
    if (isSession(path))
        throw Error("is a session, which contains no weights", path, "Give the checkpoint instead");
    initialiseRuntime(console.threads > 0 ? console.threads : console.threadsOfRank);
    return openModel(path, progress, openOptions(console, memoryBudget));
}

OpenOptions openOptions(const Console& console, std::int64_t memoryBudget) {
    return {.device = console.device, .memoryBudget = memoryBudget, .fixedBatches = console.threadsOfRank > 0};
}

void addRunOptions(CLI::App& verb, RunOptions& options) {
    verb.add_option("--dtype", options.dtype, "Type of the matrix products; auto = chosen by weights and device")
        ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16"}))
        ->capture_default_str();
    verb.add_option_function<std::string>(
            "--memory-budget", [&options](const std::string& text) { options.memoryBudget = bytesOf(text); },
            "Maximum memory for converted weights, in bytes or as 500M or 2G [half of the free memory]")
        ->option_text("SIZE");
    addAdapterOption(verb, options);
}

CLI::Option* addAdapterOption(CLI::App& verb, RunOptions& options) {
    return verb
        .add_option("--adapter", options.adapter, "Folder of a LoRA adapter (PEFT) to add to the model's weights")
        ->option_text("DIR");
}

void addMaskOption(CLI::App& verb, RunOptions& options) {
    verb.add_option("--mask", options.mask, "Mask .json to apply")->option_text("FILE");
}

namespace {

/// Warnings about an adapter that was trained on another model, or under another mask.
std::vector<std::string> adapterWarnings(const RunOptions& options, const Model& base) {
    const AdapterOrigin origin = adapterOrigin(options.adapter);
    std::vector<std::string> warnings;
    if (!origin.fingerprint.empty() && origin.fingerprint != base.fingerprint())
        warnings.push_back(fmt::format("{}: The adapter was trained on a checkpoint with another fingerprint: on {}, "
                                       "and this one is {}",
                                       options.adapter, origin.fingerprint, base.fingerprint()));
    if (options.mask.empty() && !options.hasOtherMasks && !origin.maskPath.empty())
        warnings.push_back(
            fmt::format("{}: The mask beside the adapter is not applied without --mask", origin.maskPath));
    return warnings;
}

} // namespace

std::shared_ptr<const Model> openAdapted(const std::string& path, const RunOptions& options, const Console& console,
                                         const Progress& progress, std::vector<std::string>& warnings) {
    auto model = open(path, console, progress, options.memoryBudget);
    if (options.adapter.empty())
        return model;
    const auto adapter = std::make_shared<const Adapter>(readAdapter(options.adapter, *model));
    const std::vector<std::string> more = adapterWarnings(options, *model);
    warnings.insert(warnings.end(), more.begin(), more.end());
    return withAdapter(std::move(model), adapter, openOptions(console, options.memoryBudget), options.adapter);
}

MaskRecord maskOf(const std::string& path, const Model& model, std::vector<std::string>& warnings) {
    MaskReading reading = readMask(path, model.spec(), baseOf(model).fingerprint());
    if (reading.record.fingerprint == model.fingerprint())
        reading = readMask(path, model.spec(), model.fingerprint());
    for (const std::string& warning : reading.warnings)
        warnings.push_back(path + ": " + warning);
    return std::move(reading.record);
}

const Model& ReadyModel::reference() const {
    const Model& base = baseOf(*model);
    return base.spec().classes == model->spec().classes && givesPooledOutput(base) == givesPooledOutput(*model)
               ? base
               : *model;
}

namespace {

EvaluatedAdapter evaluatedAdapter(const Model& model) {
    const std::shared_ptr<const Adapter> adapter = adapterOf(model);
    if (!adapter)
        return {};
    const std::filesystem::path folder = (std::filesystem::path(model.card().adapter) / "").lexically_normal();
    return {folder.parent_path().filename().string(), adapterDigest(*adapter)};
}

} // namespace

ReadyModel openToRun(const std::string& path, const RunOptions& options, const Console& console,
                     const Progress& progress) {
    ReadyModel ready;
    ready.model = openAdapted(path, options, console, progress, ready.warnings);
    const Model& model = *ready.model;
    ready.adapter = evaluatedAdapter(model);
    ready.warnings.insert(ready.warnings.begin(), model.card().warnings.begin(), model.card().warnings.end());
    if (!options.mask.empty())
        ready.mask = maskOf(options.mask, model, ready.warnings);
    ready.plan =
        model.runner().plan(ready.mask ? ready.mask->mask : PruningMask(model.spec()), computeTypeOf(options.dtype));
    spdlog::info("computing in {}", ready.plan->reason().empty() ? name(ready.plan->type()) : ready.plan->reason());
    const HeldWeights held = heldWeights(model, ready.plan->mask(), ready.plan->type());
    spdlog::info("the weights take {} in memory{}", shortBytes(static_cast<double>(held.converted)),
                 held.stored > 0 ? "; generation reads the file instead" : "");
    constexpr std::int64_t usual = 4096;
    if (const std::int64_t tokens = fittingTokens(model, usual); tokens < usual)
        spdlog::info("memory is short: batches have at most {} tokens", tokens);
    if (!ready.plan->isResident())
        ready.warnings.push_back("the weights exceed the memory budget: they are read again for each group of batches");
    return ready;
}

Progress withTimeLeft(const Progress& progress, const Console& console) {
    const auto begin = std::chrono::steady_clock::now();
    return Progress(
        [progress, begin](double fraction, std::string_view text) {
            const double seconds = secondsSince(begin);
            const bool known = fraction > 0.01 && fraction < 1 && seconds > 0.5;
            const double left = known ? seconds * (1 - fraction) / fraction : 0;
            progress.report(fraction, known ? fmt::format("{}, about {:.0f} s left", text, left) : std::string(text));
        },
        console.stop.get_token());
}

void addForceOption(CLI::App& verb, bool& force) {
    verb.add_flag("--force", force, "Replace an existing file of another kind; files of models are never replaced");
}

std::int64_t peakBytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::int64_t>(usage.ru_maxrss) * 1024; // Linux counts in kilobytes
}

void addOverwrittenFiles(const Model& model, std::vector<std::string>& warnings) {
    const std::vector<std::string> more = overwrittenFiles(model);
    warnings.insert(warnings.end(), more.begin(), more.end());
}

ModelCard fullCard(const Model& model) {
    ModelCard card = model.card();
    card.fingerprint = model.fingerprint();
    return card;
}

void printResults(const Session& session) {
    if (session.results.empty())
        return;
    Rows<7> rows;
    for (const MetricResult& result : session.results)
        rows.push_back({result.request.resultId(), measurementKey(result.measurement),
                        std::string(name(result.request.info->scope)), measuredOn(session, result),
                        result.measurement.dtype, result.measurement.device, result.measurement.created});
    print("\n");
    print(Table({{"metric"}, {"key"}, {"one per"}, {"measured on"}, {"dtype"}, {"device"}, {"created (UTC)"}}, rows));
}

double secondsSince(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

namespace {

std::string percent(double share) {
    return fmt::format("{:.2f} %", 100 * share);
}

template <typename Number>
double cutShare(const Share<Number>& share) {
    return share.all > 0 ? static_cast<double>(share.saved()) / static_cast<double>(share.all) : 0;
}

template <typename Number, typename Text>
std::array<std::string, 5> row(const char* what, const Share<Number>& share, Text text) {
    return {what, text(share.all), text(share.left), text(share.saved()), percent(cutShare(share))};
}

Table priceTable(const Price& price, bool hasModel) {
    const auto count = [](auto number) { return grouped(static_cast<std::uint64_t>(number)); };
    const auto bytes = [](auto number) { return shortBytes(static_cast<double>(number)); };
    const auto operations = [](double number) { return shortCount(number); };
    Rows<5> rows{
        row("heads", price.heads, count),     row("KV heads", price.kvHeads, count),
        row("neurons", price.neurons, count), row("attention sublayers", price.attention, count),
        row("MLPs", price.mlps, count),       row("blocks", price.blocks, count),
    };
    if (hasModel) {
        rows.push_back(row("parameters", price.parameters, count));
        rows.push_back(row("bytes", price.bytes, bytes));
        if (price.kvBytesPerToken.all > 0)
            rows.push_back(row("KV cache per token", price.kvBytesPerToken, bytes));
        rows.push_back(row("operations per token", price.operationsPerToken, operations));
    }
    const Align right = Align::right;
    return Table({{"", Align::left}, {"model", right}, {"kept", right}, {"cut", right}, {"", right}}, rows);
}

} // namespace

void printCuts(const PruningMask& mask) {
    for (int index = 0; index < mask.layerCount(); ++index)
        if (const std::string cuts = description(mask.layer(index)); !cuts.empty())
            printText(fmt::format("  L{}: {}\n", index, cuts)); // the list of neurons may be long
}

void printMask(const PruningMask& mask, const ModelSpec& spec, const Price& price, bool hasModel) {
    print("{}\n", mask.keepsAll() ? "cuts nothing" : "cuts");
    printCuts(mask);
    print("\n");
    print(priceTable(price, hasModel));
    if (price.bypassed > 0)
        print("{} attention sublayer{} bypassed\n", price.bypassed, price.bypassed == 1 ? "" : "s");
    if (price.halfCutGroups.empty())
        return;
    print("\n{} {} (shared with uncut heads):\n", counted(price.halfCutGroups.size(), "KV head"),
          price.halfCutGroups.size() == 1 ? "stays" : "stay");
    for (const HalfCutGroup& group : price.halfCutGroups)
        print("  {}\n", sentence(group, spec, mask));
}

} // namespace secateur::cli
