"""What is kept: models, migrations, blob storage, queries.

Everything is a function that takes a `Session` of `nav_eval_store.database`; nothing here knows the web
or the queue. docs/store.md shows how the parts fit together.
"""
