"""The web: REST API, auth, uploads, leaderboards, pages. It never runs team code."""
