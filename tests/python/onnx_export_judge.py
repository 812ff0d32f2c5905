"""Compares ONNX exports of encoders with transformers.

    python onnx_export_judge.py SECATEUR_CLI MODEL... [--masks 40] [--seed 1] [--engine DIR]

For each model folder, draws masks of all kinds with and without a compensation, exports them with `secateur-cli
export --as onnx`, checks the file with onnx.checker (with shape inference), runs it in ONNX Runtime and prints the
largest difference from the model of transformers whose modules are changed alike (masked_encoders.py). The batch has
rows padded on the right; another one, without padding, has another length. RoBERTa and BERT are also run with padding
on the left. With --engine, also compares with outputs that `tests_backends onnx` wrote (SECATEUR_ONNX_JUDGE=DIR).

Needs torch, transformers, safetensors, onnx and onnxruntime. ctest does not run it. Exit status 1 = a difference is
larger than 1e-4 of the largest output, or a file is refused.
"""

import argparse
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
import safetensors.torch
import torch
import transformers

import masked_encoders

TOLERANCE = 1e-4
KINDS = ("heads", "all heads", "neurons", "all neurons", "attention", "mlp", "block", "bypass", "bypass with heads",
         "nothing", "everything")


def draw_layer(kind, rng, heads, neurons):
    some_heads = sorted(rng.sample(range(heads), rng.randint(1, heads - 1))) if heads > 1 else []
    some_neurons = sorted(rng.sample(range(neurons), rng.randint(1, neurons - 1)))
    alpha = round(rng.uniform(0.1, 1.9), 3)
    return {"heads": {"heads_cut": some_heads}, "all heads": {"heads_cut": list(range(heads))},
            "neurons": {"neurons_cut": some_neurons}, "all neurons": {"neurons_cut": list(range(neurons))},
            "attention": {"attention": "drop"}, "mlp": {"mlp": "drop"}, "block": {"block": "drop"},
            "bypass": {"attention": "bypass_qk", "alpha": alpha},
            "bypass with heads": {"attention": "bypass_qk", "alpha": alpha, "heads_cut": some_heads},
            "nothing": {}, "everything": {"heads_cut": some_heads, "neurons_cut": some_neurons}}[kind]


def draw_mask(rng, layers, heads, neurons, first):
    """A mask whose first layer has the kind `first`, so that all kinds occur."""
    kinds = [first] + [rng.choice(KINDS) for _ in range(layers - 1)]
    drawn = {index: draw_layer(kind, rng, heads, neurons) for index, kind in enumerate(kinds)}
    return {index: layer for index, layer in drawn.items() if layer}


def draw_compensation(rng, mask, layers, heads, neurons, hidden):
    """Factors of kept units and biases of kept sublayers. Others would have no effect, and Secateur removes them."""
    random_numbers = torch.Generator().manual_seed(rng.randrange(1 << 30))
    uniform = lambda count, low, high: torch.rand(count, generator=random_numbers) * (high - low) + low
    vectors = {}
    for index in range(layers):
        layer = mask.get(index, {})
        if layer.get("block") == "drop":
            continue
        if layer.get("attention") != "drop":
            vectors[f"layers.{index}.attention_bias"] = uniform(hidden, -0.5, 0.5)
            vectors[f"layers.{index}.head_scale"] = uniform(heads, 0.5, 1.5)
        if layer.get("mlp") != "drop":
            vectors[f"layers.{index}.mlp_bias"] = uniform(hidden, -0.5, 0.5)
            vectors[f"layers.{index}.neuron_scale"] = uniform(neurons, 0.5, 1.5)
    return vectors


def ranges(units):
    return [[unit, unit] for unit in units]


def write_mask(path, mask, vectors, architecture, structure):
    link = None
    if vectors:
        name = path.name.replace(".mask.json", ".compensation.safetensors")
        data = safetensors.torch.save(vectors, {"format": "secateur_compensation"})
        (path.parent / name).write_bytes(data)
        link = {"file": name, "sha256": hashlib.sha256(data).hexdigest(), "mode": "both"}
    layers = [{"layer": index, **{key: ranges(value) if key == "neurons_cut" else value
                                  for key, value in layer.items()}} for index, layer in sorted(mask.items())]
    path.write_text(json.dumps({"secateur_mask": 1, "model": {"name": None, "architecture": architecture,
                                                              "structure": structure, "fingerprint": None},
                                "layers": layers, "compensation": link, "note": "", "provenance": None}))


def call(cli, *arguments):
    done = subprocess.run([cli, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stdout or done.stderr}")
    return json.loads(done.stdout)


def batches(config, rng):
    """(name, ids, attention mask, token types). Padding has the padding token, by which RoBERTa knows positions."""
    roberta = "roberta" in config.model_type
    most = min(config.max_position_embeddings - (config.pad_token_id + 1 if roberta else 0), 40)
    tokens = [token for token in range(config.vocab_size) if token != config.pad_token_id]
    row = lambda length: [rng.choice(tokens) for _ in range(length)]
    types = lambda rows: [[rng.randrange(config.type_vocab_size) for _ in one] for one in rows]
    whole = [row(most) for _ in range(2)]
    yield "whole", whole, [[1] * most for _ in whole], types(whole)
    lengths = [most - 1, max(1, most // 2), 1]
    for side in ("right", "left"):
        rows, visible = [], []
        for length in lengths:
            padding, own = [config.pad_token_id] * (most - 1 - length), row(length)
            rows.append(own + padding if side == "right" else padding + own)
            mask = [1] * length + [0] * len(padding)
            visible.append(mask if side == "right" else mask[::-1])
        yield side, rows, visible, types(rows)


def load(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    labelled = any("SequenceClassification" in name for name in config.architectures or [])
    kind = transformers.AutoModelForSequenceClassification if labelled else transformers.AutoModel
    return kind.from_pretrained(folder, dtype=torch.float32).eval()


def outputs_of(model, batch):
    ids, visible, types = (torch.tensor(one) for one in batch)
    arguments = dict(input_ids=ids, attention_mask=visible, token_type_ids=types)
    with torch.no_grad():
        found = model(**arguments)
    if "logits" in found:
        return {"logits": found.logits.numpy()}
    made = {"last_hidden_state": found.last_hidden_state.numpy()}
    if found.get("pooler_output") is not None:
        made["pooler_output"] = found.pooler_output.numpy()
    return made


def run_onnx(path, batch):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    inputs = dict(zip(("input_ids", "attention_mask", "token_type_ids"), (numpy.array(b, numpy.int64) for b in batch)))
    return dict(zip(names, session.run(names, inputs)))


def difference(expected, found, visible):
    """The largest difference relative to the largest output; padding does not count."""
    if expected.keys() != found.keys():
        raise RuntimeError(f"outputs {sorted(found)} instead of {sorted(expected)}")
    worst = 0.0
    for name, one in expected.items():
        other, seen = found[name], numpy.array(visible, bool)
        if one.shape != other.shape:
            raise RuntimeError(f"{name} has the shape {other.shape} instead of {one.shape}")
        if name == "last_hidden_state":
            one, other = one[seen], other[seen]
        worst = max(worst, float(numpy.abs(one - other).max() / numpy.abs(one).max()))
    return worst if numpy.isfinite(worst) else float("inf")


def judge_model(cli, folder, masks, seed):
    rng = random.Random(seed)
    card = call(cli, "inspect", folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    dense = load(folder)
    stored = len(masked_encoders.layers_of(dense))
    sizes = (stored, config.num_attention_heads, config.intermediate_size)
    card = card.get("model", card)
    worst = {}
    changed = 0
    smallest = None
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for turn in range(masks):
            mask = draw_mask(rng, *sizes, KINDS[turn % len(KINDS)])
            vectors = draw_compensation(rng, mask, *sizes, config.hidden_size) if turn % 2 else {}
            path = scratch / f"{turn}.mask.json"
            write_mask(path, mask, vectors, card["architecture"], card["structure"])
            out = scratch / str(turn)
            result = call(cli, "export", folder, "--mask", path, "--as", "onnx", "--out", out)
            assert result["verified"] is None and "Not verified" in (out / "README.md").read_text()
            onnx.checker.check_model(str(out / "model.onnx"), full_check=True)
            size = (out / "model.onnx").stat().st_size
            smallest = size if smallest is None else min(smallest, size)
            model = load(folder)
            masked_encoders.apply_mask(model, mask, vectors)
            for name, *batch in batches(config, rng):
                expected = outputs_of(model, batch)
                changed += name == "whole" and difference(outputs_of(dense, batch), expected, batch[1]) > 100 * TOLERANCE
                one = difference(expected, run_onnx(out / "model.onnx", batch), batch[1])
                worst[name] = max(worst.get(name, 0), one)
                if one > TOLERANCE:
                    print(f"  mask {turn} on {name}: {one:.2e} {mask}")
    figures = ", ".join(f"{name} {value:.1e}" for name, value in worst.items())
    print(f"{folder}: {masks} masks, of which {changed} change the outputs, largest relative difference {figures}; smallest file {smallest} bytes")
    return max(worst.values()) <= TOLERANCE


def judge_engine(folder):
    """Compares ONNX Runtime with the outputs that the engine computed."""
    worst = 0.0
    cases = sorted(folder.glob("*.engine.json"))
    for case in cases:
        expected = json.loads(case.read_text())
        batch = [expected["input_ids"], expected["attention_mask"], expected["token_type_ids"]]
        found = run_onnx(folder / expected["model"], batch)
        wanted = {name: numpy.array(values, numpy.float32) for name, values in expected["outputs"].items()}
        worst = max(worst, difference(wanted, {name: found[name] for name in wanted}, batch[1]))
    print(f"{folder}: {len(cases)} outputs of the engine, largest relative difference {worst:.1e}")
    return bool(cases) and worst <= TOLERANCE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--masks", type=int, default=44)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", type=pathlib.Path)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    onnxruntime.set_default_logger_severity(3)
    passed = [judge_model(arguments.cli, folder, arguments.masks, arguments.seed) for folder in arguments.models]
    if arguments.engine:
        passed.append(judge_engine(arguments.engine))
    sys.exit(0 if passed and all(passed) else 1)


if __name__ == "__main__":
    main()
