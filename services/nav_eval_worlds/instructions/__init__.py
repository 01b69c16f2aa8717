"""The words of generated instructions: templates, references to things, nouns and numbers."""
