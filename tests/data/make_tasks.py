"""Writes expected_tasks.json: lm-eval's score of every option of real tasks, computed with the demo model.

    python make_tasks.py MODEL.gguf TASKS_FOLDER

Needs lm-eval, transformers and gguf; works offline. The file has the line numbers of the questions and not their text.
"""
import json
import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
import lm_eval
import torch
import transformers
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

MMLU_SUBJECTS = [0, 28]
MMLU_LINES = 12  # number of questions from each subject


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def chosen(folder):
    """Returns name -> (rows, fields of the YAML file, lines in the original file, few-shot rows)."""
    piqa = rows(f"{folder}/piqa/valid.jsonl")
    labels = [int(line) for line in open(f"{folder}/piqa/valid-labels.lst")]
    piqa = [dict(row, label=label) for row, label in zip(piqa, labels)]
    generic = {"doc_to_text": "{{query}}", "doc_to_choice": "{{choices}}", "doc_to_target": "gold"}
    tasks = {
        "piqa": (piqa[:100], {"doc_to_text": "Question: {{goal}}\nAnswer:", "doc_to_target": "label",
                              "doc_to_choice": "{{[sol1, sol2]}}"}, range(1, 101), None),
        "arc_easy": (rows(f"{folder}/llm-foundry/arc_easy.jsonl")[:100], generic, range(1, 101), None),
        "hellaswag": (rows(f"{folder}/hellaswag/hellaswag_val_1000.jsonl")[:10], generic, range(1, 11), None),
    }
    mmlu, shots = rows(f"{folder}/mmlu/test_first40_per_subject.jsonl"), rows(f"{folder}/mmlu/dev.jsonl")
    for index in MMLU_SUBJECTS:
        first = index * 40
        subject = mmlu[first]["subject"]
        spoken = subject.replace("_", " ")
        tasks[f"mmlu_{subject}"] = (
            mmlu[first:first + MMLU_LINES],
            {"doc_to_text": "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\n"
                            "D. {{choices[3]}}\nAnswer:",
             "doc_to_choice": ["A", "B", "C", "D"], "doc_to_target": "answer",
             "description": f"The following are multiple choice questions (with answers) about {spoken}.\n\n"},
            range(first + 1, first + 1 + MMLU_LINES), [row for row in shots if row["subject"] == subject])
    return tasks


def write_tasks(tasks, folder):
    for name, (docs, fields, _, shots) in tasks.items():
        files = {"test": f"{folder}/{name}.jsonl"}
        if shots:
            files["dev"] = f"{folder}/{name}_dev.jsonl"
        for split, content in (("test", docs), ("dev", shots)):
            if content:
                with open(files[split], "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(doc) + "\n" for doc in content)
        config = {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": files}, "test_split": "test",
                  "output_type": "multiple_choice", "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
                  **fields}
        if shots:
            config |= {"fewshot_split": "dev", "fewshot_config": {"sampler": "first_n"}, "num_fewshot": 5}
        with open(f"{folder}/{name}.yaml", "w") as file:
            json.dump(config, file)  # every JSON document is also YAML


def lambada(model, folder, count=30):
    docs = rows(f"{folder}/llm-foundry/lambada_openai.jsonl")[:count]
    from lm_eval.api.instance import Instance
    asked = [Instance("loglikelihood", doc, (doc["context"], " " + doc["continuation"]), 0) for doc in docs]
    return [[[score, greedy]] for score, greedy in model.loglikelihood(asked)]


def main(gguf, folder):
    torch.set_num_threads(2)
    place = {"pretrained_model_name_or_path": os.path.dirname(gguf), "gguf_file": os.path.basename(gguf)}
    network = transformers.AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    model = HFLM(pretrained=network, tokenizer=transformers.AutoTokenizer.from_pretrained(**place), batch_size=4)
    tasks = chosen(folder)
    result = {"lm_eval": lm_eval.__version__, "tasks": {}}
    with tempfile.TemporaryDirectory() as work:
        write_tasks(tasks, work)
        found = lm_eval.simple_evaluate(model=model, tasks=list(tasks), log_samples=True, bootstrap_iters=0,
                                        task_manager=TaskManager(include_path=work, include_defaults=False))
    for name, (_, _, lines, _) in tasks.items():
        samples = sorted(found["samples"][name], key=lambda sample: sample["doc_id"])
        scores = found["results"][name]
        result["tasks"][name] = {
            "acc": scores["acc,none"], "acc_norm": scores["acc_norm,none"], "lines": [lines[0], lines[-1]],
            "right": [int(sample["acc"]) for sample in samples],
            "right_norm": [int(sample["acc_norm"]) for sample in samples],
            "scores": [[round(float(answer[0]), 5) for answer in sample["filtered_resps"]] for sample in samples]}
    last = lambada(model, folder)
    result["tasks"]["lambada"] = {
        "lines": [1, len(last)], "right": [int(options[0][1]) for options in last],
        "scores": [[round(float(options[0][0]), 5)] for options in last]}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected_tasks.json"), "w") as file:
        file.write("{\"lm_eval\": \"%s\", \"tasks\": {\n" % result["lm_eval"])
        file.write(",\n".join(f" \"{name}\": {json.dumps(task)}" for name, task in result["tasks"].items()))
        file.write("\n}}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
