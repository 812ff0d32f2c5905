"""Scores of reference.py against tests/data/forward_metrics.json, which was made by another script."""
import json, numpy as np, pathlib
from net import *; import reference as R
fm=json.loads((DATA.parent/"forward_metrics.json").read_text())
def own(net,v): return R.by_own(net,[np.array(x,float) for x in v])
for name,doc in fm.items():
    net=Net(name); seen=[net.run(i)[0] for i in doc["sequences"]]; m=doc["metrics"]; res={}
    got={"attention_importance":R.importance(net,seen,"attention"),"mlp_importance":R.importance(net,seen,"mlp"),"block_influence":R.importance(net,seen,"block"),
     "sink_head":R.sink_head(net,seen),"attention_entropy":R.entropy(net,seen),"amp_head":R.amp_head(net,seen),"amp_neuron":R.amp_neuron(net,seen)}
    if name!="albert":
        w=[R.wanda_scores(net,seen,l) for l in range(net.L)]; f=[R.flap_scores(net,seen,l) for l in range(net.L)]
        got|={"wanda_sp_head":[a for a,_ in w],"wanda_sp_neuron":[b for _,b in w],"flap_head":[a for a,_ in f],"flap_neuron":[b for _,b in f]}
    for k,v in got.items():
        e=own(net,m[k]); e=np.concatenate([np.atleast_1d(x).ravel() for x in e]); g=np.concatenate([np.atleast_1d(x).ravel() for x in v])
        res[k]=float(np.max(np.abs(e-g)/np.maximum(np.abs(e),1e-9)))
    print(name,{k:f"{v:.0e}" for k,v in res.items()})
