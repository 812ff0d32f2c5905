#pragma once

#include "widgets/evaluations/extra_items.h"

#include <QObject>

#include <string>

namespace secateur {

class Document;
class LiveEvaluation;

/// Keeps the chosen extra measurements in the session's view, and restores them when a session is opened. A model that
/// is opened without a session gets the current choice.
class ExtraChoiceKeeper : public QObject {
    Q_OBJECT

public:
    ExtraChoiceKeeper(Document* document, LiveEvaluation* live, QObject* parent);

private:
    void restore();
    void keep();

    Document* m_document;
    LiveEvaluation* m_live;
    quint64 m_restored = 0; ///< Document::generation() of the session whose choice was restored
    std::string m_kept;     ///< extraChoiceText() of the choice in the view
};

/// A choice as JSON, and back. Fields that are missing or unknown have their defaults.
std::string extraChoiceText(const ExtraChoice& choice);
ExtraChoice readExtraChoice(const std::string& text);

} // namespace secateur
