#pragma once

#include "analysis/metric.h"

#include <QWidget>

#include <map>
#include <string>
#include <vector>

class QCheckBox;
class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;
class QVBoxLayout;

namespace secateur {

class Document;

/// All metrics with their state, each variant that was measured as a row below its metric, and a form that measures
/// one with options.
class MetricList : public QWidget {
    Q_OBJECT

public:
    explicit MetricList(Document* document, QWidget* parent = nullptr);

    /// What the form asks for: the row's metric with the options ticked.
    MetricRequest request() const;
    /// Makes a metric's row the current one and puts the focus on its options.
    void editOptions(const std::string& metricId);
    /// Makes a result's row the current one, because a picture shows it.
    void follow(const QString& resultId);

signals:
    /// A result the person wants to look at.
    void chosen(const QString& resultId);

private:
    void refresh();
    void addRow(const MetricRequest& request, QTreeWidgetItem* parent);
    void updateRow(const QString& resultId);
    void buildForm(const MetricRequest& request);
    void updateButton();
    void openMenu(const QPoint& position);
    const MetricRequest* currentRequest() const;

    Document* m_document;
    QTreeWidget* m_tree;
    QLabel* m_formTitle;
    QVBoxLayout* m_form;
    QPushButton* m_measure;
    std::vector<QCheckBox*> m_options; ///< object name = the option's name
    const MetricInfo* m_formInfo;
    std::map<QString, std::pair<QTreeWidgetItem*, MetricRequest>> m_rows; ///< by result id
};

} // namespace secateur
