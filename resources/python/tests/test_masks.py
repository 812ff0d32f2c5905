"""Masks as values and files, without a model."""

import json
import pathlib
import struct
import tempfile
import unittest
import warnings

from support import ROOT

import numpy as np
import secateur
from secateur.compensation import compensation_bytes, read_tensors
from secateur.structure import parse_structure, structure_text

STRUCTURE = "2x4/2x8+10,1x3/1x8+0"


def dense(**more):
    return secateur.Mask.dense("llama", STRUCTURE, **more)


def document(layers, **more):
    return json.dumps({"secateur_mask": 1, "model": {"architecture": "llama", "structure": STRUCTURE}, "layers": layers}
                      | more)


class Structures(unittest.TestCase):
    def test_texts_are_read_and_written(self):
        for text in (STRUCTURE, "30x9/3x64+1536", "1x0/0x0+12,2x4/4x2+8"):
            self.assertEqual(structure_text(parse_structure(text)), text)

    def test_other_texts_are_refused(self):
        for text in ("", "3x4", "2x4/3x8+10", "2x4/2x8+10,", "99999999x4/2x8+10"):
            with self.subTest(text=text), self.assertRaises(secateur.Error):
                parse_structure(text)


class Files(unittest.TestCase):
    def test_every_field_is_read(self):
        mask = secateur.parse_mask(document([{"layer": 0, "heads_cut": [1, [2, 3]], "neurons_cut": [[0, 3], 7]},
                                             {"layer": 1, "attention": "bypass_qk", "alpha": 0.5, "mlp": "drop"},
                                             {"layer": 2, "block": "drop"}], note="by hand"))
        self.assertEqual([np.flatnonzero(~layer.heads).tolist() for layer in mask.layers], [[1, 2, 3], [], []])
        self.assertEqual(np.flatnonzero(~mask.layers[0].neurons).tolist(), [0, 1, 2, 3, 7])
        second = mask.layers[1]
        self.assertEqual((second.attention, second.alpha, second.mlp), ("bypass_qk", 0.5, False))
        self.assertEqual((mask.layers[2].block, mask.note), (False, "by hand"))
        self.assertEqual(mask.counts(),
                         {"heads": 3, "neurons": 5, "attention": 0, "bypassed": 1, "mlp": 1, "blocks": 1})

    def test_a_written_mask_is_read_again(self):
        mask = dense(note="ü", fingerprint="sha256:ab")
        mask.cut_heads(0, [3]).cut_neurons(1, [0, 1, 2, 9]).drop_attention(2)
        again = secateur.parse_mask(mask.to_json())
        self.assertEqual((again.to_json(), again.digest()), (mask.to_json(), mask.digest()))
        self.assertIn('\n    {"layer": 1, "neurons_cut": [[0, 2], 9]},\n', mask.to_json())

    def test_invalid_files_are_refused_with_their_place(self):
        cases = [([{"layer": 0, "heads_cut": [4]}], r"layers\[0\]: heads_cut names head 4, but layer 0 has 4"),
                 ([{"layer": 0, "heads_cut": [1, 1]}], "names head 1 twice"),
                 ([{"layer": 0, "heads_cut": [[2, 1]]}], "expected indices and ranges"),
                 ([{"layer": 0, "heads_cut": [True]}], "expected indices and ranges"),
                 ([{"layer": 3}], "layer is 3, expected 0 to 2"),
                 ([{"layer": 0}, {"layer": 0}], "lists layer 0 twice"),
                 ([{"layer": 0, "attention": "drop", "heads_cut": [0]}], "is inside a unit"),
                 ([{"layer": 0, "block": "drop", "mlp": "drop"}], "is inside a unit"),
                 ([{"layer": 0, "attention": "bypass_qk"}], "alpha is missing"),
                 ([{"layer": 0, "attention": "bypass_qk", "alpha": 3}], "alpha is 3"),
                 ([{"layer": 0, "alpha": 1}], "alpha scales only"),
                 ([{"layer": 0, "attention": "keep"}], "expected \"drop\""),
                 ([{"layer": 0, "head_cut": [1]}], '"head_cut" is not one of'),
                 ([7], r"layers\[0\] should be an object")]
        for layers, message in cases:
            with self.subTest(layers=layers), self.assertRaisesRegex(secateur.Error, message):
                secateur.parse_mask(document(layers))
        for text, message in (("{", "is not JSON"), ("[]", "is not a mask"),
                              ('{"secateur_mask": 2}', "states version 2"),
                              ('{"secateur_mask": 1, "secateur_mask": 1}', "twice"),
                              (document([], more=1), '"more" is not one of'),
                              ('{"secateur_mask": 1, "model": {"architecture": "llama"}, "layers": []}',
                               "structure is missing")):
            with self.subTest(text=text), self.assertRaisesRegex(secateur.Error, message):
                secateur.parse_mask(text)

    def test_only_masks_are_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.mask.json"
            path.write_text("notes")
            with self.assertRaisesRegex(secateur.Error, "is not a mask"):
                dense().write(path)
            dense().write(path, force=True)
            dense().cut_heads(0, [1]).write(path)
            self.assertEqual(secateur.read_mask(path).counts()["heads"], 1)
            self.assertEqual([file.name for file in path.parent.iterdir()], ["a.mask.json"])


class Compensations(unittest.TestCase):
    def compensated(self, value):
        mask = dense().cut_heads(0, [1])
        mask.layers[0].compensation = {"attention_bias": np.full(6, value, np.float32),
                                       "head_scale": np.array([2, 3, 1, 1], np.float32)}
        return mask

    def test_they_lie_beside_the_mask(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.mask.json"
            self.compensated(0.5).write(path)
            self.compensated(0.25).write(path)
            again = secateur.read_mask(path)
            self.assertEqual(again.digest(), self.compensated(0.25).digest())
            factors = again.layers[0].compensation["head_scale"]
            self.assertEqual(factors.tolist(), [2, 1, 1, 1])  # a cut head has no factor
            others = [file for file in path.parent.iterdir() if file != path]
            self.assertEqual(len(others), 1)
            others[0].write_bytes(others[0].read_bytes() + b" ")
            with self.assertRaisesRegex(secateur.Error, "another SHA-256"):
                secateur.read_mask(path)
            others[0].unlink()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.assertEqual(secateur.read_mask(path).digest(), dense().cut_heads(0, [1]).digest())
            self.assertIn("does not exist", str(caught[0].message))

    def test_types_are_read(self):
        def file(kind, data):
            header = json.dumps({"layers.0.head_scale": {"dtype": kind, "shape": [2], "data_offsets": [0, len(data)]}})
            return struct.pack("<Q", len(header)) + header.encode() + data

        for kind, data in (("F32", struct.pack("<2f", 1.5, -2)), ("F16", struct.pack("<2e", 1.5, -2)),
                           ("BF16", b"\xc0\x3f\x00\xc0")):
            self.assertEqual(read_tensors(file(kind, data), "f")["layers.0.head_scale"].tolist(), [1.5, -2])
        for data in (b"", b"\0" * 8, struct.pack("<Q", 1 << 40), file("I8", b"ab"), file("F32", b"ab")):
            with self.assertRaises(secateur.Error):
                read_tensors(data, "f")

    def test_parts_without_an_effect_do_not_count(self):
        mask = self.compensated(0.5).drop_attention(0)
        self.assertEqual(mask.digest(), dense().drop_attention(0).digest())
        mask = dense()
        mask.layers[0].compensation = {"mlp_bias": np.zeros(6, np.float32), "neuron_scale": np.ones(10, np.float32)}
        self.assertEqual(mask.digest(), "dense")

    def test_wrong_shapes_are_refused(self):
        for name, shape in (("head_scale", 3), ("neuron_scale", (10, 1)), ("o_weight", (6, 31)), ("down_weight", 10)):
            mask = dense()
            mask.layers[0].compensation = {name: np.full(shape, 2, np.float32)}
            with self.subTest(name=name), self.assertRaisesRegex(secateur.Error, f"{name} has the shape"):
                mask.digest()
        mask = dense()
        mask.layers[0].compensation = {"o_weight": np.ones((6, 32)), "head_scale": np.ones(4)}
        with self.assertRaisesRegex(secateur.Error, "either replaced or scaled"):
            mask.digest()

    def test_the_file_is_aligned(self):
        data = compensation_bytes({0: {"mlp_bias": np.ones(3, np.float32)}})
        self.assertEqual(struct.unpack_from("<Q", data)[0] % 8, 0)


class OtherForms(unittest.TestCase):
    def test_kept_heads(self):
        kept = [[0, 2], [0, 1, 2, 3], []]
        mask = secateur.from_kept_heads(kept, dense())
        self.assertEqual(secateur.to_kept_heads(mask), kept)
        self.assertEqual(secateur.to_kept_heads(secateur.from_kept_heads({0: [0, 2], 2: []}, dense())), kept)
        self.assertEqual(secateur.to_kept_kv_groups(mask), [[0, 1], [0, 1], []])
        self.assertEqual(secateur.to_pruned_heads(mask), {0: [1, 3], 2: [0, 1, 2]})
        self.assertEqual(secateur.from_pruned_heads({"0": [1, 3], "2": [0, 1, 2]}, dense()).digest(), mask.digest())
        for kept in ([[4], [], []], [[0], [1]], {3: [0]}):
            with self.subTest(kept=kept), self.assertRaises(secateur.Error):
                secateur.from_kept_heads(kept, dense())

    def test_dropped_attention_keeps_no_head(self):
        mask = dense().drop_attention(0).drop_block(1)
        self.assertEqual(secateur.to_kept_heads(mask), [[], [], [0, 1, 2]])
        self.assertEqual(secateur.to_dropped(mask), {"attention": [0], "mlp": [], "block": [1]})
        self.assertEqual(secateur.from_dropped(dense(), attention=[0], block=[1]).digest(), mask.digest())

    def test_head_masks(self):
        like = secateur.Mask.dense("bert", "3x4/4x8+16")
        mask = secateur.from_head_mask([[1, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]], like)
        self.assertEqual(secateur.to_head_mask(mask).tolist(), [[1, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]])
        wide = secateur.to_head_mask(mask)[:, None, :, None, None]
        self.assertEqual(secateur.from_head_mask(wide, like).digest(), mask.digest())
        self.assertEqual(secateur.from_head_mask(secateur.to_head_mask(mask) > 0, like).digest(), mask.digest())
        for wrong in ([[0.5] * 4] * 3, [[1] * 4] * 2, [[1] * 5] * 3):
            with self.assertRaises(secateur.Error):
                secateur.from_head_mask(wrong, like)
        with self.assertRaisesRegex(secateur.Error, "differ in heads"):
            secateur.to_head_mask(dense())

    def test_tied_layers_get_the_same_cuts(self):
        like = secateur.Mask.dense("albert", "4x4/4x8+16", tied_groups=[[0, 1], [2, 3]])
        mask = secateur.from_pruned_heads({1: [2]}, like)
        self.assertEqual(secateur.to_pruned_heads(mask), {0: [2], 1: [2]})
        self.assertIn('"layer": 0', mask.to_json())
        self.assertNotIn('"layer": 1', mask.to_json())
        read = secateur.parse_mask(mask.to_json())
        self.assertEqual(read.tied(like.tied_groups).digest(), mask.digest())
        with self.assertRaisesRegex(secateur.Error, "which has the same weights"):
            secateur.Mask.dense("albert", "4x4/4x8+16").cut_heads(0, [1]).cut_heads(1, [2]).tied(like.tied_groups)


class Package(unittest.TestCase):
    def test_its_version_is_that_of_the_program(self):
        if (ROOT / "CMakeLists.txt").exists():
            self.assertIn(f"project(secateur VERSION {secateur.__version__} ", (ROOT / "CMakeLists.txt").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
