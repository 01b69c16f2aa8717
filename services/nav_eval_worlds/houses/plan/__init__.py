"""Floor plans: templates, rooms, doors and windows on paper."""
