// Runs a fuzz target on all files of a folder. Inputs that fuzzing found can thus be tested with any compiler.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#define READER(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
SECATEUR_READERS
#undef READER

namespace {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

#define READER(name) {#name, fuzz_##name},
const std::map<std::string, Target> targets{SECATEUR_READERS};
#undef READER

std::vector<std::filesystem::path> filesIn(const char* folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
        if (item.is_regular_file())
            files.push_back(item.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

/// corpora READER FOLDER...: runs the fuzz target of a reader on the files of the folders.
int main(int count, char** arguments) {
    const Target target = count > 1 && targets.contains(arguments[1]) ? targets.at(arguments[1]) : nullptr;
    if (!target)
        return 1;
    std::size_t inputs = 0;
    for (int i = 2; i < count; ++i) {
        for (const auto& path : filesIn(arguments[i])) {
            std::ifstream file(path, std::ios::binary);
            const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
            // Printed first, so that the last name is that of the failing file.
            std::fprintf(stderr, "%s\n", path.filename().c_str());
            target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
            ++inputs;
        }
    }
    std::printf("%zu inputs\n", inputs);
    return inputs == 0 ? 1 : 0;
}
