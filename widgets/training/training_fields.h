#pragma once

#include "analysis/training/training_settings.h"

#include <QWidget>

#include <array>
#include <string>
#include <utility>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QSpinBox;
class QToolButton;

namespace secateur {

class Document;
class TextCombo;

/// The fields of a training run: recipe, data, duration and, folded, the options that replace those of the recipe.
class TrainingFields : public QWidget {
    Q_OBJECT

public:
    explicit TrainingFields(QWidget* parent = nullptr);

    /// The settings that the fields describe. @throws UsageError
    TrainingSettings settings() const;
    /// The path of the training data; empty = the built-in text.
    std::string data() const;
    /// Writes the fields into the session's view.
    void keep(Document& document) const;
    /// Sets the fields to those of the session's view, or to the usual ones. Offers what the model has: a classifier of
    /// encoders, a teacher of decoders.
    void restore(const Document& document);

signals:
    void changed();

private:
    enum Unit { minutes, steps, epochs };

    void build();
    void addDuration(QFormLayout& form);
    QWidget* options();
    QWidget* trainedWeights();
    QWidget* teacher();
    void chooseRecipe(const std::string& id);
    void takeRecipe();
    void setDuration(Unit unit, double amount);
    void takeUnit();
    void restoreChoices(const QString& trained, const QString& teacher);
    void offer(bool isEncoder);
    /// The boxes of the kinds of weights, by their names in `recover --train`.
    std::array<std::pair<const char*, QCheckBox*>, 4> trainedBoxes() const {
        return {{{"lora", m_lora}, {"norms", m_norms}, {"head", m_head}, {"compensation", m_compensation}}};
    }

    QComboBox* m_recipe;
    TextCombo* m_data;
    QDoubleSpinBox* m_amount;
    QComboBox* m_unit;
    QToolButton* m_fold;
    QSpinBox* m_rank;
    QDoubleSpinBox* m_rate;
    QSpinBox* m_length;
    QCheckBox* m_lora;
    QCheckBox* m_norms;
    QCheckBox* m_head;
    QCheckBox* m_compensation;
    QCheckBox* m_teacher;
    QDoubleSpinBox* m_teacherWeight;
};

} // namespace secateur
