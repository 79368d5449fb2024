// Sends numbers to a topic, each partition by a producer of its own.
// Prints how many of them the client gave up, or why it refused the settings.
// java Prove.java <settings file> <topic> <messages> <partitions>

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

public class Prove {
    public static void main(String[] args) throws Exception {
        var settings = new Properties();
        try (var file = Files.newBufferedReader(Path.of(args[0]))) {
            settings.load(file);
        }
        String topic = args[1];
        int messages = Integer.parseInt(args[2]);
        int partitions = Integer.parseInt(args[3]);
        List<KafkaProducer<String, String>> producers = new ArrayList<>();
        try {
            for (int n = 0; n < partitions; n++) {
                var text = new StringSerializer();
                producers.add(new KafkaProducer<>(settings, text, text));
            }
        } catch (KafkaException refusal) {
            System.out.println("refused " + refusal.getMessage());
            return;
        }
        var failed = new AtomicInteger();
        for (int n = 0; n < messages; n++) {
            int partition = n % partitions;
            String number = String.format("%010d", n);
            var record = new ProducerRecord<String, String>(topic, partition, null, number);
            producers.get(partition).send(record, (metadata, failure) -> {
                if (failure != null) failed.incrementAndGet();
            });
        }
        producers.forEach(KafkaProducer::close); // waits until each record is acknowledged or given up
        System.out.println("failed " + failed);
    }
}
