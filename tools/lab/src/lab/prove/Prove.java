// Sends numbers to a topic, each partition by a producer of its own.
// Prints how many of them the client gave up, or why it refused the settings.
// With a transaction of so many numbers, one of further numbers follows that is taken back.
// java Prove.java <settings file> <topic> <messages> <partitions> <of a transaction, or 0> <taken back>

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
        int size = Integer.parseInt(args[4]);
        int surplus = Integer.parseInt(args[5]);
        String id = settings.getProperty("transactional.id"); // the control has none
        List<KafkaProducer<String, String>> producers = new ArrayList<>();
        try {
            for (int n = 0; n < partitions; n++) {
                var text = new StringSerializer();
                if (id != null) settings.setProperty("transactional.id", id + "-" + n);
                producers.add(new KafkaProducer<>(settings, text, text));
            }
            if (id != null) producers.forEach(KafkaProducer::initTransactions);
        } catch (KafkaException refusal) {
            System.out.println("refused " + refusal.getMessage());
            return;
        }
        var failed = new AtomicInteger();
        if (size == 0) {
            for (int n = 0; n < messages; n++) send(producers, topic, n % partitions, n, failed);
        }
        int next = messages;
        for (int first = 0; size > 0 && first < messages; first += size * partitions) {
            int last = Math.min(messages, first + size * partitions);
            for (int partition = 0; partition < partitions; partition++) {
                var producer = producers.get(partition);
                if (id != null) producer.beginTransaction();
                for (int n = first + partition; n < last; n += partitions) send(producers, topic, partition, n, failed);
                producer.flush();
                if (id != null) producer.commitTransaction();

                if (id != null) producer.beginTransaction();
                for (int n = 0; n < surplus; n++) send(producers, topic, partition, next++, failed);
                producer.flush();
                if (id != null) producer.abortTransaction();
            }
        }
        producers.forEach(KafkaProducer::close); // waits until each record is acknowledged or given up
        System.out.println("failed " + failed);
    }

    static void send(List<KafkaProducer<String, String>> producers, String topic, int partition, int n, AtomicInteger failed) {
        var record = new ProducerRecord<String, String>(topic, partition, null, String.format("%010d", n));
        producers.get(partition).send(record, (metadata, failure) -> {
            if (failure != null) failed.incrementAndGet();
        });
    }
}
