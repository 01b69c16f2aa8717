"""Text from files and agents, made harmless for a terminal, which obeys control characters."""


def clean_text(text: str, *, also: str = "") -> str:
    """Printable characters as they are, and those of `also`; a sign in the place of every other."""
    return "".join(character if character.isprintable() or character in also else "�" for character in text)
