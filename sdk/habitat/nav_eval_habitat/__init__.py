"""What is ours in the Habitat package: engine glue, start-up hook, adapters. `habitat_sim` is what users import."""

__version__ = "0.2.0"
