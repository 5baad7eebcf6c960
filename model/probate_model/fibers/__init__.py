"""The rules of profile ``fibers``; see ``probate_model.rooms``."""
