#include "backends/training/teacher_files.h"

#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "backends/base/atomic_file.h"
#include "backends/base/file_output.h"
#include "backends/base/folders.h"
#include "backends/formats/hf_weights.h"
#include "backends/formats/safetensors_bytes.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace secateur {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view teacherPrefix = "teacher of ";
constexpr std::string_view teacherEnding = ".safetensors";

/// The values of a sequence as the rows of a tensor.
std::vector<float> teacherRows(const TopTokens& values) {
    const auto count = static_cast<std::size_t>(values.count);
    std::vector<float> rows;
    for (std::size_t target = 0; target < values.tokens.size() / count; ++target) {
        const auto tokens = values.tokens.begin() + static_cast<std::ptrdiff_t>(target * count);
        const auto logs = values.logProbabilities.begin() + static_cast<std::ptrdiff_t>(target * (count + 1));
        for (std::size_t i = 0; i < count; ++i)
            rows.push_back(static_cast<float>(tokens[static_cast<std::ptrdiff_t>(i)]));
        rows.insert(rows.end(), logs, logs + static_cast<std::ptrdiff_t>(count) + 1);
    }
    return rows;
}

TopTokens teacherValues(const at::Tensor& rows) {
    TopTokens values;
    const std::int64_t width = rows.size(1);
    values.count = static_cast<int>(width / 2);
    const float* number = rows.data_ptr<float>();
    for (std::int64_t target = 0; target < rows.size(0); ++target, number += width) {
        for (int i = 0; i < values.count; ++i)
            values.tokens.push_back(static_cast<int>(number[i]));
        values.logProbabilities.insert(values.logProbabilities.end(), number + values.count, number + width);
    }
    return values;
}

} // namespace

TeacherFiles::TeacherFiles(std::string folder, std::string key)
    : m_folder(std::move(folder))
    , m_key(std::move(key)) {
    for (const std::string& name : namesIn(m_folder))
        if (name.ends_with(teacherEnding) && !isUnfinished(name))
            open((fs::path(m_folder) / name).string());
}

void TeacherFiles::open(const std::string& path) {
    const auto file = MappedFile::open(path);
    const std::map<std::string, std::string> metadata = safetensorsMetadata(file);
    const auto found = metadata.find(std::string(trainingMark));
    if (found == metadata.end() || !found->second.starts_with(teacherPrefix))
        return;
    if (found->second != std::string(teacherPrefix) + m_key) {
        std::error_code ignored;
        fs::remove(path, ignored);
        return;
    }
    for (const TensorEntry& entry : safetensorsEntries(file)) {
        std::size_t example = 0;
        const auto [end, failure] = std::from_chars(entry.name.data(), entry.name.data() + entry.name.size(), example);
        if (failure != std::errc() || end != entry.name.data() + entry.name.size() || entry.shape.size() != 2)
            throw Error("is a damaged file of a teacher", path, "Delete it, and the values are computed again");
        m_stored.insert_or_assign(example, entry);
    }
    m_files.push_back(path);
}

std::optional<TopTokens> TeacherFiles::find(std::size_t example) const {
    if (const auto found = m_new.find(example); found != m_new.end())
        return found->second;
    if (const auto found = m_stored.find(example); found != m_stored.end())
        return teacherValues(readTensor(found->second).to(at::kFloat).contiguous());
    return std::nullopt;
}

void TeacherFiles::save() {
    if (m_new.empty())
        return;
    std::map<std::string, std::vector<float>> rows;
    std::map<std::string, FloatTensor> tensors;
    for (const auto& [example, values] : m_new) {
        const std::string name = std::to_string(example);
        const std::vector<float>& own = rows[name] = teacherRows(values);
        const std::int64_t width = 2 * std::int64_t{values.count} + 1;
        tensors[name] = {{std::ssize(own) / width, width}, own};
    }
    makeFolder(m_folder);
    std::string path;
    for (std::size_t number = m_files.size(); path.empty() || fs::exists(path); ++number)
        path = (fs::path(m_folder) / fmt::format("{:05}{}", number, teacherEnding)).string();
    writeWhole(path, safetensorsBytes(tensors, {{std::string(trainingMark), std::string(teacherPrefix) + m_key}}),
               FileKind::training);
    m_new.clear();
    open(path);
}

void TeacherFiles::remove() {
    std::error_code ignored;
    m_stored.clear();
    m_new.clear();
    for (const std::string& path : m_files)
        fs::remove(path, ignored);
    m_files.clear();
    fs::remove(m_folder, ignored); // only if it is empty
}

} // namespace secateur
