// Time of Greedy-Gnorm, compared with a Python loop that recomputes everything after each cut, on the same sentences.
//
// benchmark_greedy MODEL [--steps 50] [--sentences 128] [--rounds 3] [--bytes BYTES]
//                  [--python PROGRAM] [--script tests/benchmarks/greedy.py] [--no-python]
//
// MODEL is a folder with an encoder without a head. F, the function to differentiate, is the norm of its pooled output.
// The two programs run alternately, so that other work on the machine slows both. greedy.py runs each sentence alone
// with one backward pass, like the authors' code with a batch size of one, and prints the heads that it cuts. --bytes
// is the memory for residual streams that are reused in the next step; with 0 nothing is reused.

#include "analysis/strategies/greedy_gnorm.h"
#include "analysis/running/runner.h"
#include "backends/engine/open_model.h"
#include "backends/base/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

using namespace secateur;

namespace {

using SteadyClock = std::chrono::steady_clock;

std::vector<TokenSequence> drawnSentences(std::size_t count, int vocab) {
    constexpr int shortest = 20;
    constexpr int longest = 60;
    std::mt19937 random(1);
    std::vector<TokenSequence> sentences(count);
    for (TokenSequence& sentence : sentences) {
        const int length = shortest + static_cast<int>(random() % (longest - shortest + 1));
        for (int i = 0; i < length; ++i)
            sentence.ids.push_back(static_cast<int>(1000 + random() % static_cast<unsigned>(vocab - 1000)));
        sentence.types.assign(sentence.ids.size(), 0);
    }
    return sentences;
}

void write(const std::filesystem::path& file, const std::vector<TokenSequence>& sentences) {
    std::ofstream out(file);
    for (const TokenSequence& sentence : sentences)
        out << fmt::format("{}\n", fmt::join(sentence.ids, " "));
}

struct Ours {
    double seconds = 0;
    std::vector<HeadId> heads;
};

Ours ours(const Model& model, const std::vector<TokenSequence>& sentences, int steps, std::int64_t bytes) {
    const PruneRequest request{parseStrategyRequest("gnorm_greedy:scalarisation=pooled_norm"),
                               {static_cast<double>(steps), false},
                               "none",
                               0,
                               {}};
    CalibrationText run{.sequences = sentences, .type = ComputeType::float32};
    run.streamBytes = bytes;
    const auto begin = SteadyClock::now();
    const PruneResult result = prune(model, request, {.text = run}, {});
    Ours found{std::chrono::duration<double>(SteadyClock::now() - begin).count(), {}};
    for (const HistoricCut& cut : result.history->cuts)
        found.heads.push_back(cut.head);
    return found;
}

/// Runs greedy.py and returns the seconds that it prints. Sets `same` to the number of heads, from the first cut on,
/// that both programs cut in the same order.
double python(const std::string& command, const std::vector<HeadId>& heads, std::size_t& same) {
    std::string text;
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (!pipe)
        return 0;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
        text += static_cast<char>(c);
    pclose(pipe);
    double seconds = 0;
    int read = 0;
    if (std::sscanf(text.c_str(), "%lf%n", &seconds, &read) != 1)
        return 0;
    const char* at = text.c_str() + read;
    HeadId head;
    for (same = 0; same < heads.size() && std::sscanf(at, " %d.%d%n", &head.layer, &head.head, &read) == 2; ++same) {
        if (head != heads[same])
            break;
        at += read;
    }
    return seconds;
}

} // namespace

int main(int count, char** values) {
    initialiseRuntime(0);
    std::map<std::string, std::string> named;
    std::string path;
    for (int i = 1; i < count; ++i) {
        const std::string value = values[i];
        if (value == "--no-python")
            named[value] = "";
        else if (value.starts_with("--"))
            named[value] = i + 1 < count ? values[++i] : "";
        else
            path = value;
    }
    const auto number = [&](const std::string& name, long otherwise) {
        return named.contains(name) ? std::stol(named[name]) : otherwise;
    };
    const int steps = static_cast<int>(number("--steps", 50));
    const auto model = openModel(path);
    const auto sentences = drawnSentences(static_cast<std::size_t>(number("--sentences", 128)), model->spec().vocab);
    const auto file = std::filesystem::temp_directory_path() / fmt::format("greedy-{}.txt", std::rand());
    write(file, sentences);
    const std::string program = named.contains("--python") ? named["--python"] : "python3";
    const std::string script = named.contains("--script") ? named["--script"] : "tests/benchmarks/greedy.py";
    const std::string command = fmt::format("{} {} {} {} --steps {}", program, script, path, file.string(), steps);
    ours(*model, sentences, 1, 0); // the first run also converts the weights, so it is not timed
    std::vector<double> ratios;
    for (long round = 0; round < number("--rounds", 3); ++round) {
        const Ours found = ours(*model, sentences, steps, number("--bytes", 1L << 30));
        fmt::print("{} steps, {} sentences: {:.2f} s", steps, sentences.size(), found.seconds);
        if (!named.contains("--no-python")) {
            std::size_t same = 0;
            const double other = python(command, found.heads, same);
            ratios.push_back(other / found.seconds);
            fmt::print("; Python {:.2f} s, ratio {:.2f}; the first {} cuts are the same", other, ratios.back(), same);
        }
        fmt::print("\n");
        std::fflush(stdout);
    }
    std::filesystem::remove(file);
    if (!ratios.empty()) {
        std::ranges::sort(ratios);
        fmt::print("median ratio {:.2f}\n", ratios[ratios.size() / 2]);
    }
}
