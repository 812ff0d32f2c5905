#!/usr/bin/env python3
"""Tests of resources/export/modeling_secateur.py with the installed version of transformers.

    python test_modeling_secateur.py        prints the differences that it measures

Needs torch, transformers (4.56 or later) and safetensors. Tests that need more (transformers 5 with gguf and numpy, or
peft) are skipped without it. The models and expected logits are those of tests/data/make_ragged_fixtures.py.
"""

import copy
import importlib.util
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

os.environ["HF_MODULES_CACHE"] = tempfile.mkdtemp()

import torch
import transformers as tf
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
CODE = ROOT / "resources" / "export" / "modeling_secateur.py"
NAMES = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3")
CLASSES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "gemma2": "Gemma2",
           "gemma3": "Gemma3"}
TOLERANCE = 1e-5  # relative to the largest logit; float32 against float64 differs by up to 3e-6
MODERN = int(tf.__version__.partition(".")[0]) >= 5

tf.logging.set_verbosity_error()
tf.utils.logging.disable_progress_bar()


def implementations(name):
    return ("eager",) if name == "gemma2" else ("eager", "sdpa")  # sdpa has no softcap


def make_checkpoint(name, folder, source=None):
    """A copy of a fixture with the file of own code and the model type that names it."""
    target = pathlib.Path(folder) / f"checkpoint_{name}"
    shutil.copytree(source or DATA / "ragged" / name, target)
    shutil.copy(CODE, target)
    config = json.loads((target / "config.json").read_text())
    kind = CLASSES[name]
    config |= {"model_type": f"secateur_{name}", "architectures": [f"Secateur{kind}ForCausalLM"],
               "auto_map": {"AutoConfig": f"modeling_secateur.Secateur{kind}Config",
                            "AutoModelForCausalLM": f"modeling_secateur.Secateur{kind}ForCausalLM"}}
    (target / "config.json").write_text(json.dumps(config))
    return target


def change_config(checkpoint, change):
    config = json.loads((checkpoint / "config.json").read_text())
    change(config)
    (checkpoint / "config.json").write_text(json.dumps(config))


def opened(path, implementation="eager", **more):
    model, found = tf.AutoModelForCausalLM.from_pretrained(path, trust_remote_code=True, output_loading_info=True,
                                                           attn_implementation=implementation, **more)
    assert not any(found[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), found
    return model.float().eval()


def apart(found, expected):
    return ((found - expected).abs().max() / expected.abs().max()).item()


def visible(lengths, width):
    return (torch.arange(width)[None] < lengths[:, None]).long()


def on_the_left(ids, lengths):
    """The rows with their padding on the left, and the mask."""
    moved, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, length in enumerate(lengths.tolist()):
        moved[row, ids.shape[1] - length:] = ids[row, :length]
        mask[row, ids.shape[1] - length:] = 1
    return moved, mask


def for_each_model(test):
    """Runs a test for each checkpoint with each implementation of attention."""
    def run(self):
        for name in NAMES:
            for implementation in implementations(name):
                with self.subTest(name=name, attention=implementation):
                    test(self, name, opened(self.paths[name], implementation), self.expected[name])
    return run


class Checkpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.paths = {name: make_checkpoint(name, cls.folder.name) for name in NAMES}
        cls.expected = {name: load_file(path / "expected.safetensors") for name, path in cls.paths.items()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def close(self, what, found, expected):
        error = apart(found, expected)
        print(f"    {what}: {error:.1e}")
        self.assertLess(error, TOLERANCE)


class Logits(Checkpoints):
    @for_each_model
    def test_logits_are_those_of_the_dense_model_without_the_cut_parts(self, name, model, expected):
        mask = visible(expected["lengths"], expected["ids"].shape[1])
        with torch.no_grad():
            logits = model(input_ids=expected["ids"], attention_mask=mask).logits * mask[..., None]
        self.close(f"{name} {model.config._attn_implementation}", logits, expected["logits"])

    @for_each_model
    def test_padding_on_the_left_changes_nothing(self, name, model, expected):
        ids, mask = on_the_left(expected["ids"], expected["lengths"])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        with torch.no_grad():
            logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
        for row, length in enumerate(expected["lengths"].tolist()):
            self.close(f"{name} {model.config._attn_implementation} row {row}", logits[row, -length:],
                       expected["logits"][row, :length])

    def test_a_change_of_the_attention_implementation_reaches_every_layer(self):
        model = opened(self.paths["qwen3"], "sdpa")
        model.set_attn_implementation("eager")
        for module in model.model.layers.modules():
            if hasattr(module, "config"):
                self.assertEqual(module.config._attn_implementation, "eager")

    @for_each_model
    def test_a_copy_is_equal(self, name, model, expected):
        twin = copy.deepcopy(model)
        with torch.no_grad():
            self.assertEqual(apart(twin(expected["ids"]).logits, model(expected["ids"]).logits), 0)

    def test_hidden_states_and_attention_maps_are_returned(self):
        model = opened(self.paths["mistral"])
        with torch.no_grad():
            out = model(self.expected["mistral"]["ids"], output_hidden_states=True, output_attentions=True)
        self.assertEqual(len(out.hidden_states), 5)
        self.assertEqual([maps.shape[1] for maps in out.attentions if maps is not None], [2, 2])


class Cache(Checkpoints):
    @for_each_model
    def test_a_continued_cache_gives_the_logits_of_the_whole_text(self, name, model, expected):
        ids, mask = on_the_left(expected["ids"], expected["lengths"])
        positions, cache, pieces = (mask.cumsum(-1) - 1).clamp(min=0), None, []
        with torch.no_grad():
            whole = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
            for begin, end in ((0, 5), (5, 6), (6, 9), (9, 10), (10, 11)):
                out = model(input_ids=ids[:, begin:end], attention_mask=mask[:, :end], past_key_values=cache,
                            position_ids=positions[:, begin:end], use_cache=True)
                cache = out.past_key_values
                pieces.append(out.logits)
        self.assertEqual(len(cache.layers), 2)
        self.assertEqual(cache.get_seq_length(), 11)
        self.close(f"{name} {model.config._attn_implementation}", torch.cat(pieces, 1) * mask[..., None],
                   whole * mask[..., None])

    @for_each_model
    def test_a_cache_without_a_configuration_works(self, name, model, expected):
        ids, cache, pieces = expected["ids"][:1], tf.DynamicCache(), []
        with torch.no_grad():
            whole = model(input_ids=ids, use_cache=False).logits
            for token in range(ids.shape[1]):
                pieces.append(model(input_ids=ids[:, token:token + 1], past_key_values=cache, use_cache=True).logits)
        self.close(f"{name} {model.config._attn_implementation}", torch.cat(pieces, 1), whole)

    @for_each_model
    def test_generated_text_is_that_without_a_cache(self, name, model, expected):
        ids, mask = on_the_left(expected["ids"], expected["lengths"])
        fixed = dict(attention_mask=mask, max_new_tokens=12, min_new_tokens=12, do_sample=False, pad_token_id=0,
                     eos_token_id=None)
        plain = model.generate(ids, use_cache=False, **fixed)
        self.assertEqual(plain.shape[1], 11 + 12)
        for settings in ({"use_cache": True}, {"cache_implementation": "static"}):
            self.assertEqual(model.generate(ids, **settings, **fixed).tolist(), plain.tolist())
        beams = [model.generate(ids, use_cache=cached, num_beams=3, **fixed) for cached in (True, False)]
        self.assertEqual(beams[0].tolist(), beams[1].tolist())


class Files(Checkpoints):
    @for_each_model
    def test_a_saved_checkpoint_opens_with_the_same_logits_and_settings(self, name, model, expected):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "saved"
            model.save_pretrained(target)
            self.assertTrue((target / CODE.name).exists())
            again = opened(target, model.config._attn_implementation)
            first, second = (json.loads((path / "config.json").read_text())
                             for path in (self.paths[name], target))
            settings = lambda config: {int(key): value for key, value in config["per_layer_config"].items()}
            self.assertEqual(settings(first), settings(second))
            self.assertEqual(first["model_type"], second["model_type"])
            self.assertEqual(set(load_file(target / "model.safetensors")),
                             set(load_file(self.paths[name] / "model.safetensors")))
            with torch.no_grad():
                self.assertEqual(apart(again(expected["ids"]).logits, model(expected["ids"]).logits), 0)

    def test_without_own_code_the_type_is_refused(self):
        for name in NAMES:
            with self.subTest(name=name), self.assertRaises((ValueError, KeyError)):
                tf.AutoModelForCausalLM.from_pretrained(self.paths[name], trust_remote_code=False)

    def test_equal_layers_need_no_settings(self):
        """A checkpoint whose layers are equal, with the head size stated."""
        with tempfile.TemporaryDirectory() as folder:
            path = make_checkpoint("mistral", folder)
            change_config(path, lambda config: config.pop("per_layer_config"))
            config = tf.AutoConfig.from_pretrained(path, trust_remote_code=True)
            model = tf.AutoModelForCausalLM.from_config(config, trust_remote_code=True)
            self.assertEqual([layer.self_attn.layer_idx for layer in model.model.layers], [0, 1, 2, 3])

    def test_a_llama_without_biases_opens_as_a_mistral_without_a_window(self):
        scaling = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 0.5, "high_freq_factor": 1.2,
                   "original_max_position_embeddings": 8}
        rotary = ({"rope_parameters": scaling | {"rope_theta": 100.0}} if MODERN else
                  {"rope_theta": 100.0, "rope_scaling": scaling})
        torch.manual_seed(1)
        config = tf.LlamaConfig(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                                intermediate_size=20, vocab_size=31, num_hidden_layers=2, max_position_embeddings=64,
                                tie_word_embeddings=True, attn_implementation="eager", **rotary)
        llama = tf.LlamaForCausalLM(config).eval()
        for parameter in llama.parameters():
            torch.nn.init.normal_(parameter, std=0.4)
        ids = torch.randint(0, 31, (2, 20))
        with tempfile.TemporaryDirectory() as folder:
            llama.save_pretrained(pathlib.Path(folder) / "llama")
            path = make_checkpoint("mistral", folder, pathlib.Path(folder) / "llama")
            change_config(path, lambda config: config.update({"sliding_window": None}))
            with torch.no_grad():
                self.assertEqual(apart(opened(path)(ids).logits, llama(ids).logits), 0)

    def test_keys_with_leading_zeros_and_both_spellings_of_rotary_keys_are_read(self):
        for name in ("llama", "gemma3"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                path = make_checkpoint(name, folder)

                def change(config):
                    config["per_layer_config"] = {key.zfill(3): value
                                                  for key, value in config["per_layer_config"].items()}
                    rotary = config.pop("rope_parameters")
                    whole = rotary.get("full_attention", rotary)
                    config["rope_theta"] = whole["rope_theta"]
                    config["rope_scaling"] = {key: value for key, value in whole.items() if key != "rope_theta"}
                    if "sliding_attention" in rotary:
                        config["rope_local_base_freq"] = rotary["sliding_attention"]["rope_theta"]

                change_config(path, change)
                expected = self.expected[name]
                mask = visible(expected["lengths"], expected["ids"].shape[1])
                with torch.no_grad():
                    logits = opened(path)(input_ids=expected["ids"], attention_mask=mask).logits * mask[..., None]
                self.close(name, logits, expected["logits"])

    def test_settings_that_the_code_does_not_apply_are_refused(self):
        for setting, sentence in (({"head_dim": 4}, "head_dim cannot differ"),
                                  ({"sliding_window": 2}, "sliding_window cannot differ"),
                                  ({"skip": ["norm"]}, "norm is unknown")):
            with self.subTest(setting=setting), tempfile.TemporaryDirectory() as folder:
                path = make_checkpoint("mistral", folder)
                change_config(path, lambda config: config["per_layer_config"].update({"3": setting}))
                with self.assertRaisesRegex(ValueError, sentence):
                    opened(path)


class Training(Checkpoints):
    def gradients(self, model, ids):
        model.train()
        model.zero_grad()
        model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}

    @for_each_model
    def test_gradient_checkpointing_gives_the_same_gradients(self, name, model, expected):
        plain = self.gradients(model, expected["ids"])
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        again = self.gradients(model, expected["ids"])
        worst = max(apart(again[key], plain[key]) for key in plain)
        print(f"    {name} {model.config._attn_implementation}: gradients {worst:.1e}")
        self.assertLess(worst, TOLERANCE)
        self.assertTrue(all(gradient.abs().max() > 0 for gradient in plain.values()))


    @unittest.skipUnless(importlib.util.find_spec("peft"), "needs peft")
    @for_each_model
    def test_adapters_are_trained(self, name, model, expected):
        import peft
        with torch.no_grad():
            before = model(expected["ids"]).logits
        targets = ["q_proj", "v_proj", "o_proj", "down_proj"]
        adapted = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", target_modules=targets, r=2))
        adapted(input_ids=expected["ids"], labels=expected["ids"]).loss.backward()
        trained = [parameter for parameter in adapted.parameters() if parameter.grad is not None]
        self.assertEqual(len(trained), 2 * (1 + 3 + 3 + 4))  # two matrices for each target that a layer has
        with torch.no_grad():
            self.assertEqual(apart(adapted(expected["ids"]).logits, before), 0)


def fixture_writer():
    sys.path.insert(0, str(DATA))
    try:
        import make_ragged_fixtures
        return make_ragged_fixtures if MODERN else None
    except ImportError:
        return None


@unittest.skipUnless(fixture_writer(), "needs transformers 5, gguf and numpy")
class DrawnModels(unittest.TestCase):
    """Random cuts of the dense models, against the dense models in which the cut parts are 0."""

    def drawn_cut(self, writer, chance, groups, per_key, neurons):
        kept = chance.choice([1, 2]) if per_key > 1 else 1
        heads = [group * per_key + head for group in range(groups) if chance.random() < 0.8
                 for head in sorted(chance.sample(range(per_key), kept))]
        heads = heads or list(range(kept))
        skip = tuple(part for part in ("attention", "mlp") if chance.random() < 0.25)
        bypass = round(chance.uniform(0.2, 2), 2) if "attention" not in skip and chance.random() < 0.3 else None
        return writer.Cut(heads=heads, neurons=chance.randint(1, neurons), skip=skip, bypass=bypass,
                          attention_bias="attention" not in skip and chance.random() < 0.4,
                          mlp_bias="mlp" not in skip and chance.random() < 0.4)

    def test_random_cuts(self):
        writer = fixture_writer()
        for number in range(4):
            for name, ragged in writer.ragged_cases().items():
                chance = random.Random(100 * number + len(name))
                config = ragged.case.config
                cuts = [self.drawn_cut(writer, chance, 2, 2, config.intermediate_size) for _ in ragged.cuts]
                if name == "llama":  # has all biases
                    cuts = [writer.dataclasses.replace(cut, attention_bias=False, mlp_bias=False) for cut in cuts]
                with self.subTest(name=name, number=number), tempfile.TemporaryDirectory() as folder:
                    writer.FOLDER = pathlib.Path(folder) / "drawn"
                    writer.write_ragged(name, writer.dataclasses.replace(ragged, cuts=cuts))
                    path = make_checkpoint(name, folder, writer.FOLDER / name)
                    expected = load_file(path / "expected.safetensors")
                    mask = visible(expected["lengths"], expected["ids"].shape[1])
                    for implementation in implementations(name):
                        with torch.no_grad():
                            logits = opened(path, implementation)(input_ids=expected["ids"],
                                                                  attention_mask=mask).logits * mask[..., None]
                        error = apart(logits, expected["logits"])
                        print(f"    {name} {number} {implementation}: {error:.1e}")
                        self.assertLess(error, TOLERANCE)


if __name__ == "__main__":
    print(f"transformers {tf.__version__}, torch {torch.__version__}")
    unittest.main(verbosity=2)
