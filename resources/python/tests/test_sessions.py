"""Sessions that the workbench writes, compared with what it prints itself."""

import json
import pathlib
import random
import tempfile
import unittest

from support import WORDS, cli, drawn_model, needs, needs_cli, word


@needs("torch", "transformers", "h5py", "pandas")
@needs_cli
class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import numpy
        import secateur

        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        model, cls.model = drawn_model("llama", folder)
        cls.file, cls.mask = folder / "s.h5", folder / "a.mask.json"
        chance = random.Random(5)
        (folder / "text.txt").write_text(" ".join(word(chance.randrange(4, WORDS)) for _ in range(160)))
        (folder / "task.jsonl").write_text("".join(
            json.dumps({"query": "w4 w5", "choices": ["w6", "w7", "w8"], "gold": gold}) + "\n"
            for gold in (0, 1, 2, 1)))
        mask = secateur.Mask.of_model(model).cut_heads(1, [0, 3]).cut_neurons(0, range(5)).bypass(3, 0.5)
        mask.layers[0].compensation = {"mlp_bias": numpy.full(24, 0.1, "float32")}
        mask.write(cls.mask)
        common = ("--text", folder / "text.txt", "--threads", 1, "--out", cls.file)
        cls.measured = cli("measure", cls.model, "--metric", "gate_norm,gate_norm_head,mag_sp_neuron,attention_pattern",
                           "--seq-len", 16, *common)
        cls.evaluated = cli("evaluate", cls.model, "--mask", cls.mask, "--window", 16, "--task",
                            f"{folder / 'task.jsonl'}:format=generic", *common)
        cls.swept = cli("sweep", cls.model, "--strategy", "random_head,block_influence",
                        "--budgets", "params:5%,params:10%", "--score", folder / "text.txt",
                        "--seq-len", 16, "--window", 16, "--task", f"{folder / 'task.jsonl'}:format=generic", *common)
        cls.session = secateur.open_session(cls.file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def close(self, found, expected):
        self.assertAlmostEqual(found, expected, delta=1e-12 * max(1, abs(expected)))

    def test_the_model_is_described(self):
        self.assertEqual(self.session.model["architecture"], "llama")
        self.assertEqual(self.session.model["heads"], [4] * 6)

    def test_results_have_the_keys_of_the_workbench(self):
        shown = {(row["result_id"], row["key"]) for row in cli("session", "show", self.file)["metrics"]}
        results = self.session.results()
        self.assertEqual(set(zip(results["result_id"], results["key"])), shown)

    def test_values_are_those_that_were_printed(self):
        for metric, scope in (("gate_norm", None), ("gate_norm_head", "head"), ("mag_sp_neuron", "neuron")):
            expected = self.measured["metrics"][metric]["values"]
            table = self.session.values(metric)
            flat = expected if scope is None else [value for layer in expected for value in layer]
            self.assertEqual(len(table), len(flat))
            for found, value in zip(table["value"], flat):
                self.close(found, value)
            if scope:
                self.assertEqual(table[scope].max() + 1, len(expected[0]))
        key = self.session.results().set_index("result_id").loc["gate_norm", "key"]
        self.assertEqual(self.session.array(f"gate_norm@{key}").shape, (6,))
        pattern = self.session.values("attention_pattern")
        printed = self.measured["metrics"]["attention_pattern"]
        self.assertEqual(list(pattern["class"]), [name for layer in printed["classes"] for name in layer])
        entropies = [value for layer in printed["features"]["entropy"] for value in layer]
        for found, value in zip(pattern["entropy"], entropies):
            self.close(found, value)

    def test_masks_are_those_of_the_files(self):
        import secateur

        read = secateur.read_mask(self.mask)
        self.assertEqual(self.session.mask(read.digest()).digest(), read.digest())
        shown = {(row["name"], row["digest"]) for row in cli("session", "show", self.file)["masks"]}
        masks = self.session.masks()
        self.assertEqual(set(zip(masks["name"], masks["digest"])), shown)
        own = masks[masks["digest"] == read.digest()].iloc[0]
        self.assertEqual((own["heads"], own["neurons"], own["bypassed"]), (2, 5, 1))

    def test_evaluations_are_those_that_were_printed(self):
        table = self.session.evaluations().set_index("mask_digest")
        text = self.evaluated["text"]
        own, dense = table.loc[self.evaluated["mask"]["digest"]], table.loc["dense"]
        self.close(own["loss_nats"], text["loss_nats"])
        self.close(dense["loss_nats"], text["reference"]["loss_nats"])
        windows = self.session.windows(own["number"])
        self.assertEqual(windows["nats"].tolist(), text["window_nats"])
        self.close(windows["nats"].sum() / windows["tokens"].sum(), text["loss_nats"])
        tasks = self.session.tasks()
        scores = tasks[tasks["mask_digest"] == self.evaluated["mask"]["digest"]].set_index("metric")["value"]
        self.close(scores["acc"], self.evaluated["tasks"]["task"]["metrics"]["acc"]["value"])

    def test_curves_are_those_that_were_printed(self):
        table = self.session.curves()
        for strategy, points in self.swept["curves"].items():
            own = table[table["strategy"] == strategy]
            self.assertEqual(own["budget"].tolist(), [point["budget"] for point in points])
            for (_, found), point in zip(own.iterrows(), points):
                self.close(found["loss_nats"], point["loss_nats"])
                self.close(found["delta_nats"], point["delta_nats"])
                self.close(found["task.acc"], point["tasks"]["task"]["metrics"]["acc"]["value"])
                self.assertEqual(self.session.mask(found["mask_digest"]).digest(), point["mask"]["digest"])
        self.assertEqual(len(table[table["strategy"] == "dense"]), 1)

    def test_other_and_damaged_files_are_refused(self):
        import h5py
        import secateur

        folder = pathlib.Path(self.folder.name)
        data = bytearray(self.file.read_bytes())
        data[len(data) // 2] ^= 1
        (folder / "damaged.h5").write_bytes(data)
        with self.assertRaisesRegex(secateur.Error, "is damaged"):
            secateur.open_session(folder / "damaged.h5")
        (folder / "text.h5").write_text("no session")
        with self.assertRaisesRegex(secateur.Error, "cannot be opened"):
            secateur.open_session(folder / "text.h5")
        with h5py.File(folder / "other.h5", "w"):
            pass
        with self.assertRaisesRegex(secateur.Error, "is not a session"):
            secateur.open_session(folder / "other.h5")
        for ask in (lambda: self.session.values("gate_norm@00000000"), lambda: self.session.mask("none")):
            with self.assertRaisesRegex(secateur.Error, "has no"):
                ask()


if __name__ == "__main__":
    unittest.main(verbosity=2)
