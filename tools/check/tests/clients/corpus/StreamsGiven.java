class StreamsGiven {
    KafkaStreams start(Topology topology, Properties given) {
        return new KafkaStreams(topology, given);
    }
}
