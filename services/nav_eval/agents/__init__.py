"""Agents, and how the evaluator reaches them: `addresses.connect(address)` and the contract in `client`."""
