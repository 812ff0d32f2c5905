#include "app/cli/cli_common.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/metrics/measure.h"
#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "analysis/session/result_key.h"
#include "backends/base/runtime.h"
#include "backends/engine/open_model.h"
#include "backends/json/result_json.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <mutex>

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
            fmt::print(stderr, "\r\x1b[K");
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
            fmt::print(stderr, "\r\x1b[K{:3.0f} %  {}", fraction * 100, text);
        else if (m_style == Style::plain)
            fmt::print(stderr, "{:3.0f} %  {}\n", fraction * 100, text);
        else
            fmt::print(stderr, "{}\n", progressJson(fraction, text));
        std::fflush(stderr);
    }

private:
    Style m_style;
    std::mutex m_mutex;
    std::chrono::steady_clock::time_point m_last;
    bool m_printed = false;
};

/// Number of characters of a text; UTF-8 continuation bytes do not count.
std::size_t width(const std::string& text) {
    std::size_t count = 0;
    for (const char c : text)
        count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
    return count;
}

/// Pads numbers on the right, so that decimal points are aligned in a right-aligned column.
void alignPoints(std::vector<std::vector<std::string>>& rows, std::size_t column) {
    const auto tail = [&](const std::vector<std::string>& row) {
        const std::size_t point = row[column].find('.');
        return point == std::string::npos ? 0 : row[column].size() - point;
    };
    std::size_t longest = 0;
    for (std::size_t i = 1; i < rows.size(); ++i)
        longest = std::max(longest, tail(rows[i]));
    for (std::size_t i = 1; i < rows.size(); ++i)
        rows[i][column].append(longest - tail(rows[i]), ' ');
}

/// Whether a text is "cpu", "cuda", or "cuda:" with a number (resources/manual/using.md, The command line).
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
    const auto printer = std::make_shared<Printer>(styleOf(progressMode));
    return Progress([printer](double fraction, std::string_view text) { (*printer)(fraction, text); },
                    stop.get_token());
}

bool Console::showsProgress() const {
    return styleOf(progressMode) != Style::none;
}

void Console::announce(double expectedSeconds, std::string_view text) const {
    const Style style = styleOf(progressMode);
    if (style == Style::json)
        fmt::print(stderr, "{}\n", forecastJson(expectedSeconds, text));
    else if (style != Style::none)
        fmt::print(stderr, "{}{}\n", style == Style::live ? "\r\x1b[K" : "", text);
    std::fflush(stderr);
}

void addCommonOptions(CLI::App& verb, Console& console) {
    verb.add_flag("--json", console.json, "Print one JSON document on standard output");
    verb.add_option("--progress", console.progressMode,
                    "Progress on standard error; auto = live on a terminal, else none")
        ->check(CLI::IsMember({"auto", "plain", "json", "none"}))
        ->capture_default_str();
    verb.add_option("--threads", console.threads, "Number of threads; 0 = one per core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    verb.add_option("--device", console.device, "Device of the matrix products: cpu, cuda or cuda:N")
        ->check(CLI::Validator(
            [](const std::string& text) { return isDevice(text) ? "" : "is not cpu, cuda or cuda:N"; }, "DEVICE"))
        ->capture_default_str();
    verb.add_option("--log-level", console.logLevel, "Lowest level of log messages on standard error")
        ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
        ->capture_default_str();
}

std::shared_ptr<const Model> open(const std::string& path, const Console& console, const Progress& progress,
                                  std::int64_t memoryBudget) {
    if (isSession(path))
        throw Error("is a session, which contains no weights", path, "Give the checkpoint instead");
    initialiseRuntime(console.threads);
    return openModel(path, progress, {.device = console.device, .memoryBudget = memoryBudget});
}

void addRunOptions(CLI::App& verb, RunOptions& options) {
    verb.add_option("--dtype", options.dtype, "Type of the matrix products; auto = chosen by weights and device")
        ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16"}))
        ->capture_default_str();
    verb.add_option_function<std::string>(
            "--memory-budget", [&options](const std::string& text) { options.memoryBudget = bytesOf(text); },
            "Maximum memory for converted weights, in bytes or as 500M or 2G [half of the free memory]")
        ->option_text("SIZE");
}

void addMaskOption(CLI::App& verb, RunOptions& options) {
    verb.add_option("--mask", options.mask, "Mask .json to apply")->option_text("FILE");
}

MaskRecord maskOf(const std::string& path, const Model& model, std::vector<std::string>& warnings) {
    MaskReading reading = readMask(path, model.spec(), model.fingerprint());
    for (const std::string& warning : reading.warnings)
        warnings.push_back(path + ": " + warning);
    return std::move(reading.record);
}

ReadyModel openToRun(const std::string& path, const RunOptions& options, const Console& console,
                     const Progress& progress) {
    ReadyModel ready{open(path, console, progress, options.memoryBudget), nullptr, {}, {}};
    const Model& model = *ready.model;
    ready.warnings = model.card().warnings;
    if (!options.mask.empty())
        ready.mask = maskOf(options.mask, model, ready.warnings);
    ready.plan =
        model.runner().plan(ready.mask ? ready.mask->mask : PruningMask(model.spec()), computeTypeOf(options.dtype));
    spdlog::info("computing in {}", ready.plan->reason().empty() ? name(ready.plan->type()) : ready.plan->reason());
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

std::int64_t peakBytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::int64_t>(usage.ru_maxrss) * 1024; // Linux counts in kilobytes
}

ModelCard fullCard(const Model& model) {
    ModelCard card = model.card();
    card.fingerprint = model.fingerprint();
    return card;
}

std::string table(std::vector<std::vector<std::string>> rows, const std::vector<Align>& alignment) {
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < alignment.size(); ++column)
        if (alignment[column] == Align::point)
            alignPoints(rows, column);
    for (const auto& row : rows)
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths.resize(std::max(widths.size(), column + 1));
            widths[column] = std::max(widths[column], width(row[column]));
        }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            const std::string space(widths[column] - width(row[column]), ' ');
            const bool isLeft = column >= alignment.size() || alignment[column] == Align::left;
            text += (column > 0 ? "  " : "") + (isLeft ? row[column] + space : space + row[column]);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

void printResults(const Session& session) {
    if (session.results.empty())
        return;
    std::vector<std::vector<std::string>> rows{
        {"metric", "key", "one per", "measured on", "dtype", "device", "created (UTC)"}};
    for (const MetricResult& result : session.results)
        rows.push_back({result.request.resultId(), measurementKey(result.measurement),
                        std::string(name(result.request.info->scope)), measuredOn(session, result),
                        result.measurement.dtype, result.measurement.device, result.measurement.created});
    fmt::print("\n{}", table(std::move(rows)));
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
std::vector<std::string> row(const char* what, const Share<Number>& share, Text text) {
    return {what, text(share.all), text(share.left), text(share.saved()), percent(cutShare(share))};
}

std::string priceTable(const Price& price, bool hasModel) {
    const auto count = [](auto number) { return grouped(static_cast<std::uint64_t>(number)); };
    const auto bytes = [](auto number) { return shortBytes(static_cast<double>(number)); };
    const auto operations = [](double number) { return shortCount(number); };
    std::vector<std::vector<std::string>> rows{
        {"", "model", "kept", "cut", ""},
        row("heads", price.heads, count),
        row("KV heads", price.kvHeads, count),
        row("neurons", price.neurons, count),
        row("attention sublayers", price.attention, count),
        row("MLPs", price.mlps, count),
        row("blocks", price.blocks, count),
    };
    if (hasModel) {
        rows.push_back(row("parameters", price.parameters, count));
        rows.push_back(row("bytes", price.bytes, bytes));
        if (price.kvBytesPerToken.all > 0)
            rows.push_back(row("KV cache per token", price.kvBytesPerToken, bytes));
        rows.push_back(row("operations per token", price.operationsPerToken, operations));
    }
    const Align right = Align::right;
    return table(rows, {Align::left, right, right, right, right});
}

} // namespace

void printCuts(const PruningMask& mask) {
    for (int index = 0; index < mask.layerCount(); ++index)
        if (const std::string cuts = description(mask.layer(index)); !cuts.empty())
            fmt::print("  L{}: {}\n", index, cuts);
}

void printMask(const PruningMask& mask, const ModelSpec& spec, const Price& price, bool hasModel) {
    fmt::print("{}\n", mask.keepsAll() ? "cuts nothing" : "cuts");
    printCuts(mask);
    fmt::print("\n{}", priceTable(price, hasModel));
    if (price.bypassed > 0)
        fmt::print("{} attention sublayer{} bypassed\n", price.bypassed, price.bypassed == 1 ? "" : "s");
    if (price.halfCutGroups.empty())
        return;
    fmt::print("\nKV groups that stay in the cache, because some of their heads are kept:\n");
    for (const HalfCutGroup& group : price.halfCutGroups)
        fmt::print("  {}\n", sentence(group, spec, mask));
}

void printNotes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
        fmt::print(stderr, "note: {}\n", note);
}

} // namespace secateur::cli
