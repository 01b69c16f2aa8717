"""An episode to look at: played again from its action log, as data, as a page, as a video, as a map.

`model` and `page` know nothing of simulators: whoever only shows replays (the gateway) imports those two.
"""
