"""Writes tests/data/tasks: some rows of every task format, in each kind of file, with the prompts that lm-eval's
templates make of them; and the tokens into which lm-eval splits contexts and continuations.

    python make_task_prompts.py

Needs lm-eval and tokenizers.
"""
import importlib.util
import json
import os

import lm_eval
import tokenizers
import yaml
from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.utils import apply_template

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "tasks")
TASKS = os.path.join(os.path.dirname(lm_eval.__file__), "tasks")


class Loader(yaml.SafeLoader):
    """Reads the YAML file of a task. A `!function` is read as its name, because this script calls the functions itself.
    """


Loader.add_constructor("!function", lambda loader, node: node.value)


def template(path):
    with open(os.path.join(TASKS, path)) as file:
        return yaml.load(file, Loader)


def module(path):
    spec = importlib.util.spec_from_file_location("harness", os.path.join(TASKS, path))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def rendered(task, doc):
    """Returns (contexts, choices) that the templates of the task give for a row."""
    choices = task["doc_to_choice"]
    if isinstance(choices, str):
        # The template yields a Python list as text.
        choices = doc[choices] if choices in doc else eval(apply_template(choices, doc))
    text = task["doc_to_text"]
    context = doc[text] if text in doc else apply_template(text, doc)
    return [context] * len(choices), choices


def question(contexts, choices, gold, **more):
    return {"contexts": contexts, "continuations": [" " + choice for choice in choices], "gold": gold,
            "code_points": [len(choice) for choice in choices],
            "bytes": [len(choice.encode()) for choice in choices], **more}


def boolq():
    task = template("super_glue/boolq/default.yaml")
    passage = {"passage": "Küstenseeschwalben ziehen weit.  They fly from pole to pole.", "question": "do terns fly far"}
    other = {"passage": "Salt {{is}} salty.", "question": "is salt sweet"}
    for row, doc, gold in [({**passage, "label": 1}, passage, 1), ({**other, "label": 0}, other, 0),
                           ({**passage, "title": "Tern", "answer": True}, passage, 1),
                           ({**other, "answer": False}, other, 0)]:
        yield row, question(*rendered(task, doc), gold)


def rte():
    glue, super_glue = template("glue/rte/default.yaml"), template("super_glue/rte/default.yaml")
    first = {"sentence1": "A dog ran.", "sentence2": "An animal moved."}
    second = {"premise": "A dog ran.", "hypothesis": "A cat ran."}
    for row, task, gold in [({**first, "label": 0}, glue, 0), ({**first, "label": 1, "idx": 3}, glue, 1),
                            ({**second, "label": "entailment"}, super_glue, 0),
                            ({**second, "label": "not_entailment"}, super_glue, 1)]:
        choices = ["True", "False"]
        text = task["doc_to_text"]
        yield row, question([apply_template(text, row)] * 2, choices, gold)


def hellaswag():
    pre = module("hellaswag/utils.py").preprocess
    rows = [
        {"activity_label": "Roof shingle removal", "ctx_a": "A man is sitting on a roof.", "ctx_b": "he ÄNDERT NASA's tiles",
         "endings": ["is using wrap.", "is ripping level tiles off.", "holds a rubik's cube.", "starts pulling up roofing [substeps] now."],
         "label": "3", "ind": 24},
        {"activity_label": "Health [x", "ctx_a": " [header] How to rest [title] Sit  down.   [step] Breathe", "ctx_b": "",
         "endings": [" [title] Lie down.  ", "[substeps] Sleep", "Run [not\nclosed] on", "a [b [c] d] e    f"], "label": 1},
        {"activity_label": "Sigma", "ctx_a": "Look:", "ctx_b": "ὈΔΥΣΣΕΎΣ ßECOMES ΣΑΣ",
         "endings": ["ß", "漢字", "e\u0301", "🙂!"], "label": 0},
        {"activity_label": "ssharp", "ctx_a": "x", "ctx_b": "ßtart ǆ İX", "endings": ["a", "b", "c", "d"], "label": "2"},
    ]
    for row in rows:
        context = row["ctx_a"] + " " + row["ctx_b"].capitalize()
        query = pre(row["activity_label"] + ": " + context)
        yield row, question([query] * 4, [pre(ending) for ending in row["endings"]], int(row["label"]))


def winogrande():
    harness = module("winogrande/preprocess_winogrande.py")
    for row in [
        {"qID": "a", "sentence": "The cup did not fit the box because the _ was too large.", "option1": "cup", "option2": "box", "answer": "1"},
        {"sentence": "_ thanked Eve,  since Ann was kind .", "option1": "Eve", "option2": "Zoë", "answer": "2"},
        {"sentence": "He likes the _", "option1": "sea", "option2": "sun", "answer": 2},
    ]:
        numbered = {**row, "answer": str(row["answer"])}
        end = harness.doc_to_target(numbered)
        made = question(harness.doc_to_choice(numbered), [end] * 2, harness.doc_to_text(numbered))
        yield row, made


def school(path, stem, rows):
    task = template(path)
    for labels, texts, key, text in rows:
        doc = {stem: text, "choices": {"text": texts, "label": labels}, "answerKey": key}
        made = question(*rendered(task, doc), labels.index(key.strip()))
        yield {"id": "q", **doc}, made
        nested = [{"text": choice, "label": label} for choice, label in zip(texts, labels)]
        yield {"id": "q", "question": {"stem": text, "choices": nested}, "answerKey": key}, made


def arc():
    return school("arc/arc_easy.yaml", "question", [
        (["A", "B", "C", "D"], ["heat", "light", "sound", "mass"], "B", "What do plants need? "),
        (["1", "2", "3"], ["für", "two words", "x"], "3", "Which?")])


def openbookqa():
    return school("openbookqa/openbookqa.yaml", "question_stem", [
        (["A", "B", "C", "D"], ["Deep sea animals", "fish", "Long Sea Fish", "Far Sea Animals"], " C", "Predators eat"),
        (["A", "B", "C", "D"], ["a", "b", "c", "d"], "D", "The sun is the source of")])


def piqa():
    task = template("piqa/piqa.yaml")
    for row in [{"goal": "dresser", "sol1": "replace drawer with bobby pin ", "sol2": "finish, woodgrain", "label": 1},
                {"goal": "Wie öffnet man\nein Glas?", "sol1": "Drehen", "sol2": "Drücken", "label": 0}]:
        yield row, question(*rendered(task, row), row["label"])


def mmlu():
    task = template("mmlu/default/_default_template_yaml")
    said = {"abstract_algebra": template("mmlu/default/mmlu_abstract_algebra.yaml")["description"],
            "high_school_us_history": template("mmlu/default/mmlu_high_school_us_history.yaml")["description"]}
    for row in [{"subject": "abstract_algebra", "question": " Find c.\n", "choices": ["0", "1", "2", "3"], "answer": 1},
                {"subject": "high_school_us_history", "question": "Who?", "choices": ["A man", "Ägypter", "no one", "all"], "answer": 3},
                {"subject": "abstract_algebra", "question": "Order of S_3?", "choices": ["3", "6", "9", "12"], "answer": "B"}]:
        contexts, _ = rendered({**task, "doc_to_choice": ["A", "B", "C", "D"]}, row)
        gold = "ABCD".index(row["answer"]) if isinstance(row["answer"], str) else row["answer"]
        yield row, question(contexts, ["A", "B", "C", "D"], gold, subject=row["subject"], description=said[row["subject"]])


def generic():
    yield {"query": "Q: 1+1?\nA:", "choices": ["two", "drei"], "gold": 0}, question(["Q: 1+1?\nA:"] * 2, ["two", "drei"], 0)
    yield ({"context_options": ["Ann", "Eve and"], "continuation": "left.", "gold": 1},
           question(["Ann", "Eve and"], ["left."] * 2, 1))


def lambada():
    yield {"context": "He saw the", "continuation": "sea"}, question(["He saw the"], ["sea"], 0)


FORMATS = [boolq, rte, hellaswag, winogrande, arc, openbookqa, piqa, mmlu, generic, lambada]


class Harness(TemplateLM):
    """Gives access to lm-eval's tokenisation of contexts and continuations with a tokenizer.json."""
    backend = "causal"

    def __init__(self, path, bos):
        super().__init__()
        self.tokenizer = tokenizers.Tokenizer.from_file(path)
        self.bos = bos

    @property
    def eot_token_id(self):
        return self.tokenizer.token_to_id(self.bos)

    def tok_encode(self, string, add_special_tokens=True, **_):
        return self.tokenizer.encode(string, add_special_tokens=add_special_tokens).ids

    def _loglikelihood_tokens(self, requests, **_):
        return [(context, continuation) for _, context, continuation in requests]

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError

    def generate_until(self, requests, **_):
        raise NotImplementedError


PAIRS = [("The cat sat on", " the mat"), ("a blank at the end ", "word"), ("several \n ", " more"), ("Answer:", " A"),
         ("wor", "d and word"), ("", " alone"), ("", "starts"), ("naïve ca", "fé 漢字"), ("wide blank\u3000\u00a0", "x"),
         ("line\n\n", "next"), ("12", "34 567"), ("He said \"", "no\""), ("x\u200b", " y"), ("end.\x1f ", "z"),
         ("a long context that will be cut on its left side, since the model sees little", " of it")]
MOST = 12


def encoded(name, bos):
    harness = Harness(os.path.join(HERE, "tokenizers", name, "tokenizer.json"), bos)
    asked = [Instance("loglikelihood", {}, pair, 0) for pair in PAIRS + [("", bos + " begins")]]
    cases = []
    for instance, (context, continuation) in zip(asked, harness.loglikelihood(asked, disable_tqdm=True)):
        cut = (context + continuation)[-(MOST + 1):]
        cases.append({"context": instance.args[0], "continuation": instance.args[1], "ids": context + continuation,
                      "scored": len(continuation), "cut": cut if len(continuation) <= MOST else None})
    return {"tokenizer": name, "bos": bos, "most": MOST, "cases": cases}


def main():
    os.makedirs(OUT, exist_ok=True)
    expected = {}
    for rows in FORMATS:
        pairs = list(rows())
        with open(os.path.join(OUT, rows.__name__ + ".jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row, _ in pairs)
        expected[rows.__name__] = [made for _, made in pairs]
    with open(os.path.join(OUT, "prompts.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file, ensure_ascii=False, indent=1)
    with open(os.path.join(OUT, "tokens.json"), "w", encoding="utf-8") as file:
        sets = [encoded("byte-level", "<|begin|>"), encoded("byte-fallback", "<s>")]
        file.write("[" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in sets) + "]\n")


if __name__ == "__main__":
    main()
