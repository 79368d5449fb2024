class JavaLoaded {
    Object ofAFile() throws IOException {
        Properties settings = new Properties();
        settings.put("acks", "all");
        settings.load(new FileInputStream("producer.properties"));
        return new KafkaProducer<>(settings);
    }

    Object handedOver() {
        Map<String, Object> settings = new HashMap<>(Map.of("acks", "all"));
        Settings.fillIn(settings);
        return new KafkaProducer<>(settings);
    }

    Object handedToOurs() {
        Map<String, Object> settings = new HashMap<>();
        hasten(settings);
        log.info("starts with {}", settings);
        return new KafkaProducer<>(settings);
    }

    void hasten(Map<String, Object> given) {
        given.put("acks", "1");
    }

    Object loadedByOurs() {
        return new KafkaProducer<>(loaded());
    }

    Properties loaded() {
        Properties settings = new Properties();
        settings.load(input);
        return settings;
    }
}
