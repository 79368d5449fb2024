from .conf import producer_conf

__all__ = ["producer_conf"]
