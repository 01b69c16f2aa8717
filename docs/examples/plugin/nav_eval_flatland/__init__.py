"""Plug-ins for nav-eval: see docs/extending.md."""
