#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace secateur::benchmarks {

/// A Llama-shaped model.
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

/// A folder of its own with the model's config.json, that goes away with the run.
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

/// Numbers of two bytes for a tensor; empty = zeros, which take no room on the disk.
using Numbers = std::function<std::vector<std::uint16_t>(const Tensor&)>;

/// @param type "F16" or "BF16"
void writeSafetensors(const std::filesystem::path& path, const std::string& type, const std::vector<Tensor>& tensors,
                      const Numbers& numbers = {});

/// A line of /proc/self/status in MB.
double statusMegabytes(const std::string& key);
/// Gives back what was freed and forgets the peak of resident memory (VmHWM).
void forgetPeak();

} // namespace secateur::benchmarks
