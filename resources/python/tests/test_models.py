"""Masked models of transformers compared with the workbench: log probabilities of all tokens or classes, and losses."""

import json
import os
import pathlib
import random
import tempfile
import unittest

from support import WORDS, cli, configurations, drawn_model, masks_for, needs, needs_cli, word

TOLERANCE = 1e-4  # of log probabilities, which differ from logits by a number for each position
EXACT = ("--dtype", "float32", "--threads", 1)
WITHOUT_BOS = ("--bos", "never")

# The masks under which options and classes are compared. Losses of decoders are compared under all masks.
BY_OPTIONS = {"llama": ("everything", "scale", "bypass"), "gemma2": ("everything", "scale", "bypass"),
              "bert": ("everything", "scale", "weights", "heads", "neurons", "attention", "mlp", "block", "bypass"),
              "albert": ("everything", "scale", "weights", "block", "mlp"),
              "albert-inner": ("scale", "weights", "block")}


@needs("torch", "transformers")
@needs_cli
class MaskedModels(unittest.TestCase):
    """Every token of the vocabulary is an option of a question, and the workbench prints its log probability."""

    @classmethod
    def setUpClass(cls):
        import torch
        torch.set_num_threads(1)
        cls.worst = {}

    @classmethod
    def tearDownClass(cls):
        print()
        for (name, mask), (error, change) in cls.worst.items():
            print(f"    {name} {mask}: largest error {error:.1e}, largest change by the mask {change:.1e}")

    def log_probabilities(self, model, rows):
        """Of the last position, or of the classes."""
        import torch
        with torch.no_grad():
            logits = [model(input_ids=torch.tensor([row])).logits for row in rows]
        last = torch.cat([one if one.ndim == 2 else one[:, -1] for one in logits])
        return last.double().log_softmax(-1).numpy()

    def masked(self, model, path, label, mask):
        """The file of a mask, and log probabilities of the rows by the workbench and by hooks."""
        import numpy as np
        import secateur

        is_encoder = hasattr(model, "classifier")
        rows, questions = self.questions(is_encoder)
        (path / "task.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
        file = path / f"{label}.mask.json"
        form = "classification" if is_encoder else "generic"
        document = cli("evaluate", path, "--task", path / f"task.jsonl:format={form}", "--answers", "--mask", file,
                       "--against", "none", *([] if is_encoder else WITHOUT_BOS), *EXACT)
        answers = sorted(document["tasks"]["task"]["answers"], key=lambda answer: answer["line"])
        with secateur.apply(model, secateur.read_mask(file, model)) as handle:
            found = self.log_probabilities(model, rows)
        self.assertEqual(document["mask"]["digest"], handle.mask.digest())
        return np.array([answer["scores"] for answer in answers]), found, self.log_probabilities(model, rows)

    def compare(self, name, folder):
        """Compares log probabilities under some masks, and losses of windows under all."""
        import numpy as np

        model, path = drawn_model(name, folder)
        state = {key: value.clone() for key, value in model.state_dict().items()}
        masks = masks_for(model)
        for label, mask in masks.items():
            mask.write(path / f"{label}.mask.json")
        for label in BY_OPTIONS.get(name, ("everything",)):
            expected, found, dense = self.masked(model, path, label, masks[label])
            error, change = np.abs(found - expected).max(), np.abs(found - dense).max()
            self.worst[name, f"{label}, {found.size} log probabilities"] = error, change
            with self.subTest(name=name, mask=label):
                self.assertLess(error, TOLERANCE)
                self.assertGreater(change, 100 * TOLERANCE)
        if not hasattr(model, "classifier"):
            self.losses(name, model, path, masks)
        self.assertTrue(all((value == state[key]).all() for key, value in model.state_dict().items()))

    @staticmethod
    def questions(is_encoder):
        """Token ids, and rows of a task file."""
        chance = random.Random(7)
        texts = [[chance.randrange(4, WORDS) for _ in range(length)] for length in (1, 2, 5, 9, 17, 30)]
        spoken = [" ".join(map(word, text)) for text in texts]
        if is_encoder:
            return [[1, *text, 2] for text in texts], [{"text": text, "label": 0} for text in spoken]
        choices = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"] + [word(token) for token in range(4, WORDS)]
        return texts, [{"query": text, "choices": choices, "gold": 0} for text in spoken]

    def losses(self, name, model, path, masks):
        """Compares the losses of the windows of a text under all masks, which one command scores."""
        import torch
        import secateur

        chance = random.Random(11)
        ids = torch.tensor([[chance.randrange(4, WORDS) for _ in range(16)] for _ in range(5)])
        (path / "text.txt").write_text(" ".join(word(token) for token in ids.flatten().tolist()))
        files = [path / f"{label}.mask.json" for label in masks]
        document = cli("evaluate", path, "--text", path / "text.txt", "--window", 16, *WITHOUT_BOS, *EXACT,
                       *(option for file in files for option in ("--mask", file)))
        for label, file, run in zip(masks, files, document["runs"]):
            with torch.no_grad(), secateur.apply(model, secateur.read_mask(file)) as handle:
                logits = model(input_ids=ids).logits[:, :-1].double().log_softmax(-1)
            found = -logits.gather(-1, ids[:, 1:, None])[..., 0].sum(-1)
            expected = torch.tensor(run["text"]["window_nats"]).double()
            error = (found - expected).abs().max().item() / 15
            self.worst[name, f"{label}, losses in nats/token"] = error, abs(run["text"]["delta_nats"] or 0)
            with self.subTest(name=name, losses=label):
                self.assertLess(error, TOLERANCE)
                self.assertEqual(run["mask"]["digest"] if run["mask"] else "dense", handle.mask.digest())

    def test_every_family(self):
        chosen = os.environ.get("SECATEUR_FAMILIES")
        with tempfile.TemporaryDirectory() as folder:
            for name in chosen.split(",") if chosen else configurations():
                self.compare(name, folder)

    def test_fingerprints_and_structures_are_those_of_the_workbench(self):
        import secateur

        with tempfile.TemporaryDirectory() as folder:
            for name in ("llama", "gpt2", "albert", "albert-inner"):
                model, path = drawn_model(name, folder)
                card = cli("inspect", path)
                mask = secateur.Mask.of_model(model)
                self.assertEqual(secateur.fingerprint(path), card["fingerprint"])
                self.assertEqual((mask.architecture, mask.structure), (card["architecture"], card["structure"]))
                self.assertEqual(mask.tied_groups or None, card["tied_groups"])

    def test_masks_of_the_workbench_are_read(self):
        import secateur

        with tempfile.TemporaryDirectory() as folder:
            model, path = drawn_model("llama", folder)
            file = path / "pruned.mask.json"
            document = cli("prune", path, "--strategy", "random_head", "--budget", 5,
                           "--seed", 3, "--out", file)
            mask = secateur.read_mask(file, model)
            self.assertEqual(mask.digest(), document["digest"])
            self.assertEqual(mask.counts()["heads"], 5)
            self.assertEqual(mask.fingerprint, secateur.fingerprint(path))
            again = pathlib.Path(folder) / "again.mask.json"
            mask.write(again)
            self.assertEqual(json.loads(again.read_text()), json.loads(file.read_text()))
            lines = lambda text: [line for line in text.splitlines() if '"layer"' in line]
            self.assertEqual(lines(again.read_text()), lines(file.read_text()))

    def test_compensations_keep_their_digest_through_the_workbench(self):
        import secateur

        with tempfile.TemporaryDirectory() as folder:
            model, path = drawn_model("llama", folder)
            for label, mask in masks_for(model).items():
                file, copy = path / f"{label}.mask.json", path / f"{label}-copy.mask.json"
                mask.write(file)
                document = cli("mask", "union", file, file, "--out", copy)
                self.assertEqual(document["digest"], mask.digest(), label)
                self.assertEqual(secateur.read_mask(copy).digest(), mask.digest(), label)


if __name__ == "__main__":
    unittest.main(verbosity=2)
