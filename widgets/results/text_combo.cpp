#include "widgets/results/text_combo.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>

#include <algorithm>

namespace secateur {

namespace {

constexpr const char* recentTexts = "evaluation/texts";
constexpr int recentTextCount = 8;

} // namespace

TextCombo::TextCombo(QWidget* parent, const QString& unnamed)
    : QComboBox(parent)
    , m_unnamed(unnamed.isEmpty() ? tr("built-in text") : unnamed) {
    setAccessibleName(tr("Text to measure on"));
    setWhatsThis(tr("The text that the model runs on: the built-in text, or a file of yours."));
    setMinimumContentsLength(18);
    connect(this, &QComboBox::activated, this, &TextCombo::take);
    refill();
}

void TextCombo::setPath(const QString& path) {
    m_path = path;
    refill();
}

void TextCombo::refill() {
    QStringList texts = QSettings().value(recentTexts).toStringList();
    if (!m_path.isEmpty() && !texts.contains(m_path))
        texts.prepend(m_path);
    clear();
    addItem(m_unnamed, QString(""));
    for (const QString& text : texts) {
        addItem(QFileInfo(text).fileName(), text);
        setItemData(count() - 1, text, Qt::ToolTipRole);
    }
    addItem(tr("Choose a file…"));
    setCurrentIndex(std::max(findData(m_path), 0));
}

void TextCombo::take(int index) {
    if (itemData(index).isNull())
        return chooseFile();
    m_path = itemData(index).toString();
    emit chosen();
}

void TextCombo::chooseFile() {
    auto* dialog = new QFileDialog(this, accessibleName());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QDialog::finished, this, &TextCombo::refill);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        QStringList texts = QSettings().value(recentTexts).toStringList();
        texts.removeAll(path);
        texts.prepend(path);
        QSettings().setValue(recentTexts, texts.mid(0, recentTextCount));
        setPath(path);
        emit chosen();
    });
    dialog->open();
}

} // namespace secateur
