#pragma once

#include "analysis/strategies/head_filter_rule.h"

#include <QObject>
#include <QString>

#include <set>

class QTimer;

namespace secateur {

class Document;

/// The filter of heads that all views share. Heads that do not pass are drawn paler and left out of selections. If its
/// text cannot be parsed, all heads pass. Lives on the GUI thread.
class HeadFilter : public QObject {
    Q_OBJECT

public:
    explicit HeadFilter(const Document* document, QObject* parent = nullptr);

    const QString& text() const { return m_text; }
    void setText(const QString& text);
    /// The reason why the text cannot be parsed, as a sentence; empty = no error.
    const QString& error() const { return m_error; }
    /// Whether the filter has a valid condition.
    bool isActive() const { return !m_rule.empty() && m_error.isEmpty(); }
    bool passes(HeadId head) const;
    /// Whether at least one head of a layer passes. A layer without heads passes.
    bool passesAny(int layer) const;
    std::set<HeadId> passing(const std::set<HeadId>& heads) const;
    const PassingHeads& heads() const { return m_heads; }
    std::size_t count() const { return m_count; }
    std::size_t total() const { return m_total; }
    /// The number of passing heads as text: "41 of 270 heads".
    QString summary() const;

signals:
    /// Emitted when the passing heads or the error changed.
    void changed();

private:
    void read();
    void follow();

    const Document* m_document;
    QTimer* m_follow;
    QString m_text;
    QString m_error;
    HeadRule m_rule;
    PassingHeads m_heads;
    std::size_t m_count = 0;
    std::size_t m_total = 0;
};

} // namespace secateur
