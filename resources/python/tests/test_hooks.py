"""Hooks on models of transformers: how they are put on and removed, caches, gradients, adapters, refused models."""

import importlib.util
import unittest

from support import configurations, masks_for, needs


@needs("torch", "transformers")
class Hooks(unittest.TestCase):
    def setUp(self):
        import torch
        torch.set_num_threads(1)
        torch.manual_seed(3)

    def model(self, name="llama", implementation="eager"):
        import torch
        import transformers as tf

        config, suffix = configurations()[name]
        auto = tf.AutoModelForCausalLM if suffix != "SequenceClassification" else tf.AutoModelForSequenceClassification
        model = auto.from_config(config, attn_implementation=implementation).float().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.3)
        return model

    def ids(self, rows=2, width=9):
        import torch
        return torch.randint(4, 48, (rows, width))

    def logits(self, model, ids, **more):
        import torch
        with torch.no_grad():
            return model(input_ids=ids, **more).logits

    def error(self, found, expected):
        return ((found - expected).abs().max() / expected.abs().max()).item()

    def test_a_removed_mask_leaves_the_dense_model(self):
        import secateur

        model, ids = self.model(), self.ids()
        dense, mask = self.logits(model, ids), masks_for(model)["everything"]
        handle = secateur.apply(model, mask)
        masked = self.logits(model, ids)
        self.assertGreater(self.error(masked, dense), 1e-2)
        with self.assertRaisesRegex(secateur.Error, "has a mask already"):
            secateur.apply(model, mask)
        handle.remove()
        handle.remove()
        self.assertTrue((self.logits(model, ids) == dense).all())
        with self.assertRaises(KeyError), secateur.apply(model, mask):
            self.assertTrue((self.logits(model, ids) == masked).all())
            raise KeyError
        self.assertTrue((self.logits(model, ids) == dense).all())
        self.assertFalse(any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()))

    def test_zeroed_weights_give_the_same_logits(self):
        """Cut heads and neurons, and dropped sublayers, written into the weights by hand."""
        import torch
        import secateur

        model, ids = self.model(), self.ids()
        mask = secateur.Mask.of_model(model).cut_heads(0, [1]).cut_neurons(1, [4, 5]).drop_attention(2).drop_mlp(3)
        with secateur.apply(model, mask):
            found = self.logits(model, ids)
        layers = model.model.layers
        with torch.no_grad():
            layers[0].self_attn.o_proj.weight[:, 8:16] = 0
            layers[1].mlp.down_proj.weight[:, 4:6] = 0
            for module in (layers[2].self_attn.o_proj, layers[3].mlp.down_proj):
                module.weight.zero_()
                module.bias.zero_()
        error = self.error(found, self.logits(model, ids))
        print(f"    zeroed weights: {error:.1e}")
        self.assertLess(error, 1e-5)

    def test_a_cache_gives_the_logits_of_the_whole_text(self):
        import torch
        import secateur

        for name in ("llama", "gemma2", "gpt2"):
            model, ids = self.model(name), self.ids()
            with secateur.apply(model, masks_for(model)["everything"]), torch.no_grad():
                whole, cache, pieces = model(input_ids=ids, use_cache=False).logits, None, []
                for begin, end in ((0, 4), (4, 5), (5, 9)):
                    out = model(input_ids=ids[:, begin:end], past_key_values=cache, use_cache=True)
                    cache = out.past_key_values
                    pieces.append(out.logits)
            error = self.error(torch.cat(pieces, 1), whole)
            print(f"    {name} with a cache: {error:.1e}")
            self.assertLess(error, 1e-5)

    def test_other_implementations_of_attention_give_the_same_logits(self):
        import secateur

        model, ids = self.model(), self.ids()
        found = []
        for implementation in ("eager", "sdpa"):
            model.set_attn_implementation(implementation)
            with secateur.apply(model, masks_for(model)["everything"]):
                found.append(self.logits(model, ids))
        self.assertLess(self.error(*found), 1e-5)

    def test_gradients_pass_with_and_without_checkpointing(self):
        import secateur

        model, ids = self.model(), self.ids()
        gradients = []
        with secateur.apply(model, masks_for(model)["everything"]):
            for checkpoints in (False, True):
                if checkpoints:
                    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
                model.train()
                model.zero_grad()
                model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
                gradients.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()
                                  if parameter.grad is not None})
        self.assertEqual(*(set(one) for one in gradients))
        for name, gradient in gradients[0].items():
            self.assertLess((gradients[1][name] - gradient).abs().max().item(), 1e-5, name)
        output = gradients[0]["model.layers.0.self_attn.o_proj.weight"]
        self.assertEqual(output[:, :8].abs().max(), 0)  # head 0 is cut
        self.assertGreater(output[:, 8:].abs().max(), 0)

    def test_half_precision_runs(self):
        import torch
        import secateur

        model, ids = self.model().to(torch.bfloat16), self.ids()
        for label, mask in masks_for(model).items():
            with self.subTest(mask=label), secateur.apply(model, mask):
                self.assertEqual(self.logits(model, ids).dtype, torch.bfloat16)

    def test_models_without_a_head_and_with_another_are_masked(self):
        import torch
        import transformers as tf
        import secateur

        for auto in (tf.AutoModel, tf.AutoModelForMaskedLM, tf.AutoModelForTokenClassification):
            model = auto.from_config(configurations()["bert"][0]).eval()
            with secateur.apply(model, secateur.Mask.of_model(model).drop_block(0)), torch.no_grad():
                states = model(input_ids=self.ids(), output_hidden_states=True).hidden_states
            self.assertTrue((states[0] == states[1]).all())

    def test_the_text_part_of_a_multimodal_model_is_masked(self):
        import transformers as tf
        import secateur

        vision = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=28,
                      patch_size=14)
        config = tf.Gemma3Config(text_config=configurations()["gemma3"][0].to_dict(), vision_config=vision,
                                 mm_tokens_per_image=4)
        model, ids = tf.Gemma3ForConditionalGeneration(config).eval(), self.ids()
        mask = secateur.Mask.of_model(model)
        self.assertEqual((mask.architecture, mask.structure), ("gemma3", "6x4/2x8+36"))
        dense = self.logits(model, ids)
        with secateur.apply(model, mask.drop_mlp(1)):
            self.assertGreater(self.error(self.logits(model, ids), dense), 1e-3)

    def test_what_does_not_fit_is_refused(self):
        import transformers as tf
        import secateur

        model = self.model()
        with self.assertRaisesRegex(secateur.Error, "made for llama 2x4/2x8.36, but the model is llama 6x4/2x8"):
            secateur.apply(model, secateur.Mask.dense("llama", "2x4/2x8+36"))
        with self.assertRaisesRegex(secateur.Error, "made for qwen3"):
            secateur.apply(model, secateur.Mask.dense("qwen3", "6x4/2x8+36"))
        wide = masks_for(self.model("gpt2"))["scale"]
        wide.architecture = "llama"
        with self.assertRaises(secateur.Error):
            secateur.apply(model, wide)
        other = tf.OPTForCausalLM(tf.OPTConfig(vocab_size=9, hidden_size=8, ffn_dim=8, num_hidden_layers=1,
                                               num_attention_heads=2, word_embed_proj_dim=8))
        with self.assertRaisesRegex(secateur.Error, 'models of type "opt" are not supported'):
            secateur.Mask.of_model(other)
        with self.assertRaisesRegex(secateur.Error, "is not a model of transformers"):
            secateur.Mask.of_model(object())

    def test_pruned_heads_and_head_masks_of_transformers_4_give_the_same_logits(self):
        import torch
        import secateur

        for name in ("bert", "gpt2"):
            model, ids = self.model(name), self.ids()
            base = getattr(model, model.base_model_prefix)
            if not hasattr(base, "_prune_heads"):
                self.skipTest("transformers 5 has neither")
            mask = secateur.Mask.of_model(model).cut_heads(0, [1]).cut_heads(3, [0, 2])
            with secateur.apply(model, mask):
                found = self.logits(model, ids)
            head_mask = torch.from_numpy(secateur.to_head_mask(mask))
            errors = [self.error(found, self.logits(model, ids, head_mask=head_mask))]
            base.prune_heads(secateur.to_pruned_heads(mask))
            errors.append(self.error(found, self.logits(model, ids)))
            print(f"    {name}, head_mask and prune_heads: {errors[0]:.1e}, {errors[1]:.1e}")
            self.assertLess(max(errors), 1e-5)

    @unittest.skipUnless(importlib.util.find_spec("peft"), "needs peft")
    def test_adapters_are_masked_too(self):
        import peft
        import torch
        import secateur

        model, ids = self.model(), self.ids()
        masks = masks_for(model)
        adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["o_proj", "v_proj", "down_proj"]))
        with torch.no_grad():
            for name, parameter in adapted.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.3)
        with self.assertRaisesRegex(secateur.Error, "that an adapter changes"):
            secateur.apply(adapted, masks["weights"])
        with secateur.apply(adapted, masks["scale"]):
            found = self.logits(adapted, ids)
        merged = adapted.merge_and_unload()
        with secateur.apply(merged, masks["scale"]):
            error = self.error(found, self.logits(merged, ids))
        print(f"    adapters, merged: {error:.1e}")
        self.assertLess(error, 1e-5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
