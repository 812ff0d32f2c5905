#include "analysis/base/error.h"
#include "analysis/model/kernels.h"
#include "backends/base/mapped_file.h"
#include "backends/export/companion_files.h"
#include "backends/formats/gguf.h"
#include "backends/formats/hub_cache.h"
#include "backends/remote/model_facts.h"
#include "backends/remote/remote_jobs.h"
#include "backends/remote/stand_in.h"
#include "backends/remote/tensor_bytes.h"
#include "backends/remote/tensor_facts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace secateur {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t mostNumbers = std::int64_t{1} << 26; ///< of a grid, in one call

OpenedFacts openJob(JobSide& side, const JobControl& control, const std::string& path) {
    const auto model = side.open(path, control.progress);
    OpenedFacts facts{model->card(), {}, model->kernels().device()};
    facts.card.fingerprint = model->fingerprint();
    for (int layer = -1; layer < model->spec().layerCount(); ++layer)
        for (std::size_t i = 0; i < weightNameCount; ++i)
            if (const auto name = static_cast<WeightName>(i);
                isOfLayer(name) == (layer >= 0) && model->has(layer, name))
                facts.weights.push_back({layer, name, model->place(layer, name)});
    return facts;
}

void checkWeight(const Model& model, int layer, WeightName name) {
    if (layer < -1 || layer >= model.spec().layerCount() || !model.has(layer, name))
        throw Error("A message asks for a weight that the model does not have");
}

TensorBytes tensorJob(JobSide& side, const JobControl& /*control*/, int layer, WeightName name, std::int64_t begin,
                      std::int64_t rows) {
    const Model& model = side.model();
    checkWeight(model, layer, name);
    const at::Tensor whole = model.tensor(layer, name);
    if (begin < 0 || rows < 0 || begin > whole.size(0) || rows > whole.size(0) - begin)
        throw Error("A message asks for rows that a weight does not have");
    TensorBytes bytes = bytesOf(whole.narrow(0, begin, rows));
    model.checkFiles();
    return bytes;
}

TensorBytes rowsJob(JobSide& side, const JobControl& /*control*/, int layer, WeightName name,
                    const std::vector<std::int64_t>& indices) {
    const Model& model = side.model();
    checkWeight(model, layer, name);
    const std::int64_t count = expectedShape(model.spec(), layer, name).front();
    if (!std::ranges::all_of(indices, [count](std::int64_t index) { return index >= 0 && index < count; }))
        throw Error("A message asks for rows that a weight does not have");
    TensorBytes bytes = bytesOf(model.rows(layer, name, indices));
    model.checkFiles();
    return bytes;
}

std::vector<std::string> overwrittenJob(JobSide& side, const JobControl& /*control*/) {
    return side.services().overwrittenFiles(side.model());
}

std::string keepFilesJob(JobSide& side, const JobControl& /*control*/, const CopiedFiles& files) {
    return side.files().keep(files);
}

/// Whether a file of a checkpoint's folder is a part of its tokenizer or configuration.
bool isOfTokenizer(const fs::path& file) {
    static constexpr std::array<std::string_view, 4> extensions{".json", ".txt", ".model", ".jinja"};
    constexpr std::uintmax_t most = std::uintmax_t{64} << 20U;
    std::error_code problem;
    return (std::ranges::find(extensions, file.extension().string()) != extensions.end() ||
            file.extension() == ".spm") &&
           fs::is_regular_file(file, problem) && fs::file_size(file, problem) <= most;
}

/// A GGUF file without its weights.
TokenizerFile headerOf(const std::string& path) {
    const auto file = MappedFile::open(path);
    const GgufPart part = readGguf(file);
    std::size_t header = file->bytes().size();
    for (const TensorEntry& tensor : part.tensors)
        header = std::min(header, static_cast<std::size_t>(tensor.data.data() - file->bytes().data()));
    return {fs::path(path).filename().string(), std::string(charactersOf(file->bytes().first(header))),
            static_cast<std::int64_t>(file->bytes().size())};
}

std::vector<TokenizerFile> tokenizerFilesJob(JobSide& side, const JobControl& /*control*/) {
    const std::string path = snapshotOf(side.model().card().path);
    if (fs::path(path).extension() == ".gguf")
        return {headerOf(path)};
    const std::string folder = modelFolder(path);
    if (holdsGguf(folder))
        return {headerOf(ggufModelIn(folder))};
    std::vector<TokenizerFile> files;
    for (const auto& entry : fs::directory_iterator(folder))
        if (isOfTokenizer(entry.path())) {
            const std::string name = entry.path().filename().string();
            std::string bytes = companionContent(folder, name);
            const auto size = std::ssize(bytes);
            files.push_back({name, std::move(bytes), size});
        }
    return files;
}

TensorsFacts storedTensorsJob(JobSide& side, const JobControl& control, const std::string& path) {
    const auto stored = side.tensors(path, control.progress);
    return {stored->tensors(), stored->spec(), stored->warnings()};
}

std::shared_ptr<const NumberGrid> gridOf(JobSide& side, const JobControl& control, const GridName& name) {
    const auto stored = side.tensors(name.path, control.progress);
    if (name.tensor >= stored->tensors().size() ||
        (name.part && *name.part >= stored->tensors()[name.tensor].parts.size()))
        throw Error("A message asks for a tensor that there is not");
    return name.part ? stored->weightGrid(name.tensor, *name.part) : stored->grid(name.tensor, name.plane);
}

GridFacts gridJob(JobSide& side, const JobControl& control, const GridName& name) {
    const auto found = gridOf(side, control, name);
    return {found->rows(),        found->columns(),       found->symbolParts(),
            found->symbolKinds(), found->symbolNumbers(), found->subject()};
}

void checkRange(const NumberGrid& grid, std::int64_t begin, std::int64_t count) {
    if (begin < 0 || count < 0 || count > mostNumbers || begin > grid.count() || count > grid.count() - begin)
        throw Error("A message asks for numbers that a tensor does not have");
}

std::vector<float> gridNumbersJob(JobSide& side, const JobControl& control, const GridName& name, std::int64_t begin,
                                  std::int64_t count) {
    const auto found = gridOf(side, control, name);
    checkRange(*found, begin, count);
    std::vector<float> numbers(static_cast<std::size_t>(count));
    found->read(begin, numbers);
    found->check();
    return numbers;
}

std::vector<std::uint16_t> gridSymbolsJob(JobSide& side, const JobControl& control, const GridName& name,
                                          std::int64_t begin, std::int64_t count, int part) {
    const auto found = gridOf(side, control, name);
    checkRange(*found, begin, count);
    if (part < 0 || part >= found->symbolParts())
        throw Error("A message asks for bits that numbers do not have");
    std::vector<std::uint16_t> symbols(static_cast<std::size_t>(count));
    found->readSymbols(begin, part, symbols);
    found->check();
    return symbols;
}

StoredNumber storedNumberJob(JobSide& side, const JobControl& control, const std::string& path, std::size_t tensor,
                             std::int64_t row, std::int64_t column) {
    const auto stored = side.tensors(path, control.progress);
    const bool isIn = tensor < stored->tensors().size() && row >= 0 && column >= 0 &&
                      row < stored->tensors()[tensor].rows() && column < stored->tensors()[tensor].columns();
    if (!isIn)
        throw Error("A message asks for a number that a tensor does not have");
    return stored->number(tensor, row, column);
}

constexpr std::array weightRows{
    JobOf<openJob>::row("open", "Opens the model of the server; its card, and its weights by name."),
    JobOf<tensorJob>::row("tensor", "Rows of a weight, in the stored type."),
    JobOf<rowsJob>::row("rows", "Chosen rows of a weight."),
    JobOf<overwrittenJob>::row("overwritten_files", "Warnings about weight files that were written to."),
    JobOf<tokenizerFilesJob>::row("tokenizer_files", "The files of the tokenizer and the configuration."),
    JobOf<keepFilesJob>::row("keep_files", "Keeps a copy of a text until the server ends; its path."),
    JobOf<storedTensorsJob>::row("stored_tensors", "The tensors of a checkpoint as its files store them."),
    JobOf<gridJob>::row("grid", "Size and symbols of a tensor's numbers."),
    JobOf<gridNumbersJob>::row("grid_numbers", "Numbers of a tensor."),
    JobOf<gridSymbolsJob>::row("grid_symbols", "Bits of a tensor's numbers."),
    JobOf<storedNumberJob>::row("stored_number", "One number of a tensor with its bits."),
};

} // namespace

std::span<const RemoteJob> weightJobs() {
    return weightRows;
}

} // namespace secateur
