"""`nav-eval-sdk check`: does an agent do what the protocol asks, before anyone waits for a simulator?"""
