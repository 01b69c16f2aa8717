"""Published models, served in one line: wrap the class that a team's image already has.

    serve(wrap_streamvln(lambda: VLNEvaluator(config, model=model, tokenizer=tokenizer, args=args)))
    serve(wrap_internvla(lambda: InternVLAN1AsyncAgent(args)))
    serve(wrap_uninavid(lambda: UniNaVid_Agent("weights")))

or without a line of code: `nav-eval-sdk serve uninavid:module:Class`. One page each in docs/adapters.
"""

from nav_eval_sdk.models.internvla import wrap_internvla
from nav_eval_sdk.models.streamvln import wrap_streamvln
from nav_eval_sdk.models.uninavid import wrap_uninavid

WRAPPERS = {"internvla": wrap_internvla, "streamvln": wrap_streamvln, "uninavid": wrap_uninavid}
"""What makes an agent of a class, by the word before it: `uninavid:module:Class`."""

__all__ = ["WRAPPERS", "wrap_internvla", "wrap_streamvln", "wrap_uninavid"]
