"""What is kept: models, migrations, blob storage, queries."""
