package shop;

class Config {
    @Value("${shop.retries:3}")
    private int retries;

    ProducerFactory<String, String> factory(KafkaProperties properties) {
        Map<String, Object> settings = properties.buildProducerProperties();
        settings.put(ProducerConfig.RETRIES_CONFIG, retries);
        return new DefaultKafkaProducerFactory<>(settings);
    }
}
