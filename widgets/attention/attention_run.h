#pragma once

#include "analysis/base/head_id.h"
#include "analysis/figures/model_figures.h"
#include "analysis/running/attention_reader.h"
#include "analysis/text/tokenizer.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace secateur {

class Document;

/// Computes attention maps of a prompt for the window: at once the map of one head and the thumbnails of its layer, on
/// demand the thumbnails of the other layers. Lives on the GUI thread. A new prompt or another mask cancels what was
/// begun.
class AttentionRun : public QObject {
    Q_OBJECT

public:
    AttentionRun(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    const QString& prompt() const { return m_prompt; }
    void setPrompt(const QString& prompt);
    /// Whether the model runs with the current mask instead of dense.
    bool isMasked() const { return m_masked; }
    void setMasked(bool masked);
    /// Whether there is a model to run.
    bool isAvailable() const;

    /// Asks for a head's map; cancels that of another head.
    void show(HeadId head);
    /// Asks for the thumbnails of all layers.
    void readAll();

    /// Null until the prompt was read; the first mostTokens of a longer one.
    const PromptTokens* tokens() const { return m_tokens ? &*m_tokens : nullptr; }
    static constexpr std::size_t mostTokens = 4096;
    /// The last map; null = none, or its head is cut.
    const std::shared_ptr<const MapPyramid>& map() const { return m_map; }
    /// Sample of its values, for the range of its colours.
    const std::vector<double>& sample() const { return m_sample; }
    /// The map's head; empty before the first map.
    std::optional<HeadId> head() const { return m_head; }
    /// Of the kept heads of the layers that were read.
    const std::map<HeadId, AttentionThumbnail>& thumbnails() const { return m_thumbnails; }
    bool isRead(int layer) const { return m_layers.contains(layer); }
    bool isRunning() const { return m_job != 0; }
    /// Why the prompt could not be run, as a sentence; empty = it could.
    const QString& failure() const { return m_failure; }

signals:
    /// Another model, prompt or mask: all maps are gone.
    void restarted();
    void tokensChanged();
    void mapChanged();
    /// The thumbnails of a layer are there.
    void layerRead(int layer);
    void stateChanged();

private:
    struct Bench;
    struct ReadLayers;

    void restart();
    void followMask();
    void take(const PromptTokens& tokens, int layer, const LayerAttention& found);
    void takeIncoming();
    void onFailed(quint64 job, const QString& message);
    void onCancelled(quint64 job);

    Document* m_document;
    JobRunner* m_jobs;
    QString m_prompt;
    bool m_masked = false;
    std::shared_ptr<Bench> m_bench;
    std::shared_ptr<Mailbox<ReadLayers>> m_incoming;
    JobRunner::Id m_job = 0;    ///< that reads a map
    JobRunner::Id m_allJob = 0; ///< that reads all layers
    std::optional<PromptTokens> m_tokens;
    std::shared_ptr<const MapPyramid> m_map;
    std::vector<double> m_sample;
    std::optional<HeadId> m_head;
    std::map<HeadId, AttentionThumbnail> m_thumbnails;
    std::set<int> m_layers;
    QString m_failure;
};

} // namespace secateur
