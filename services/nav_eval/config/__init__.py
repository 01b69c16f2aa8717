"""Configuration: YAML in, validated models out."""
