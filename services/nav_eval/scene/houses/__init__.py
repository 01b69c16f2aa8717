"""Generated houses: floor plan, furniture, textures, light and semantics from one seed."""

from nav_eval.scene.houses.generation import generate_house
from nav_eval.scene.houses.house import House
from nav_eval.scene.houses.plan.templates import TEMPLATES
from nav_eval.scene.houses.restyling import restyle

__all__ = ["TEMPLATES", "House", "generate_house", "restyle"]
