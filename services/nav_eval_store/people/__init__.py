"""Who takes part: users, teams, and the tokens that they authenticate with."""
