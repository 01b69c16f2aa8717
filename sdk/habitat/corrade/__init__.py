"""Habitat's users import `corrade` and use nothing of it; neither do we."""
