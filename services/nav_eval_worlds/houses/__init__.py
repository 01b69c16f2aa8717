"""Generated houses: one seed, one house (`generation`); and houses as files (`house_files`)."""

from nav_eval_worlds.houses.generation import generate_house
from nav_eval_worlds.houses.house import GeneratedHouse, restyle
from nav_eval_worlds.houses.plan.model import TEMPLATES

__all__ = ["TEMPLATES", "GeneratedHouse", "generate_house", "restyle"]
