"""What goes in and out, as models. Answers are built by `from_row` or `of`, from what the store returns."""
