#include "backends/remote/remote_model.h"

#include "analysis/base/error.h"
#include "analysis/model/kernels.h"
#include "backends/remote/connection.h"
#include "backends/remote/model_facts.h"
#include "backends/remote/remote_kernels.h"
#include "backends/remote/remote_runner.h"
#include "backends/remote/stand_in.h"
#include "backends/remote/tensor_bytes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t cacheBytes = std::int64_t{256} << 20U;
constexpr std::int64_t pieceBytes = std::int64_t{64} << 20U; ///< of a matrix that is fetched in pieces

using WeightKey = std::pair<int, WeightName>;

class RemoteModel : public FarModel {
public:
    RemoteModel(const RemoteAddress& address, const Progress& progress)
        : m_connection(address, progress)
        , m_facts(fromWire<OpenedFacts>(m_connection.opened()))
        , m_kernels(m_facts.device)
        , m_runner(*this) {
        check(m_facts);
        m_facts.card.path = address.shown;
        for (PlacedWeight& weight : m_facts.weights)
            m_places.emplace(WeightKey(weight.layer, weight.name), std::move(weight.place));
        m_facts.weights.clear();
    }

    const ModelCard& card() const override { return m_facts.card; }
    bool has(int layer, WeightName name) const override { return m_places.contains({layer, name}); }
    at::Tensor tensor(int layer, WeightName name) const override;
    at::Tensor rows(int layer, WeightName name, std::span<const std::int64_t> indices) const override;
    std::string place(int layer, WeightName name) const override {
        const auto found = m_places.find({layer, name});
        return found == m_places.end() ? std::string() : found->second;
    }
    const Runner& runner() const override { return m_runner; }
    const Kernels& kernels() const override { return m_kernels; }
    std::string fingerprint() const override { return m_facts.card.fingerprint; }
    std::string call(const FarCall& call, const Progress& progress) const override {
        return m_connection.call(call, progress);
    }
    FarStatus status() const override { return m_connection.status(); }

    std::string copied(const std::string& path, const Progress& progress) const {
        return m_connection.copied(path, progress);
    }
    const Model& face() const;

private:
    static void check(const OpenedFacts& facts);
    at::Tensor fetched(int layer, WeightName name) const;
    at::Tensor known(const WeightKey& key) const;
    void keep(const WeightKey& key, const at::Tensor& tensor) const;

    mutable Connection m_connection;
    OpenedFacts m_facts;
    std::map<WeightKey, std::string> m_places;
    RemoteKernels m_kernels;
    RemoteRunner m_runner;
    mutable std::mutex m_mutex;
    mutable std::list<std::pair<WeightKey, at::Tensor>> m_cache; ///< the latest first
    mutable std::mutex m_facing;
    mutable std::unique_ptr<const StandIn> m_face;
};

/// Checks facts that another process states and that would be trusted. @throws Error
void RemoteModel::check(const OpenedFacts& facts) {
    const ModelSpec& spec = facts.card.spec;
    const bool isSound = !spec.layers.empty() && spec.hidden > 0 && spec.vocab > 0 &&
                         std::ranges::all_of(spec.layers, [](const LayerSpec& layer) {
                             return layer.heads >= 0 && layer.kvHeads >= 0 && layer.headDim >= 0 && layer.ffn >= 0 &&
                                    (layer.attention != AttentionKind::full || layer.heads == 0 ||
                                     (layer.kvHeads > 0 && layer.heads % layer.kvHeads == 0));
                         });
    if (!isSound)
        throw Error("A message describes no model");
    (void)specOf(spec.architecture, spec.structure()); // has the limits of sizes
    for (const PlacedWeight& weight : facts.weights)
        if (weight.layer < -1 || weight.layer >= spec.layerCount() || isOfLayer(weight.name) != (weight.layer >= 0))
            throw Error("A message describes weights of another model");
}

at::Tensor RemoteModel::known(const WeightKey& key) const {
    const std::lock_guard lock(m_mutex);
    const auto found = std::ranges::find(m_cache, key, &std::pair<WeightKey, at::Tensor>::first);
    if (found == m_cache.end())
        return {};
    m_cache.splice(m_cache.begin(), m_cache, found);
    return found->second;
}

void RemoteModel::keep(const WeightKey& key, const at::Tensor& tensor) const {
    const std::lock_guard lock(m_mutex);
    m_cache.emplace_front(key, tensor);
    std::int64_t bytes = 0;
    const auto isBeyond = [&bytes](const auto& kept) {
        bytes += static_cast<std::int64_t>(kept.second.nbytes());
        return bytes > cacheBytes;
    };
    m_cache.remove_if(isBeyond);
}

at::Tensor RemoteModel::tensor(int layer, WeightName name) const {
    if (!has(layer, name))
        throw Error("The model has no " + std::string(title(name)), card().path);
    at::Tensor tensor = known({layer, name});
    if (!tensor.defined()) {
        tensor = fetched(layer, name);
        keep({layer, name}, tensor);
    }
    return tensor;
}

/// Fetches a weight, a large matrix in pieces.
at::Tensor RemoteModel::fetched(int layer, WeightName name) const {
    const std::vector<std::int64_t> shape = expectedShape(spec(), layer, name);
    const std::int64_t columns = shape.size() > 1 ? shape[1] : 1;
    const std::int64_t atOnce =
        std::max<std::int64_t>(1, pieceBytes / static_cast<std::int64_t>(sizeof(float)) / columns);
    std::vector<at::Tensor> pieces;
    for (std::int64_t begin = 0; begin < shape[0]; begin += atOnce) {
        const std::int64_t count = std::min(atOnce, shape[0] - begin);
        std::vector<std::int64_t> wanted = shape;
        wanted[0] = count;
        pieces.push_back(tensorOf(result<TensorBytes>("tensor", {}, layer, name, begin, count), wanted));
    }
    return pieces.size() == 1 ? pieces.front() : at::cat(pieces);
}

at::Tensor RemoteModel::rows(int layer, WeightName name, std::span<const std::int64_t> indices) const {
    if (const at::Tensor whole = known({layer, name}); whole.defined())
        return whole.index_select(0, at::tensor(at::ArrayRef(indices.data(), indices.size())));
    std::vector<std::int64_t> shape = expectedShape(spec(), layer, name);
    shape[0] = std::ssize(indices);
    return tensorOf(
        result<TensorBytes>("rows", {}, layer, name, std::vector<std::int64_t>(indices.begin(), indices.end())), shape);
}

const Model& RemoteModel::face() const {
    const std::lock_guard lock(m_facing);
    if (!m_face)
        m_face = std::make_unique<const StandIn>(*this);
    return *m_face;
}

} // namespace

std::shared_ptr<const FarModel> openRemoteModel(const RemoteAddress& address, const Progress& progress) {
    return std::make_shared<const RemoteModel>(address, progress);
}

const Model& localFace(const FarModel& model) {
    return dynamic_cast<const RemoteModel&>(model).face();
}

std::string copiedToServer(const FarModel& model, const std::string& path, const Progress& progress) {
    return dynamic_cast<const RemoteModel&>(model).copied(path, progress);
}

} // namespace secateur
