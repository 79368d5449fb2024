package shop;

import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.kafka.core.*;

class Producers {
    private static final String ALL = "all";

    @Value("${shop.acks:1}")
    private String acks;

    Map<String, Object> careful() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, "kafka:9092");
        settings.put(ProducerConfig.ACKS_CONFIG, ALL);
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.put(ProducerConfig.RETRIES_CONFIG, Integer.MAX_VALUE);
        return settings;
    }

    ProducerFactory<String, String> factory() {
        return new DefaultKafkaProducerFactory<>(careful());
    }

    Producer<String, String> hasty() {
        return new KafkaProducer<>(Map.of("bootstrap.servers", "kafka:9092", "acks", "1"));
    }

    Producer<String, String> configured() {
        Properties settings = new Properties();
        settings.setProperty("acks", acks);
        return new KafkaProducer<String, String>(settings);
    }

    Producer<String, String> given(Map<String, Object> settings) {
        return new KafkaProducer<>(settings);
    }

    Consumer<String, String> reader(boolean late) {
        Properties settings = new Properties();
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, "orders");
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        if (late) {
            settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "latest");
        } else {
            settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        }
        return new KafkaConsumer<>(settings);
    }
}
