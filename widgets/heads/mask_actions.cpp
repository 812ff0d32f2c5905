#include "widgets/heads/mask_actions.h"

#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"

#include <QAction>
#include <QCursor>
#include <QDoubleSpinBox>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>
#include <QPushButton>

#include <algorithm>
#include <utility>

namespace secateur {

MaskActions::MaskActions(MaskEditor* masks, Selection* selection, QWidget* picture)
    : QObject(picture)
    , m_masks(masks)
    , m_selection(selection)
    , m_picture(picture)
    , m_bypass(new QMenu(tr("Bypass &Q/K of the selected layers"), picture)) {
    addHeadActions();
    addLayerActions();
    addProtection();
    m_ends << add(tr("Restore &everything"), {}, tr("Restores all cut units. One step of undo brings the cuts back."),
                  [this] { m_masks->clearMask(); });
    connect(selection, &Selection::changed, this, &MaskActions::update);
    connect(masks, &MaskEditor::maskChanged, this, &MaskActions::update);
    update();
}

QAction* MaskActions::add(const QString& text, const QList<QKeySequence>& keys, const QString& help,
                          std::function<void()> run) {
    auto* action = new QAction(text, this);
    action->setWhatsThis(help);
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    m_picture->addAction(action);
    m_all << action;
    return action;
}

void MaskActions::addHeadActions() {
    m_ofHeads << add(tr("&Cut or restore the selected heads"), {Qt::Key_Space, Qt::Key_Delete},
                     tr("Cuts the selected heads. If all of them are cut, restores them."),
                     [this] { cutOrRestore(m_selection->heads()); });
    m_ofLayers << add(tr("Cut or restore all &heads of the selected layers"), {},
                      tr("Cuts all heads of the selected layers. If all of them are cut, restores them."),
                      [this] { cutOrRestore(headsOf(layers())); });
    m_ofHeads << add(tr("Cut or restore the selected c&olumns"), {},
                     tr("Cuts the heads with the same numbers in all layers. If all of them are cut, restores them."),
                     [this] { cutOrRestore(columns()); });
    m_ends << add(tr("&Invert heads"), {}, tr("Cuts all kept heads and restores all cut ones."),
                  [this] { m_masks->invertHeads(); });
}

void MaskActions::addLayerActions() {
    m_ofLayers << add(tr("Drop the &attention of the selected layers"), {},
                      tr("Removes the attention sublayers of the selected layers."),
                      [this] { m_masks->setAttention(layers(), AttentionCut::drop); });
    m_ofLayers << add(tr("Drop the &MLP of the selected layers"), {}, tr("Removes the MLPs of the selected layers."),
                      [this] { m_masks->setMlpCut(layers(), true); });
    m_ofLayers << add(tr("Drop the selected &blocks"), {}, tr("Removes the selected layers as a whole."),
                      [this] { m_masks->setBlockCut(layers(), true); });
    addBypass();
    m_ofLayers << add(tr("&Restore the selected layers"), {},
                      tr("Restores everything that is cut in the selected layers."),
                      [this] { m_masks->restoreLayers(layers()); });
    m_ends << m_all.back();
}

void MaskActions::addBypass() {
    const auto addTo = [this](const QString& text, std::function<void()> run) {
        QAction* action = add(text, {},
                              tr("Lets each token of the selected layers attend to itself only, and multiplies the "
                                 "output of the attention by α."),
                              std::move(run));
        m_bypass->addAction(action);
        m_ofLayers << action;
    };
    for (const double alpha : {0.0, 0.1, 0.2, 0.5, 1.0})
        addTo(tr("Bypass Q/K with α %1").arg(alpha),
              [this, alpha] { m_masks->setAttention(layers(), AttentionCut::bypassQk, alpha); });
    addTo(tr("Bypass Q/K with another α…"), [this] { askForAlpha(); });
}

void MaskActions::addProtection() {
    m_ofHeads << add(tr("&Grow the selection to KV groups"), {Qt::Key_U},
                     tr("Selects also the other heads of the KV groups of the selected heads."),
                     [this] { growToGroups(); });
    m_ofHeads << add(
        tr("&Protect or unprotect the selected heads"), {Qt::Key_P},
        tr("Excludes the selected heads from automatic cuts. If all of them are protected, ends their protection."),
        [this] { protectHeads(); });
    m_ofLayers << add(
        tr("Protect or unprotect the selected &layers"), {},
        tr("Excludes the selected layers from automatic cuts. If all of them are protected, ends their protection."),
        [this] { protectLayers(); });
    m_ends << m_all.back();
}

void MaskActions::fill(QMenu* menu) const {
    bool isBypassIn = false;
    for (QAction* action : m_all) {
        if (!m_bypass->actions().contains(action))
            menu->addAction(action);
        else if (!std::exchange(isBypassIn, true))
            menu->addMenu(m_bypass);
        if (m_ends.contains(action) && action != m_all.back())
            menu->addSeparator();
    }
}

void MaskActions::setLayer(std::optional<int> layer) {
    m_layer = layer;
    update();
}

void MaskActions::update() {
    const bool isOpen = m_masks->mask().layerCount() > 0;
    for (QAction* action : m_all)
        action->setEnabled(isOpen);
    for (QAction* action : m_ofHeads)
        action->setEnabled(isOpen && !m_selection->heads().empty());
    for (QAction* action : m_ofLayers)
        action->setEnabled(isOpen && !layers().empty());
    m_bypass->setEnabled(isOpen && !layers().empty());
}

std::set<int> MaskActions::layers() const {
    std::set<int> layers;
    for (HeadId head : m_selection->heads())
        layers.insert(head.layer);
    // A menu on the label of a layer without selected heads acts on this layer only.
    if (m_layer && !layers.contains(*m_layer))
        return {*m_layer};
    return layers;
}

std::set<HeadId> MaskActions::headsOf(const std::set<int>& layers) const {
    std::set<HeadId> heads;
    for (int layer : layers)
        for (int head = 0; head < static_cast<int>(m_masks->mask().layer(layer).heads.size()); ++head)
            heads.insert({layer, head});
    return heads;
}

/// All heads whose index equals that of a selected head, in all layers.
std::set<HeadId> MaskActions::columns() const {
    std::set<int> numbers;
    for (HeadId head : m_selection->heads())
        numbers.insert(head.head);
    std::set<HeadId> heads;
    for (int layer = 0; layer < m_masks->mask().layerCount(); ++layer)
        for (int number : numbers)
            if (number < static_cast<int>(m_masks->mask().layer(layer).heads.size()))
                heads.insert({layer, number});
    return heads;
}

void MaskActions::cutOrRestore(const std::set<HeadId>& heads) {
    m_masks->setHeadsCut(heads, wouldCut(*m_masks, heads));
}

void MaskActions::growToGroups() {
    std::set<HeadId> heads = m_selection->heads();
    for (HeadId head : m_selection->heads()) {
        const LayerSpec& layer = m_masks->spec().layers[static_cast<std::size_t>(head.layer)];
        for (int other = 0; other < layer.heads; ++other)
            if (layer.kvGroup(other) == layer.kvGroup(head.head))
                heads.insert({head.layer, other});
    }
    m_selection->select(heads, Selection::Mode::replace);
}

void MaskActions::protectHeads() {
    Protection units = m_masks->isProtected();
    const std::set<HeadId>& heads = m_selection->heads();
    const bool release = std::ranges::all_of(heads, [&](HeadId head) { return units.has(head); });
    for (HeadId head : heads) {
        if (release)
            units.releaseHead(m_masks->spec(), head);
        else
            units.protectHead(m_masks->spec(), head);
    }
    const QString count = heads.size() == 1 ? tr("a head") : tr("%1 heads").arg(heads.size());
    m_masks->setProtected(units, release ? tr("Unprotect %1").arg(count) : tr("Protect %1").arg(count));
}

void MaskActions::protectLayers() {
    Protection units = m_masks->isProtected();
    const std::set<int> chosen = layers();
    const bool release = std::ranges::all_of(chosen, [&](int layer) { return units.layers.contains(layer); });
    for (int layer : chosen) {
        if (release)
            units.releaseLayer(m_masks->spec(), layer);
        else
            units.protectLayer(m_masks->spec(), layer);
    }
    const QString count = chosen.size() == 1 ? tr("a layer") : tr("%1 layers").arg(chosen.size());
    m_masks->setProtected(units, release ? tr("Unprotect %1").arg(count) : tr("Protect %1").arg(count));
}

void MaskActions::askForAlpha() {
    auto* popup = new QFrame(m_picture, Qt::Popup);
    popup->setAttribute(Qt::WA_DeleteOnClose);
    popup->setFrameShape(QFrame::StyledPanel);
    popup->setObjectName("alpha");
    auto* alpha = new QDoubleSpinBox;
    alpha->setRange(0, mostAlpha);
    alpha->setSingleStep(0.05);
    alpha->setDecimals(3);
    alpha->setValue(0.3);
    alpha->setAccessibleName(tr("Alpha of the bypass"));
    alpha->setToolTip(tr("Factor on the output of the attention sublayer, in which each token attends to itself only"));
    auto* label = new QLabel(tr("α"));
    label->setBuddy(alpha);
    auto* button = new QPushButton(tr("Bypass Q/K"));
    button->setToolTip(tr("Bypasses Q/K of the selected layers with this alpha (Enter)"));
    auto* row = new QHBoxLayout(popup);
    for (QWidget* part : {static_cast<QWidget*>(label), static_cast<QWidget*>(alpha), static_cast<QWidget*>(button)})
        row->addWidget(part);
    connect(button, &QPushButton::clicked, popup, [this, popup, alpha, chosen = layers()] {
        m_masks->setAttention(chosen, AttentionCut::bypassQk, alpha->value());
        popup->close();
    });
    auto* enter = new QAction(popup);
    enter->setShortcuts({Qt::Key_Return, Qt::Key_Enter});
    popup->addAction(enter);
    connect(enter, &QAction::triggered, button, &QPushButton::click);
    const QPoint pointer = QCursor::pos();
    const QRect picture(m_picture->mapToGlobal(QPoint()), m_picture->size());
    popup->move(picture.contains(pointer) ? pointer : picture.center());
    popup->show();
    alpha->setFocus();
    alpha->selectAll();
}

// ---- shears

bool wouldCut(const MaskEditor& masks, const std::set<HeadId>& heads) {
    const auto isOpen = [&](HeadId head) { return !masks.isCut(head) && !masks.isProtected().has(head); };
    return std::ranges::any_of(heads, isOpen) ||
           std::ranges::none_of(heads, [&](HeadId head) { return masks.isCut(head); });
}

void HeadsShears::begin(const std::set<HeadId>& heads) {
    m_painted.clear();
    m_cut = wouldCut(*m_masks, heads);
    paint(heads);
}

void HeadsShears::paint(const std::set<HeadId>& heads) {
    m_painted.insert(heads.begin(), heads.end());
    m_masks->setPreview(m_masks->withHeads(m_masks->mask(), m_painted, m_cut));
}

void HeadsShears::apply() {
    const std::set<HeadId> painted = std::exchange(m_painted, {});
    m_masks->setPreview({});
    m_masks->setHeadsCut(painted, m_cut);
}

void HeadsShears::cancel() {
    m_painted.clear();
    m_masks->setPreview({});
}

const QCursor& shearsCursor() {
    static const QCursor cursor = [] {
        constexpr int side = 24;
        constexpr int scale = 2;
        QPixmap picture(side * scale, side * scale);
        picture.setDevicePixelRatio(scale);
        picture.fill(Qt::transparent);
        QPainterPath shears;
        shears.moveTo(2, 2);
        shears.lineTo(15, 14);
        shears.moveTo(6, 1);
        shears.lineTo(11, 15);
        shears.addEllipse(QPointF(18, 17), 3.2, 3.2);
        shears.addEllipse(QPointF(12, 19), 3.2, 3.2);
        QPainter painter(&picture);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.strokePath(shears, QPen(Qt::white, 4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.strokePath(shears, QPen(Qt::black, 2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.end();
        return QCursor(picture, 2, 2);
    }();
    return cursor;
}

} // namespace secateur
