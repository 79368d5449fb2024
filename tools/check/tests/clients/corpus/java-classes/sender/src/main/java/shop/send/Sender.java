package shop.send;

import java.util.*;
import io.acme.serializers.AcmeSerializerSettings;
import org.apache.kafka.clients.producer.*;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.core.*;
import shop.common.ProducerProperties;
import shop.common.Settings;
import static shop.common.Settings.careful;

class Sender {
    private final ProducerProperties properties;

    Producer<String, String> byAClass() {
        return new KafkaProducer<>(Settings.careful());
    }

    Producer<String, String> byAStaticImport() {
        return new KafkaProducer<>(careful());
    }

    Producer<String, String> byAConstant() {
        return new KafkaProducer<>(Map.of(ProducerConfig.ACKS_CONFIG, Settings.ONE));
    }

    Map<String, Object> byProperties() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ProducerConfig.ACKS_CONFIG, properties.getAcks());
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, properties.isIdempotent());
        settings.put(ProducerConfig.RETRIES_CONFIG, properties.getRetryCount());
        settings.put(properties.getRegistryKey(), "http://registry:8081");
        settings.put(AcmeSerializerSettings.REGISTRY, "http://registry:8081");
        settings.put(Sender.class.getName(), "sender");
        return settings;
    }

    @Bean
    ProducerFactory<String, String> factory() {
        return new DefaultKafkaProducerFactory<>(byProperties());
    }

    @Bean
    Map<String, Object> hasty() {
        return Map.of("acks", "1");
    }

    @Bean
    ProducerFactory<String, String> ofABean(Map<String, Object> hasty) {
        return new DefaultKafkaProducerFactory<>(hasty);
    }

    Producer<String, String> ofAnArgument(Properties given) {
        return new KafkaProducer<>(given);
    }

    void call() {
        Properties own = new Properties();
        own.put("acks", "0");
        ofAnArgument(own);
    }

    Producer<String, String> ofNobody(Properties own) {
        return new KafkaProducer<>(own);
    }
}
