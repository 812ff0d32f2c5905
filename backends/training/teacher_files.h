#pragma once

#include "analysis/training/teacher.h"
#include "backends/base/mapped_file.h"
#include "backends/formats/checkpoint.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// Keeps the values of a teacher in files of a folder, so that a run that continues need not compute them again. Each
/// save() writes a file with the values that are new; earlier files stay as they are and are mapped. A file is a
/// safetensors file with one tensor [targets, 2 K + 1] for each sequence, named by its index: the K tokens, which are
/// exact as float32, and K + 1 log probabilities.
class TeacherFiles : public TeacherStore {
public:
    /// Opens the files of a run. Files of other runs are removed. @param folder that save() creates if it is missing
    /// @param key that TrainingRun::key is @throws Error
    TeacherFiles(std::string folder, std::string key);

    std::optional<TopTokens> find(std::size_t example) const override;
    void keep(std::size_t example, TopTokens values) override { m_new[example] = std::move(values); }

    /// Writes what is new. @throws Error
    void save();
    /// Removes the files and the folder, unless it has other files.
    void remove();

private:
    void open(const std::string& path);

    std::string m_folder;
    std::string m_key;
    std::vector<std::string> m_files;
    std::map<std::size_t, TensorEntry> m_stored; ///< by example
    std::map<std::size_t, TopTokens> m_new;      ///< by example
};

} // namespace secateur
