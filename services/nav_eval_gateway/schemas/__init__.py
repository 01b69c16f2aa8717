"""What goes in and out, as models. Answers are built by `of`, from what the store returns and nothing more."""
