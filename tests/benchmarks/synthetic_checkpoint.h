#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace secateur::benchmarks {

/// The sizes of a model with Llama's architecture.
struct Shape {
    int layers = 0;
    std::int64_t hidden = 0;
    std::int64_t ffn = 0;
    std::int64_t vocab = 0;
    std::int64_t heads = 0;
    std::int64_t kvHeads = 0;
};

struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;

    std::int64_t elements() const;
};

std::vector<Tensor> allTensors(const Shape& shape);

void writeConfig(const std::filesystem::path& folder, const Shape& shape);

/// A temporary folder with the config.json of a model. The destructor deletes it.
class ModelFolder {
public:
    explicit ModelFolder(const Shape& shape);
    ~ModelFolder();
    ModelFolder(const ModelFolder&) = delete;
    ModelFolder& operator=(const ModelFolder&) = delete;

    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

/// Returns the 16-bit values of a tensor. An empty result stands for zeros, which take no space on the disk.
using Numbers = std::function<std::vector<std::uint16_t>(const Tensor&)>;

/// Writes a safetensors file. @param type "F16" or "BF16"
void writeSafetensors(const std::filesystem::path& path, const std::string& type, const std::vector<Tensor>& tensors,
                      const Numbers& numbers = {});

/// The value in MB of a line of /proc/self/status.
double statusMegabytes(const std::string& key);
/// Returns freed memory to the system and resets the peak of resident memory (VmHWM).
void forgetPeak();

} // namespace secateur::benchmarks
