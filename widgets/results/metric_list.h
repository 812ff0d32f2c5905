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

/// Chooses what metrics that run the model are measured on: text, tokens, dense model or current mask.
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

/// All metrics with their state; variants with other options and earlier measurements are rows below their metric. A
/// form measures the current metric with options.
class MetricList : public QWidget {
    Q_OBJECT

public:
    explicit MetricList(Document* document, QWidget* parent = nullptr);

    /// The metric of the form with its options. @throws UsageError for invalid options
    MetricRequest request() const;
    /// Puts the focus on the options of the current metric.
    void editOptions();
    /// Makes the row of a result the current one.
    void follow(const QString& resultId);

signals:
    /// The user chose a result to look at.
    void chosen(const QString& key);
    /// The user wants the command line that measures these results.
    void commandWanted(const std::vector<std::string>& keys);
    void failed(const QString& message);

private:
    void build();
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
