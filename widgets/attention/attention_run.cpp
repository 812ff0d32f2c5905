#include "widgets/attention/attention_run.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// The default prompt. Names and words are repeated, so that heads have earlier tokens to attend to.
constexpr auto firstPrompt =
    "When Mary and John went to the store, John gave a drink to Mary. When Ann and Tom went to "
    "the park, Tom gave a ball to";

constexpr std::size_t sampleForColours = 200'000;

} // namespace

/// The prompt, its model and mask, and the forward pass over it. Only the job that holds the mutex may use them.
struct AttentionRun::Bench {
    std::mutex mutex;
    std::shared_ptr<const Model> model;
    PruningMask mask;
    std::string prompt;
    Services services;
    PromptTokens tokens;
    std::unique_ptr<AttentionReader> reader;

    void prepare() {
        if (reader)
            return;
        tokens = services.readPrompt(*model, prompt);
        tokens.ids.resize(std::min(tokens.ids.size(), mostTokens));
        tokens.labels.resize(tokens.ids.size());
        reader = std::make_unique<AttentionReader>(model, mask, tokens.ids);
    }
};

/// Layers that the job of readAll() has read and the GUI thread has not taken yet.
struct AttentionRun::ReadLayers {
    PromptTokens tokens;
    std::vector<std::pair<int, LayerAttention>> layers;
};

AttentionRun::AttentionRun(Document* document, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_prompt(firstPrompt) {
    connect(document, &Document::opened, this, &AttentionRun::restart);
    connect(document, &Document::modelLocated, this, &AttentionRun::restart);
    connect(document->masks(), &MaskEditor::maskChanged, this, &AttentionRun::followMask);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job) {
        if (job == m_allJob)
            takeIncoming();
    });
    connect(jobs, &JobRunner::failed, this, &AttentionRun::onFailed);
    connect(jobs, &JobRunner::cancelled, this, &AttentionRun::onCancelled);
}

bool AttentionRun::isAvailable() const {
    return m_document->model() && m_document->services().readPrompt;
}

void AttentionRun::setPrompt(const QString& prompt) {
    if (std::exchange(m_prompt, prompt) != prompt)
        restart();
}

void AttentionRun::setMasked(bool masked) {
    if (std::exchange(m_masked, masked) != masked)
        restart();
}

void AttentionRun::followMask() {
    if (m_masked)
        restart();
}

void AttentionRun::restart() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_jobs->cancel(std::exchange(m_allJob, 0));
    dropPart();
    m_incoming.reset();
    m_tokens.reset();
    m_map.reset();
    m_sample.clear();
    m_head.reset();
    m_thumbnails.clear();
    m_layers.clear();
    m_failure.clear();
    m_bench.reset();
    if (isAvailable()) {
        m_bench = std::make_shared<Bench>();
        m_bench->model = m_document->model();
        m_bench->mask = m_masked ? m_document->masks()->mask() : PruningMask(m_document->spec());
        m_bench->prompt = m_prompt.toStdString();
        m_bench->services = m_document->services();
    }
    emit restarted();
}

void AttentionRun::show(HeadId head) {
    if (!m_bench || (m_head == head && m_job == 0))
        return;
    m_jobs->cancel(m_job);
    dropPart();
    const auto work = [this, bench = m_bench, head](const Progress& progress) {
        const std::lock_guard onlyUser(bench->mutex);
        bench->prepare();
        LayerAttention found = bench->reader->layer(head.layer, head.head, progress);
        std::shared_ptr<const MapPyramid> map;
        std::vector<double> sample; // sampled in the job, because a large map has millions of values
        if (found.map) {
            map = std::make_shared<const MapPyramid>(std::move(*found.map));
            sample = map->sample(sampleForColours);
        }
        return [this, bench, head, map, sample = std::move(sample), tokens = bench->tokens, found = std::move(found)] {
            if (bench != m_bench)
                return;
            m_job = 0;
            take(tokens, head.layer, found);
            m_map = map;
            m_sample = sample;
            m_head = head;
            emit mapChanged();
        };
    };
    m_job = m_jobs->start(tr("Attention of %1").arg(QString("L%1.H%2").arg(head.layer).arg(head.head)),
                          JobRunner::Priority::immediate, work);
    m_failure.clear();
    emit stateChanged();
}

void AttentionRun::dropPart() {
    m_jobs->cancel(std::exchange(m_partJob, 0));
    m_part.reset();
}

void AttentionRun::showPart(const MapWindow& window) {
    if (!m_bench || !m_head || !m_map || m_job != 0)
        return;
    m_jobs->cancel(m_partJob);
    const auto work = [this, bench = m_bench, head = *m_head, window](const Progress& progress) {
        const std::lock_guard onlyUser(bench->mutex);
        auto found = bench->reader->part(head, window, progress);
        return [this, map = m_map, found = std::move(found)] {
            if (map != m_map)
                return;
            m_partJob = 0;
            m_part = found ? std::make_shared<const AttentionPart>(*found) : nullptr;
            emit partChanged();
        };
    };
    m_partJob = m_jobs->start(tr("Part of an attention map"), JobRunner::Priority::immediate, work);
}

void AttentionRun::readAll() {
    const int layers = m_document->spec().layerCount();
    if (!m_bench || m_allJob != 0 || static_cast<int>(m_layers.size()) == layers)
        return;
    m_incoming = std::make_shared<Mailbox<ReadLayers>>();
    const auto work = [this, bench = m_bench, incoming = m_incoming, done = m_layers,
                       layers](const Progress& progress) {
        for (int layer = 0; layer < layers; ++layer) {
            progress.report(static_cast<double>(layer) / layers, "layer " + std::to_string(layer));
            if (done.contains(layer))
                continue;
            // Pass no progress while the mutex is held: report() may wait for a job of higher priority, and that job
            // may wait for the mutex.
            const std::lock_guard onlyUser(bench->mutex);
            bench->prepare();
            LayerAttention found = bench->reader->layer(layer);
            incoming->put([&](ReadLayers& read) {
                read.tokens = bench->tokens;
                read.layers.emplace_back(layer, std::move(found));
            });
        }
        return [this, incoming] {
            if (incoming != m_incoming)
                return;
            takeIncoming();
            m_allJob = 0;
            emit stateChanged();
        };
    };
    m_allJob = m_jobs->start(tr("Attention of all heads"), JobRunner::Priority::background, work);
    emit stateChanged();
}

void AttentionRun::takeIncoming() {
    if (!m_incoming)
        return;
    const ReadLayers read = m_incoming->take();
    for (const auto& [layer, found] : read.layers)
        take(read.tokens, layer, found);
}

void AttentionRun::take(const PromptTokens& tokens, int layer, const LayerAttention& found) {
    if (!m_tokens) {
        m_tokens = tokens;
        emit tokensChanged();
    }
    for (const AttentionThumbnail& thumbnail : found.thumbnails)
        m_thumbnails.insert_or_assign(thumbnail.head, thumbnail);
    m_layers.insert(layer);
    emit layerRead(layer);
}

/// Called when the user cancels a job in the panel Jobs. For jobs that this class cancelled itself, m_job has another
/// value by now.
void AttentionRun::onCancelled(quint64 job) {
    if (job != 0 && (job == m_job || job == m_allJob))
        onFailed(job, tr("Cancelled. Choose a head to go on."));
}

void AttentionRun::onFailed(quint64 job, const QString& message) {
    if (job == 0 || (job != m_job && job != m_allJob))
        return;
    (job == m_job ? m_job : m_allJob) = 0;
    m_failure = message;
    emit stateChanged();
}

} // namespace secateur
