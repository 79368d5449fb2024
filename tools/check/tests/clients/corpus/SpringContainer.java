class SpringContainer {
    @Bean
    ConsumerFactory<String, String> factory() {
        return new DefaultKafkaConsumerFactory<>(Map.of("group.id", "orders", "auto.offset.reset", "earliest"));
    }
}
