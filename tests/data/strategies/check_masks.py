"""Masks by hooks against masks by edited weights and by formulas."""
import copy, numpy as np, torch
from net import *; import reference as R
def lo(net,mask=None): return net.run(rows(net.name)[0],mask)[1].numpy()
for name in ["llama-gqa","llama-bias","gpt2","gemma2","phi","qwen3","bert","albert"]:
    net=Net(name); m=Mask(net); m.cut("head",0,1).cut("neuron",0,3)
    if len(net.own)>1: m.cut("head",1,0).cut("neuron",1,5)
    a=lo(net,m); b=Net(name)
    for l,own in enumerate(m.layers):
        for part,cols in (("o",[c for h in own.heads for c in range(h*b.d,h*b.d+b.d)]),("down",list(own.neurons))):
            w=b.parts[l][part].weight
            if b.kind=="gpt2": w[cols,:]=0
            else: w[:,cols]=0
    e1=abs(a-lo(b)).max()
    m=Mask(net).cut("attention",0).cut("mlp",len(net.own)-1); a=lo(net,m); b=Net(name)
    for l,part in ((0,"o"),(len(net.own)-1,"down")):
        b.parts[l][part].weight.zero_()
        if b.parts[l][part].bias is not None: b.parts[l][part].bias.zero_()
    e2=abs(a-lo(b)).max()
    e3=0
    if not net.encoder:  # bypass in the last layer against the formula; alpha 0 = drop; block drop = identity
        L=net.L-1; m=Mask(net); m.layers[L].attention=0.3
        s,_=net.run(rows(name)[0],m); lay=net.own[L]; x=torch.from_numpy(s.x[L])
        norm=lay.ln_1 if net.kind=="gpt2" else lay.input_layernorm
        with Double():
            u=norm(x); p=net.parts[L]
            v=p["fused"](u[None])[0].chunk(3,-1)[2] if "fused" in p else p["v"](u)
            v=v.reshape(len(v),net.G,net.d).repeat_interleave(net.n,1).reshape(len(v),-1).numpy()
            c=v@net.w_o(L).T+net.bias_of(L,"o")
            if net.post_norm: c=p["post_a"](torch.from_numpy(c)).numpy()/0.3  # the hook is off: mask None
            e3=abs(s.a[L]-0.3*(c*0.3 if net.post_norm else c)).max()
        m.layers[L].attention=0.0; a=lo(net,m); e3=max(e3,abs(a-lo(net,Mask(net).cut("attention",L))).max())
    mb=Mask(net).cut("block",0); s,_=net.run(rows(name)[0],mb); e4=abs(s.x[0]-s.out[0]).max()
    print(name,f"{e1:.0e} {e2:.0e} {e3:.0e} {e4:.0e}")
net=Net("llama-mha"); q,k=net.qk(0); print("gate", R.gate_norm(net,None)[0], np.linalg.norm(q.T@k))
# mode bias on the first cut projection equals FLAP's
net=Net("llama-bias"); seq=rows("llama-bias"); seen=[net.run(i)[0] for i in seq]; m=Mask(net).cut("neuron",0,4).cut("neuron",0,7)
print("bias", abs(R.flap_bias(net,seen,m)[0,"mlp"]-R.mode_bias(net,seq,m)[0,"mlp"]).max())
