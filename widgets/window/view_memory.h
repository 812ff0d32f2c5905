#pragma once

#include <QObject>
#include <QString>

#include <functional>
#include <map>
#include <string>

namespace secateur {

class Document;
class ViewTabs;
struct ModelCard;

/// Remembers how each model was last viewed: metrics, scales, colours, the open layer, the visible tab and the filter
/// of heads. The settings keep the entries of the last fifty models, by their paths. A session holds these entries
/// itself, apart from tab and filter, and is opened as it was saved. What would start a computation is not restored: no
/// prompt, no text, and not the tabs that run the model when they are shown.
class ViewMemory : public QObject {
    Q_OBJECT

public:
    /// Functions of the window that read and set the filter of heads.
    struct Filter {
        std::function<QString()> text;
        std::function<void(const QString& text)> setText;
    };

    ViewMemory(Document* document, ViewTabs* views, Filter filter, QObject* parent);

    /// Stores the view of the open model. Called when another model is opened; call it when the window closes.
    void remember();
    /// Forgets all models.
    static void forget();

private:
    std::map<std::string, std::string> recall(const ModelCard& model) const;
    void restore();

    Document* m_document;
    ViewTabs* m_views;
    Filter m_filter;
};

} // namespace secateur
