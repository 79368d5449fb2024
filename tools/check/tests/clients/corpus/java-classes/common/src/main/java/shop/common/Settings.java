package shop.common;

import java.util.Properties;
import org.apache.kafka.clients.producer.ProducerConfig;

public class Settings {
    public static final String ONE = "1";

    public static Properties careful() {
        Properties settings = new Properties();
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "true");
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 5);
        return settings;
    }
}
