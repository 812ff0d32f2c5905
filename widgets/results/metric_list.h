#pragma once

#include "analysis/metrics/metric.h"

#include <QWidget>

#include <map>
#include <string>
#include <vector>

class QComboBox;
class QFormLayout;
class QLabel;
class QPushButton;
class QSpinBox;
class QTreeWidget;
class QTreeWidgetItem;

namespace secateur {

class Document;
class TextCombo;

/// What metrics that run the model are measured on: a text, how much of it, and the whole model or what a mask leaves.
class MeasuringBox : public QWidget {
    Q_OBJECT

public:
    explicit MeasuringBox(Document* document, QWidget* parent = nullptr);

private:
    void showChoice();
    void choose();

    Document* m_document;
    TextCombo* m_text;
    QSpinBox* m_tokens;
    QComboBox* m_mask;
};

/// All metrics with their state, each variant that was measured as a row below its metric, and a form that measures
/// one with options.
class MetricList : public QWidget {
    Q_OBJECT

public:
    explicit MetricList(Document* document, QWidget* parent = nullptr);

    /// What the form asks for: the row's metric with the options given. @throws UsageError for what cannot be one
    MetricRequest request() const;
    /// Puts the focus on the options of the current metric.
    void editOptions();
    /// Makes a result's row the current one, because a picture shows it.
    void follow(const QString& resultId);

signals:
    /// A result the person wants to look at.
    void chosen(const QString& key);
    /// A person wants what measures these results as a command line.
    void commandWanted(const std::vector<std::string>& keys);
    void failed(const QString& message);

private:
    void refresh();
    void addRow(const MetricRequest& request, QTreeWidgetItem* parent);
    void updateRow(const QString& resultId);
    void updateMeasurements(const std::string& resultId);
    void showState(QTreeWidgetItem* item, const std::string& key);
    void buildForm(const MetricRequest& request);
    void addOption(const OptionInfo& option, const MetricRequest& request);
    void measure();
    void updateButton();
    void openMenu(const QPoint& position);
    const MetricRequest* currentRequest() const;
    std::string currentKey() const;

    Document* m_document;
    QTreeWidget* m_tree;
    QLabel* m_formTitle;
    QFormLayout* m_form;
    MeasuringBox* m_measuring;
    QPushButton* m_measure;
    std::vector<QWidget*> m_options; ///< object name = the option's name
    const MetricInfo* m_formInfo;
    std::map<QString, std::pair<QTreeWidgetItem*, MetricRequest>> m_rows; ///< by key (result_key.h)
};

} // namespace secateur
