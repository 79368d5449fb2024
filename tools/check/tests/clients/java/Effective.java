import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.utils.LogContext;

/**
 * Asks kafka-clients what it makes of configurations: one a line, names and values with tabs between them. A line
 * that begins with "whole" makes a KafkaProducer; one with "config" a ProducerConfig and the two private checks that
 * KafkaProducer adds to it, which is a hundred times as fast. Answers "refused" and why, or the effective values.
 */
public class Effective {
    private static final String[] NAMES = {
        "acks", "retries", "max.in.flight.requests.per.connection", "linger.ms", "request.timeout.ms",
        "transactional.id", "transaction.timeout.ms", "max.request.size"};

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder answers = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            answers.append(answer(line.split("\t", -1))).append('\n');
        }
        System.out.print(answers);
    }

    private static String answer(String[] parts) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", "localhost:1");
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        for (int i = 1; i + 1 < parts.length; i += 2) {
            settings.put(parts[i], parts[i + 1]);
        }
        try {
            return parts[0].equals("whole") ? whole(settings) : config(settings);
        } catch (Exception refused) {
            Throwable cause = refused instanceof InvocationTargetException ? refused.getCause() : refused;
            while (cause.getCause() != null) cause = cause.getCause();
            return "refused\t" + String.valueOf(cause.getMessage()).replace('\n', ' ').replace('\t', ' ');
        }
    }

    private static String config(Map<String, Object> settings) throws Exception {
        ProducerConfig config = new ProducerConfig(settings);
        boolean idempotent = config.getBoolean("enable.idempotence");
        int delivery = 0;
        for (Method each : ProducerConfig.class.getDeclaredMethods()) {
            if (each.getName().equals("idempotenceEnabled")) { // what counts in the versions that have it
                each.setAccessible(true);
                idempotent = (boolean) each.invoke(config);
            }
        }
        for (Method each : KafkaProducer.class.getDeclaredMethods()) {
            each.setAccessible(true);
            if (each.getName().equals("configureInflightRequests")) each.invoke(null, config);
            if (each.getName().equals("configureDeliveryTimeout")) {
                delivery = (int) each.invoke(null, config, new LogContext().logger(Effective.class));
            }
        }
        return told(config, idempotent, delivery);
    }

    private static String whole(Map<String, Object> settings) throws Exception {
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        try {
            ProducerConfig config = (ProducerConfig) field(KafkaProducer.class, producer, "producerConfig");
            boolean idempotent = field(KafkaProducer.class, producer, "transactionManager") != null;
            Object accumulator = field(KafkaProducer.class, producer, "accumulator");
            return told(config, idempotent, (int) field(accumulator.getClass(), accumulator, "deliveryTimeoutMs"));
        } finally {
            producer.close(Duration.ZERO);
        }
    }

    private static Object field(Class<?> type, Object of, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    private static String told(ProducerConfig config, boolean idempotent, int delivery) {
        StringBuilder told = new StringBuilder("ok");
        told.append("\tenable.idempotence\t").append(idempotent).append("\tdelivery.timeout.ms\t").append(delivery);
        for (String name : NAMES) {
            Object value = config.values().get(name);
            if (value != null) told.append('\t').append(name).append('\t').append(value);
        }
        return told.toString();
    }
}
