import faust

app = faust.App("orders", broker="kafka://kafka:9092")
