package shop

import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.streams.KafkaStreams
import org.apache.kafka.streams.StreamsConfig
import java.util.Properties

class Producers(private val servers: String) {
    fun careful() = KafkaProducer<String, String>(
        mapOf(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG to servers, ProducerConfig.ACKS_CONFIG to "all")
    )

    fun hasty(): KafkaProducer<String, String> {
        val settings = Properties().apply {
            put("bootstrap.servers", servers)
            this["retries"] = 0
        }
        return KafkaProducer(settings)
    }

    fun streams(topology: Topology): KafkaStreams {
        val settings = mutableMapOf<String, Any>(StreamsConfig.APPLICATION_ID_CONFIG to "shop")
        settings[StreamsConfig.PROCESSING_GUARANTEE_CONFIG] = StreamsConfig.EXACTLY_ONCE_V2
        return KafkaStreams(topology, settings)
    }
}
