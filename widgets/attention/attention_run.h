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

/// Computes attention maps of a prompt for the window: first the map of one head with the thumbnails of its layer, and
/// on demand the thumbnails of the other layers. A new prompt or another mask cancels the work. Lives on the GUI
/// thread.
class AttentionRun : public QObject {
    Q_OBJECT

public:
    AttentionRun(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    const QString& prompt() const { return m_prompt; }
    void setPrompt(const QString& prompt);
    /// Whether the model runs under the current mask; false = as the dense model.
    bool isMasked() const { return m_masked; }
    void setMasked(bool masked);
    /// Whether there is a model to run.
    bool isAvailable() const;

    /// Requests a head's map; cancels a request for another head.
    void show(HeadId head);
    /// Requests a part of the map of head(); cancels a request for another part.
    void showPart(const secateur::MapWindow& window);
    /// Requests the thumbnails of all layers.
    void readAll();

    /// The prompt's tokens, at most mostTokens of them; null until the prompt was read.
    const PromptTokens* tokens() const { return m_tokens ? &*m_tokens : nullptr; }
    static constexpr std::size_t mostTokens = 1 << 16;
    /// The last map; null = none, or its head is cut.
    const std::shared_ptr<const MapPyramid>& map() const { return m_map; }
    /// The last part of map() that was requested; null = none.
    const std::shared_ptr<const AttentionPart>& part() const { return m_part; }
    /// A sample of the map's values, from which the range of the colours is computed.
    const std::vector<double>& sample() const { return m_sample; }
    /// The map's head; empty before the first map.
    std::optional<HeadId> head() const { return m_head; }
    /// Thumbnails of the kept heads of all layers that were read.
    const std::map<HeadId, AttentionThumbnail>& thumbnails() const { return m_thumbnails; }
    bool isRead(int layer) const { return m_layers.contains(layer); }
    bool isRunning() const { return m_job != 0; }
    /// The reason why the prompt could not be run, as a sentence; empty = there was no failure.
    const QString& failure() const { return m_failure; }

signals:
    /// Emitted after all maps were removed, because the model, the prompt or the mask changed.
    void restarted();
    void tokensChanged();
    void mapChanged();
    void partChanged();
    /// Emitted when the thumbnails of a layer are available.
    void layerRead(int layer);
    void stateChanged();

private:
    struct Bench;
    struct ReadLayers;

    void restart();
    void followMask();
    void dropPart();
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
    JobRunner::Id m_job = 0;     ///< the job that reads a map; 0 = none
    JobRunner::Id m_partJob = 0; ///< the job that reads a part of the map; 0 = none
    JobRunner::Id m_allJob = 0;  ///< the job that reads all layers; 0 = none
    std::optional<PromptTokens> m_tokens;
    std::shared_ptr<const MapPyramid> m_map;
    std::shared_ptr<const AttentionPart> m_part;
    std::vector<double> m_sample;
    std::optional<HeadId> m_head;
    std::map<HeadId, AttentionThumbnail> m_thumbnails;
    std::set<int> m_layers;
    QString m_failure;
};

} // namespace secateur
