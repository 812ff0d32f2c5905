#include "analysis/gallery/paper.h"

#include "analysis/base/known_ids.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/paper_rows.h"

#include <algorithm>
#include <array>

namespace secateur {

namespace {

/// A paper with the functions that list its figures and its recipe.
struct PaperRow {
    Paper paper;
    std::span<const FigureInfo> (&figures)();
    std::vector<RecipeStep> (&steps)(const RecipeChoice&, const Session&);
};

constexpr std::array rows{
    PaperRow{{"gate_norm", "Gate-Norm", "Data-free attention pruning by the norm of the gate"},
             gateNormFigures,
             gateNormSteps},
    PaperRow{{"greedy_gnorm", "Greedy-Gnorm", "Greedy head pruning by gradient norms"},
             greedyGnormFigures,
             greedyGnormSteps},
    PaperRow{{"amp", "AMP", "Attention heads and MLP neurons pruned by activations"}, ampFigures, ampSteps},
    PaperRow{{"bos", "BOS sinks", "Heads and layers pruned by BOS sink scores"}, bosFigures, bosSteps},
    PaperRow{{"harp", "HARP", "Bypassed queries and keys with rescaled values"}, harpFigures, harpSteps},
};

const PaperRow& rowOf(std::string_view id) {
    const auto* found = std::ranges::find(rows, id, [](const PaperRow& row) { return row.paper.id; });
    if (found == rows.end())
        refuseUnknown("paper", id, idsOf(allPapers()));
    return *found;
}

} // namespace

std::span<const Paper> allPapers() {
    static const std::vector<Paper> papers = [] {
        std::vector<Paper> all;
        for (const PaperRow& row : rows)
            all.push_back(row.paper);
        return all;
    }();
    return papers;
}

const Paper& paper(std::string_view id) {
    return rowOf(id).paper;
}

std::span<const std::string_view> recipeFiles() {
    static constexpr auto names = std::to_array<std::string_view>(
        {"wiki.test.raw",     "wiki.train.raw",    "boolq.jsonl",    "rte.jsonl",
         "hellaswag.jsonl",   "winogrande.jsonl",  "arc_easy.jsonl", "arc_challenge.jsonl",
         "openbook_qa.jsonl", "piqa.jsonl",        "mmlu",           "alpaca.json",
         "holdout.txt",       "test.jsonl", // of a classifier: to calibrate on, and to score
         "nq_open.jsonl",     "triviaqa.jsonl",    "gsm8k.jsonl",    "math_hard.jsonl",
         "bbh_cot.jsonl",     "narrativeqa.jsonl", "qasper.jsonl",   "multifieldqa_en.jsonl",
         "hotpotqa.jsonl",    "2wikimqa.jsonl",    "musique.jsonl",  "longbench_triviaqa.jsonl"});
    return names;
}

std::vector<const FigureInfo*> itemsOf(const Paper& paper) {
    std::vector<const FigureInfo*> items;
    for (const FigureInfo& figure : allFigures())
        if (figure.item && figure.item->paper == paper.id)
            items.push_back(&figure);
    return items;
}

std::vector<RecipeStep> recipeSteps(const Paper& paper, const RecipeChoice& choice, const Session& session) {
    return rowOf(paper.id).steps(choice, session);
}

} // namespace secateur
