#include "backends/engine/adapted_model.h"

#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "backends/base/sha256.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <mutex>
#include <utility>

namespace secateur {

namespace {

/// Numbers as a tensor, without a copy.
at::Tensor viewOf(const std::vector<float>& numbers, const std::vector<std::int64_t>& shape) {
    return at::from_blob(const_cast<float*>(numbers.data()), shape, at::kFloat);
}

class AdaptedModel : public Model {
public:
    AdaptedModel(std::shared_ptr<const Model> base, std::shared_ptr<const Adapter> adapter, OpenOptions options,
                 const std::string& folder)
        : m_base(std::move(base))
        , m_adapter(std::move(adapter))
        , m_options(std::move(options))
        , m_card(m_base->card()) {
        checkFits(*m_adapter, m_card.spec);
        m_card.spec = specWith(*m_adapter, m_card.spec);
        m_card.name += " + adapter";
        m_card.adapter = folder;
        m_card.fingerprint.clear();
    }

    const Model& base() const { return *m_base; }
    const std::shared_ptr<const Adapter>& adapter() const { return m_adapter; }

    const ModelCard& card() const override { return m_card; }
    bool has(int layer, WeightName name) const override {
        return m_base->has(layer, name) || (layer < 0 && m_adapter->weights.contains({layer, name}));
    }

    at::Tensor tensor(int layer, WeightName name) const override {
        if (const auto replaced = m_adapter->weights.find(placeOf(layer, name)); replaced != m_adapter->weights.end())
            return viewOf(replaced->second, expectedShape(spec(), layer, name)).clone();
        const at::Tensor own = m_base->tensor(layer, name);
        const at::Tensor added = update(layer, name);
        return added.defined() ? own.to(at::kFloat) + added : own;
    }

    at::Tensor rows(int layer, WeightName name, std::span<const std::int64_t> indices) const override {
        const WeightPlace place = placeOf(layer, name);
        if (m_adapter->weights.contains(place) || m_adapter->updates.contains(place))
            return Model::rows(layer, name, indices);
        return m_base->rows(layer, name, indices);
    }

    at::Tensor update(int layer, WeightName name) const override {
        const auto found = m_adapter->updates.find(placeOf(layer, name));
        if (found == m_adapter->updates.end())
            return {};
        const LowRankUpdate& own = found->second;
        const std::vector<std::int64_t> shape = expectedShape(spec(), layer, name);
        return at::mm(viewOf(own.b, {shape.at(0), own.rank}), viewOf(own.a, {own.rank, shape.at(1)})) * own.scale;
    }

    std::string place(int layer, WeightName name) const override { return m_base->place(layer, name); }
    void checkFiles() const override { m_base->checkFiles(); }
    void expect(int layer, WeightName name) const override { m_base->expect(layer, name); }
    void release(int layer, WeightName name) const override { m_base->release(layer, name); }
    const Kernels& kernels() const override { return m_base->kernels(); }

    const Runner& runner() const override {
        std::call_once(m_runnerMade, [this] { m_runner = makeRunner(*this, m_options); });
        return *m_runner;
    }

    std::string fingerprint() const override {
        std::call_once(m_fingerprintTaken, [this] {
            const std::string own = m_base->fingerprint() + adapterDigest(*m_adapter);
            Sha256 sum;
            sum.add(own.data(), own.size());
            m_fingerprint = "sha256:" + sum.hexadecimal();
        });
        return m_fingerprint;
    }

private:
    WeightPlace placeOf(int layer, WeightName name) const {
        const bool isOfModel = layer < 0 || layer >= spec().layerCount();
        return {isOfModel ? layer : spec().firstSharing(layer), name};
    }

    std::shared_ptr<const Model> m_base;
    std::shared_ptr<const Adapter> m_adapter;
    OpenOptions m_options;
    ModelCard m_card;
    mutable std::once_flag m_fingerprintTaken;
    mutable std::string m_fingerprint;
    mutable std::once_flag m_runnerMade;
    mutable std::unique_ptr<const Runner> m_runner;
};

} // namespace

std::shared_ptr<const Model> withAdapter(std::shared_ptr<const Model> base, std::shared_ptr<const Adapter> adapter,
                                         const OpenOptions& options, const std::string& folder) {
    return std::make_shared<AdaptedModel>(std::move(base), std::move(adapter), options, folder);
}

std::shared_ptr<const Adapter> adapterOf(const Model& model) {
    const auto* own = dynamic_cast<const AdaptedModel*>(&model);
    return own ? own->adapter() : nullptr;
}

const Model& baseOf(const Model& model) {
    const auto* own = dynamic_cast<const AdaptedModel*>(&model);
    return own ? own->base() : model;
}

std::string adapterDigest(const Adapter& adapter) {
    Sha256 sum;
    const auto addPlace = [&](const WeightPlace& place, std::int64_t size) {
        sum.add(place.first);
        sum.add(static_cast<std::int64_t>(place.second));
        sum.add(size);
    };
    const auto addNumbers = [&](const std::vector<float>& numbers) {
        sum.add(numbers.data(), numbers.size() * sizeof(float));
    };
    for (const auto& [place, update] : adapter.updates) {
        addPlace(place, update.rank);
        sum.add(&update.scale, sizeof update.scale);
        addNumbers(update.a);
        addNumbers(update.b);
    }
    for (const auto& [place, numbers] : adapter.weights) {
        addPlace(place, std::ssize(numbers));
        addNumbers(numbers);
    }
    return "sha256:" + sum.hexadecimal();
}

} // namespace secateur
