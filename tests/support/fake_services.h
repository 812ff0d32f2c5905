#pragma once

// ATen must be included before Qt.
#include <ATen/ATen.h>

#include "analysis/base/error.h"
#include "analysis/session/services.h"
#include "backends/export/export_targets.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

namespace secateur::test {

/// A small Llama-like model with random weights. A test can block the weights of the later layers, so that a job waits
/// when it reaches them.
class FakeModel : public Model {
public:
    FakeModel(const std::string& path, int layers, const std::string& fingerprint = "sha256:fake") {
        LayerSpec layer;
        layer.heads = 4;
        layer.kvHeads = 2;
        layer.headDim = 3;
        layer.ffn = 16;
        m_card.path = path;
        m_card.format = "fake";
        m_card.name = path.substr(path.rfind('/') + 1);
        m_card.dtype = "F32";
        m_card.parameters = 1234567;
        m_card.bytes = 4 * m_card.parameters;
        m_card.spec.architecture = "llama";
        m_card.spec.hidden = 12;
        m_card.spec.vocab = 100;
        m_card.spec.layers.assign(static_cast<std::size_t>(layers), layer);
        m_fingerprint = fingerprint;
        at::manual_seed(layers);
        for (int i = 0; i < layers; ++i) {
            m_query.push_back(at::randn({12, 12}));
            m_key.push_back(at::randn({6, 12}));
            m_down.push_back(at::randn({12, 16}));
        }
    }

    const ModelCard& card() const override { return m_card; }
    bool has(int, WeightName which) const override { return which == WeightName::query || which == WeightName::key; }
    at::Tensor tensor(int layer, WeightName which) const override {
        while (layer >= layersFree)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto index = static_cast<std::size_t>(layer);
        switch (which) {
        case WeightName::query:
            return m_query[index];
        case WeightName::key:
            return m_key[index];
        case WeightName::output:
            return m_query[index];
        case WeightName::down:
            return m_down[index];
        default:
            return at::ones({12});
        }
    }
    std::string place(int, WeightName) const override { return m_card.path; }
    std::string fingerprint() const override { return m_fingerprint; }

    mutable std::atomic<int> layersFree =
        std::numeric_limits<int>::max(); ///< tensor() blocks for this layer and all later ones

private:
    ModelCard m_card;
    std::string m_fingerprint;
    std::vector<at::Tensor> m_query;
    std::vector<at::Tensor> m_key;
    std::vector<at::Tensor> m_down;
};

/// Services for the window that keep all files in memory. Set `models` and `sessions` before a job starts. The mutex
/// guards `written`, `masks`, `found` and `opened`.
struct FakeServices {
    std::map<std::string, std::shared_ptr<const Model>> models;
    std::map<std::string, Session> sessions;
    std::atomic<bool> opensSlowly = false; ///< openModel() waits while this is true; the wait can be cancelled
    std::atomic<bool> diskIsFull = false;
    std::mutex mutex;
    std::map<std::string, Session> written;
    std::map<std::string, MaskRecord> masks; ///< by path
    std::vector<FoundModel> found;
    const std::thread::id owner = std::this_thread::get_id();
    std::atomic<int> readsOfOwner = 0;     ///< calls of isSession(), which reads files, on the thread of this object
    std::vector<std::string> opened;       ///< paths with which foundModels() was called last
    std::atomic<bool> cacheIsSlow = false; ///< foundModels() waits while this is true, and can be cancelled

    /// The returned functions refer to this object, so it must outlive them.
    Services services() {
        Services services;
        services.openModel = [this](const std::string& path, const Progress& progress) {
            while (opensSlowly) {
                progress.report(0.5, "opening");
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            const auto found = models.find(path);
            if (found == models.end())
                throw Error("is no model", path, "Choose another file");
            return found->second;
        };
        services.isSession = [this](const std::string& path) {
            readsOfOwner += std::this_thread::get_id() == owner ? 1 : 0;
            return sessions.contains(path);
        };
        services.readSession = [this](const std::string& path) {
            const auto found = sessions.find(path);
            if (found == sessions.end())
                throw Error("is no session", path);
            return found->second;
        };
        services.writeSession = [this](const Session& session, const std::string& path) {
            if (diskIsFull)
                throw Error("could not be written: no space left", path);
            const std::lock_guard lock(mutex);
            written[path] = session;
        };
        services.maskDigest = [](const PruningMask& mask) {
            std::string digest = mask.keepsAll() ? "dense" : "fake:";
            for (int layer = 0; !mask.keepsAll() && layer < mask.layerCount(); ++layer)
                digest += std::to_string(mask.layer(layer).keptHeads()) + "," +
                          std::to_string(mask.layer(layer).keptNeurons()) + ";";
            return digest;
        };
        services.readMask = [this](const std::string& path, const ModelSpec& spec, const std::string&,
                                   std::vector<std::string>& warnings) {
            const std::lock_guard lock(mutex);
            const auto found = masks.find(path);
            if (found == masks.end())
                throw Error("is no mask", path);
            found->second.mask.checkFits(spec);
            warnings.push_back("was made on another model");
            return found->second;
        };
        services.writeMask = [this](const MaskRecord& record, const std::string& path) {
            if (diskIsFull)
                throw Error("could not be written: no space left", path);
            const std::lock_guard lock(mutex);
            masks[path] = record;
        };
        services.maskedModel = [this](const std::string& path) {
            const std::lock_guard lock(mutex);
            const auto found = masks.find(path);
            if (found == masks.end())
                throw Error("is no mask", path);
            return found->second.modelName;
        };
        services.prune = [](const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                            const PruneWatch&, const Progress& progress) {
            progress.report(0.5, "step 1 of 2");
            const ModelSpec& spec = model.spec();
            PruneResult result;
            result.mask =
                pruneBy(spec, request, Matrix(spec.layers.size(), static_cast<std::size_t>(spec.maxHeads()), 1));
            result.history = PruneHistory{"loss_nats", 2, {{1, {0, 0}, 0.5, 2.25}}, 1};
            result.data =
                MeasuredData{choice.text.empty() ? "built-in" : choice.text, 1, 10, 10, 10, "document", "never"};
            return result;
        };
        services.gradientChange = [](const Model& model, const GradientChangeRequest& request, const MeasureChoice&,
                                     const Progress& progress) {
            progress.report(0.5, "back through layer 1");
            GradientChange change;
            change.tokens = 10;
            for (int index = 0; index < model.spec().layerCount(); ++index) {
                const LayerSpec& layer = model.spec().layers[static_cast<std::size_t>(index)];
                Matrix& cells =
                    change.layers.emplace_back(static_cast<std::size_t>(layer.heads), 4, 0.25 * (index + 1));
                for (std::size_t head = 0; head < cells.rows(); ++head)
                    if (!request.after.layer(index).heads[head])
                        std::ranges::fill(cells.row(head), -1);
            }
            return change;
        };
        services.exportTargets = exportTargets();
        services.modelExtensions = {".gguf", ".safetensors"};
        services.foundModels = [this](const std::vector<std::string>& paths, const Progress& progress) {
            while (cacheIsSlow) {
                progress.check();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            const std::lock_guard lock(mutex);
            opened = paths;
            return found;
        };
        return services;
    }

    std::shared_ptr<const FakeModel> addModel(const std::string& path, int layers,
                                              const std::string& fingerprint = "sha256:fake") {
        std::ofstream(path) << "a checkpoint";
        auto model = std::make_shared<const FakeModel>(path, layers, fingerprint);
        models[path] = model;
        return model;
    }

    /// Adds a session for the model that `card` describes, with one result of gate_norm_head.
    void addSession(const std::string& path, const ModelCard& card, const std::string& fingerprint = "sha256:fake") {
        std::ofstream(path) << "a session";
        Session session;
        session.model = card;
        session.model.fingerprint = fingerprint;
        MetricResult result;
        result.request = parseMetricRequests("gate_norm_head").front();
        result.values = Matrix(card.spec.layers.size(), static_cast<std::size_t>(card.spec.maxHeads()));
        double value = 1;
        for (double& cell : result.values.values())
            cell = value++;
        session.results.push_back(std::move(result));
        sessions[path] = std::move(session);
    }
};

} // namespace secateur::test
