from confluent_kafka import Consumer, Producer


def settings(group):
    return {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}


consumer = Consumer(settings("orders"))
