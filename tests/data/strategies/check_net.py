"""The unmasked model equals the fixture; recorded parts add up; gpt2, llama etc."""
import numpy as np, torch
from net import *
for name in ["llama-gqa","llama-mha","llama-bias","llama-mqa","gpt2","gemma2","gemma3","gemma3-gguf","qwen3","phi","mistral","bert","albert","qwen2-window"]:
    net=Net(name); t=load_file(DATA/name/"expected.safetensors"); worst=0
    for r,ids in enumerate(rows(name)):
        if net.encoder and "types" in t and t["types"].any(): continue
        s,lo=net.run(ids); e=t["logits"][r]
        worst=max(worst,float((lo-(e if net.encoder else e[:len(ids)])).abs().max()))
    s,_=net.run(rows(name)[0])
    for l in range(net.L):
        o=s.ctx[l]@net.w_o(l).T+net.bias_of(l,"o"); worst=max(worst,abs(o-s.o_out[l]).max())
        o=s.hidden[l]@net.w_down(l).T+net.bias_of(l,"down"); worst=max(worst,abs(o-s.down_out[l]).max())
        if not net.encoder: worst=max(worst,abs(s.x[l]+s.a[l]+s.f[l]-s.out[l]).max())
    print(name,net.L,net.H,net.G,net.d,net.D,net.I,net.parameters(),[round(x,2) for x in [net.loss(rows(name))]] if not net.encoder else "", f"{worst:.1e}", [len(x) for x in rows(name)])
