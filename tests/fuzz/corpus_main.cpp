// Feeds the files of folders to a fuzz target: what fuzzing found stays found, with any compiler. With --mutate=COUNT
// it goes on with damaged copies of them, for a target that is too slow, or too far from the compiler, for libFuzzer.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

std::vector<std::filesystem::path> filesIn(const char* folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
        if (item.is_regular_file())
            files.push_back(item.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// One change of the kinds that damage files: bits, bytes, small numbers gone large, moved blocks, a lost end.
void damage(Bytes& bytes, Random& random) {
    if (bytes.empty())
        return;
    const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
    const std::size_t place = below(bytes.size());
    const std::size_t length = std::min(std::size_t{1} << below(7), bytes.size() - place);
    const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(place);
    switch (below(8)) {
    case 0:
        bytes[place] = static_cast<std::uint8_t>(random());
        break;
    case 1:
        std::fill_n(start, std::min<std::size_t>(length, 8), static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : 0xff));
        break;
    case 2:
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - length + 1)), length, start);
        break;
    case 3:
        if (below(16) == 0)
            bytes.resize(place);
        break;
    case 4:
        bytes[place] = static_cast<std::uint8_t>(bytes[place] + (random() % 2 == 0 ? 1 : 0xff));
        break;
    default:
        bytes[place] = static_cast<std::uint8_t>(bytes[place] ^ (1U << below(8)));
    }
}

void mutate(const std::vector<Bytes>& seeds, std::uint64_t count) {
    Random random(count);
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t i = 1; i <= count; ++i) {
        Bytes bytes = seeds[random() % seeds.size()];
        for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
            damage(bytes, random);
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        constexpr std::uint64_t often = 10'000;
        if (i % often == 0 || i == count) {
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            std::printf("%llu executions, %.0f per second\n", static_cast<unsigned long long>(i),
                        static_cast<double>(i) / seconds.count());
            std::fflush(stdout);
        }
    }
}

} // namespace

int main(int count, char** arguments) {
    constexpr std::string_view option = "--mutate=";
    std::uint64_t mutations = 0;
    std::vector<Bytes> inputs;
    for (int i = 1; i < count; ++i) {
        if (const std::string_view argument = arguments[i]; argument.starts_with(option)) {
            std::from_chars(argument.data() + option.size(), argument.data() + argument.size(), mutations);
            continue;
        }
        for (const auto& path : filesIn(arguments[i])) {
            std::ifstream file(path, std::ios::binary);
            inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
            std::fprintf(stderr, "%s\n", path.filename().c_str()); // the last one named is the one that failed
            LLVMFuzzerTestOneInput(inputs.back().data(), inputs.back().size());
        }
    }
    std::printf("%zu inputs\n", inputs.size());
    if (!inputs.empty())
        mutate(inputs, mutations);
    return inputs.empty() ? 1 : 0;
}
