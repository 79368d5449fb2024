from shop.settings import settings


def producer_conf() -> dict:
    return {"bootstrap.servers": settings.servers, "enable.idempotence": settings.idempotent}
