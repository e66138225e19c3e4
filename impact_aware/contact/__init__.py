"""Contact geometry and contact-force models."""

from impact_aware.contact.geometry import Contact, FreeObject, contact_jacobian, contact_point

__all__ = ["Contact", "FreeObject", "contact_jacobian", "contact_point"]
