"""Resumable uploads: how far each one is, and where its bytes grow until they become a blob."""
