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

/// A temporary folder with the model's config.json, deleted by the destructor.
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

/// The 16-bit values of a tensor; empty for zeros, which take no disk space.
using Numbers = std::function<std::vector<std::uint16_t>(const Tensor&)>;

/// @param type "F16" or "BF16"
void writeSafetensors(const std::filesystem::path& path, const std::string& type, const std::vector<Tensor>& tensors,
                      const Numbers& numbers = {});

/// The value of a line of /proc/self/status, in MB.
double statusMegabytes(const std::string& key);
/// Returns freed memory to the system and resets the peak of resident memory (VmHWM).
void forgetPeak();

} // namespace secateur::benchmarks
