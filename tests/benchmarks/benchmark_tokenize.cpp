// benchmark_tokenize TOKENIZER TEXT...: measures the time to open a tokenizer, the speed of encoding each text on one
// core as a whole and line by line, and the time for encoding 1 MB of letters without blanks.

#include "backends/base/mapped_file.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <random>
#include <string>
#include <string_view>

using namespace secateur;

namespace {

constexpr int runs = 3;

/// The time in seconds of the fastest of several runs.
template <typename Work>
double fastest(Work work) {
    double best = 1e9;
    for (int run = 0; run < runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

void encodeLines(const Tokenizer& tokenizer, std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        tokenizer.encode(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::string lettersWithoutBlank() {
    constexpr std::size_t bytes = 1'000'000;
    std::mt19937 random(1);
    std::uniform_int_distribution<int> letter('a', 'z');
    std::string text(bytes, ' ');
    std::ranges::generate(text, [&] { return static_cast<char>(letter(random)); });
    return text;
}

void measure(const std::string& path, int count, char** texts) {
    fmt::print("{}\n", path);
    fmt::print("  opened in {:.3f} s\n", fastest([&] { openTokenizer(path); }));
    const auto tokenizer = openTokenizer(path);
    for (int i = 0; i < count; ++i) {
        const auto file = MappedFile::open(texts[i]);
        const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
        const double megabytes = static_cast<double>(text.size()) / 1e6;
        std::size_t tokens = 0;
        const double whole = fastest([&] { tokens = tokenizer->encode(text).ids.size(); });
        const double lines = fastest([&] { encodeLines(*tokenizer, text); });
        const double ranged = fastest([&] { tokenizer->encode(text, {.ranges = true}); });
        fmt::print("  {:.2f} MB, {} tokens: {:.1f} MB/s whole, {:.1f} MB/s by lines, {:.1f} MB/s with ranges\n",
                   megabytes, tokens, megabytes / whole, megabytes / lines, megabytes / ranged);
    }
    const std::string letters = lettersWithoutBlank();
    fmt::print("  1 MB without a blank: {:.3f} s\n", fastest([&] { tokenizer->encode(letters); }));
}

} // namespace

int main(int count, char** values) {
    if (count < 3)
        return fmt::print(stderr, "usage: benchmark_tokenize TOKENIZER TEXT...\n"), 2;
    try {
        measure(values[1], count - 2, values + 2);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
