"""Where Habitat keeps its C++ extension."""
