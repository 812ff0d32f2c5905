#pragma once

#include "analysis/running/attention_reader.h"
#include "analysis/base/head_id.h"
#include "analysis/figures/map_pyramid.h"
#include "analysis/text/tokenizer.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace secateur {

class Document;

/// Reads attention maps of a prompt for the window: that of one head with all of its layer in small, at once; the other
/// layers in small when somebody wants to see them all. Lives on the GUI thread; a new prompt, or another mask, gives
/// up what was begun.
class AttentionRun : public QObject {
    Q_OBJECT

public:
    AttentionRun(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    const QString& prompt() const { return m_prompt; }
    void setPrompt(const QString& prompt);
    /// Whether maps are those under the current mask rather than the dense model's.
    bool isMasked() const { return m_masked; }
    void setMasked(bool masked);
    /// Whether there is a model to run.
    bool isAvailable() const;

    /// Asks for a head's map; that of another head is given up.
    void show(HeadId head);
    /// Asks for every layer in small.
    void readAll();

    /// Null until the prompt was read; the first mostTokens of a longer one.
    const PromptTokens* tokens() const { return m_tokens ? &*m_tokens : nullptr; }
    static constexpr std::size_t mostTokens = 4096;
    /// The last that was read; null = none, or the head is cut.
    const std::shared_ptr<const MapPyramid>& map() const { return m_map; }
    /// Values of it that its colours go by.
    const std::vector<double>& sample() const { return m_sample; }
    /// Whose map that is, once it was read.
    std::optional<HeadId> head() const { return m_head; }
    /// Of the heads that are not cut, as far as they were read.
    const std::map<HeadId, AttentionThumbnail>& thumbnails() const { return m_thumbnails; }
    bool isRead(int layer) const { return m_layers.contains(layer); }
    bool isRunning() const { return m_job != 0; }
    /// The sentence for the person, where the prompt could not be run.
    const QString& failure() const { return m_failure; }

signals:
    /// Everything is to be read anew: another model, prompt or mask.
    void restarted();
    void tokensChanged();
    void mapChanged();
    /// @param layer whose thumbnails are there now
    void layerRead(int layer);
    void stateChanged();

private:
    struct Bench;
    struct Incoming;

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
    std::shared_ptr<Incoming> m_incoming;
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
