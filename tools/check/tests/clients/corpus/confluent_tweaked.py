from confluent_kafka import Producer
from elsewhere import log, tweak

conf = {"enable.idempotence": True, "max.in.flight": 5}
told = dict(conf)
tweak(conf)
log(told)
producer = Producer(conf)
other = Producer(told)
