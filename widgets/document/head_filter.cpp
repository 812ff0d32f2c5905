#include "widgets/document/head_filter.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/language/shown_texts.h"

#include <QTimer>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int frameMs = 16;

/// The error as a sentence. Of the hints only "Did you mean ...?" fits in the line.
QString sentence(const Error& error) {
    std::string text = error.subject().empty() ? error.message() : error.subject() + ' ' + error.message();
    text += error.hint().ends_with('?') ? ". " + error.hint() : ".";
    return QString::fromStdString(text);
}

} // namespace

HeadFilter::HeadFilter(const Document* document, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_follow(new QTimer(this)) {
    m_follow->setSingleShot(true);
    m_follow->setInterval(frameMs);
    connect(m_follow, &QTimer::timeout, this, &HeadFilter::follow);
    connect(document, &Document::opened, this, &HeadFilter::follow);
    connect(document->measurements(), &Measurements::resultChanged, this, [this](const QString& id) {
        const std::vector<std::string> asked = m_rule.metrics();
        if (std::ranges::find(asked, id.toStdString()) != asked.end() && !m_follow->isActive())
            m_follow->start();
    });
    for (const auto signal : {&MaskEditor::maskChanged, &MaskEditor::protectionChanged})
        connect(document->masks(), signal, this, [this] {
            if (m_rule.asksForMask() && !m_follow->isActive())
                m_follow->start(); // delayed, because one change of the mask emits several signals
        });
    follow();
}

void HeadFilter::setText(const QString& text) {
    if (text == m_text)
        return;
    m_text = text;
    follow();
}

void HeadFilter::read() {
    m_rule = {};
    m_error.clear();
    m_heads.clear();
    const MaskEditor& masks = *m_document->masks();
    const HeadFacts facts{m_document->spec(),
                          [this](const std::string& id) { return m_document->measurements()->result(id); },
                          [&](HeadId head) { return head.layer < masks.mask().layerCount() && masks.isCut(head); },
                          [&](HeadId head) { return masks.isProtected().has(head); }};
    try {
        m_rule = HeadRule(m_text.toStdString());
        m_heads = m_rule.passing(facts);
    } catch (const Error& error) {
        m_error = sentence(error);
        m_heads = HeadRule().passing(facts);
    }
}

void HeadFilter::follow() {
    const auto before = std::tuple(m_heads, m_error, isActive());
    read();
    m_count = m_total = 0;
    for (const std::vector<bool>& layer : m_heads) {
        m_total += layer.size();
        m_count += static_cast<std::size_t>(std::ranges::count(layer, true));
    }
    if (before != std::tuple(m_heads, m_error, isActive()))
        emit changed();
}

bool HeadFilter::passes(HeadId head) const {
    const auto layer = static_cast<std::size_t>(head.layer);
    const auto index = static_cast<std::size_t>(head.head);
    return layer >= m_heads.size() || index >= m_heads[layer].size() || m_heads[layer][index];
}

bool HeadFilter::passesAny(int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    return index >= m_heads.size() || m_heads[index].empty() ||
           std::ranges::find(m_heads[index], true) != m_heads[index].end();
}

std::set<HeadId> HeadFilter::passing(const std::set<HeadId>& heads) const {
    std::set<HeadId> kept;
    std::ranges::copy_if(heads, std::inserter(kept, kept.end()), [this](HeadId head) { return passes(head); });
    return kept;
}

QString HeadFilter::summary() const {
    return tr("%1 of %2").arg(m_count).arg(countText(m_total, "head"));
}

} // namespace secateur
