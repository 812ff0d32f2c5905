"""Masks and sessions of Secateur in Python.

    import secateur
    mask = secateur.read_mask("eight.mask.json")
    with secateur.apply(model, mask):      # a model of transformers
        logits = model(**inputs).logits    # those of the workbench under the mask
    secateur.open_session("s.h5").curves() # a pandas DataFrame
"""

from .errors import Error
from .files import fingerprint
from .kept_heads import (from_dropped, from_head_mask, from_kept_heads, from_pruned_heads, to_dropped, to_head_mask,
                         to_kept_heads, to_kept_kv_groups, to_pruned_heads)
from .mask import LayerMask, Mask
from .mask_file import mask_for, parse_mask, read_mask, write_mask
from .session import Session, open_session

__version__ = "0.1.0"

__all__ = ["Error", "LayerMask", "Mask", "Session", "apply", "fingerprint", "from_dropped", "from_head_mask",
           "from_kept_heads", "from_pruned_heads", "mask_for", "open_session", "parse_mask", "read_mask", "to_dropped",
           "to_head_mask", "to_kept_heads", "to_kept_kv_groups", "to_pruned_heads", "write_mask"]


def apply(model, mask):
    """Puts a mask on a model of transformers and returns a handle: `with secateur.apply(model, mask): ...`, or
    `handle.remove()`. Needs torch. See `secateur.hooks.apply`.
    """
    from .hooks import apply as apply_by_hooks

    return apply_by_hooks(model, mask)
