#include "backends/remote/remote_model.h"
#include "backends/remote/tensor_facts.h"

#include "analysis/base/error.h"

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t atOnce = std::int64_t{1} << 24; ///< numbers that are fetched in one call

class RemoteGrid : public NumberGrid {
public:
    RemoteGrid(std::shared_ptr<const FarModel> model, GridName name, GridFacts facts)
        : NumberGrid(facts.rows, facts.columns)
        , m_model(std::move(model))
        , m_name(std::move(name))
        , m_facts(std::move(facts)) {}

    void read(std::int64_t begin, std::span<float> target) const override {
        inPieces<float>(begin, target, [&](std::int64_t first, std::int64_t count) {
            return m_model->result<std::vector<float>>("grid_numbers", {}, m_name, first, count);
        });
    }
    void readSymbols(std::int64_t begin, int part, std::span<std::uint16_t> target) const override {
        inPieces<std::uint16_t>(begin, target, [&](std::int64_t first, std::int64_t count) {
            return m_model->result<std::vector<std::uint16_t>>("grid_symbols", {}, m_name, first, count, part);
        });
    }
    int symbolParts() const override { return m_facts.symbolParts; }
    int symbolKinds() const override { return m_facts.symbolKinds; }
    std::vector<float> symbolNumbers() const override { return m_facts.symbolNumbers; }
    std::string subject() const override { return m_facts.subject; }

private:
    template <typename Number, typename Fetch>
    static void inPieces(std::int64_t begin, std::span<Number> target, const Fetch& fetch) {
        while (!target.empty()) {
            const std::int64_t count = std::min(atOnce, std::ssize(target));
            const std::vector<Number> found = fetch(begin, count);
            if (std::ssize(found) != count)
                throw Error("A message has another number of numbers");
            std::ranges::copy(found, target.begin());
            target = target.subspan(found.size());
            begin += count;
        }
    }

    std::shared_ptr<const FarModel> m_model;
    GridName m_name;
    GridFacts m_facts;
};

class RemoteTensors : public StoredTensors {
public:
    RemoteTensors(std::shared_ptr<const FarModel> model, std::string path, const Progress& progress)
        : m_model(std::move(model))
        , m_shown(m_model->card().path)
        , m_path(std::move(path))
        , m_facts(m_model->result<TensorsFacts>("stored_tensors", progress, m_path)) {
        for (const StoredTensor& tensor : m_facts.tensors)
            check(tensor);
    }

    const std::string& path() const override { return m_shown; }
    const std::vector<StoredTensor>& tensors() const override { return m_facts.tensors; }
    const std::optional<ModelSpec>& spec() const override { return m_facts.spec; }
    const std::vector<std::string>& warnings() const override { return m_facts.warnings; }
    std::shared_ptr<const NumberGrid> grid(std::size_t tensor, TensorPlane plane) const override {
        return gridOf({m_path, tensor, plane, {}});
    }
    std::shared_ptr<const NumberGrid> weightGrid(std::size_t tensor, std::size_t part) const override {
        return gridOf({m_path, tensor, TensorPlane::values, part});
    }
    StoredNumber number(std::size_t tensor, std::int64_t row, std::int64_t column) const override {
        return m_model->result<StoredNumber>("stored_number", {}, m_path, tensor, row, column);
    }

private:
    static void check(const StoredTensor& tensor) {
        constexpr std::int64_t most = std::int64_t{1} << 40;
        std::int64_t elements = 1;
        for (const std::int64_t size : tensor.shape)
            if (size < 0 || (size > 0 && elements > most / size))
                throw Error("A message has a tensor of an impossible shape");
            else
                elements *= size;
        if (tensor.shape.empty() || tensor.scaleElements < 0 || tensor.bytes < 0)
            throw Error("A message has a tensor of an impossible shape");
    }
    std::shared_ptr<const NumberGrid> gridOf(const GridName& name) const {
        auto facts = m_model->result<GridFacts>("grid", {}, name);
        constexpr std::int64_t most = std::int64_t{1} << 40;
        constexpr int mostKinds = 65536;
        const bool isSound =
            facts.rows >= 0 && facts.columns >= 0 && facts.rows <= most &&
            (facts.columns == 0 || facts.rows <= most / facts.columns) && facts.symbolParts >= 0 &&
            facts.symbolParts <= 4 && facts.symbolKinds >= 0 && facts.symbolKinds <= mostKinds &&
            (facts.symbolNumbers.empty() || std::cmp_equal(facts.symbolNumbers.size(), facts.symbolKinds));
        if (!isSound)
            throw Error("A message has a tensor of an impossible shape");
        return std::make_shared<const RemoteGrid>(m_model, name, std::move(facts));
    }

    std::shared_ptr<const FarModel> m_model;
    std::string m_shown;
    std::string m_path; ///< on the server
    TensorsFacts m_facts;
};

} // namespace

std::shared_ptr<const StoredTensors> remoteTensors(const std::shared_ptr<const FarModel>& model,
                                                   const std::string& path, const Progress& progress) {
    return std::make_shared<const RemoteTensors>(model, path, progress);
}

} // namespace secateur
