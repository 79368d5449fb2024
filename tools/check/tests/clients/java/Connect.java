import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.Worker;
import org.apache.kafka.connect.runtime.WorkerConfig;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Asks Connect's Worker which settings it gives to the producer of a source connector: one case a line, names and
 * values with tabs between them, the worker's under "worker:". Answers with a line for Effective, or "refused".
 */
public class Connect {
    private static final String POLICIES = "org.apache.kafka.connect.connector.policy.";

    public static void main(String[] arguments) throws Exception {
        Plugins plugins = new Plugins(Map.of("plugin.discovery", "service_load"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder answers = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            answers.append(answer(plugins, line.split("\t", -1))).append('\n');
        }
        System.out.print(answers);
    }

    private static String answer(Plugins plugins, String[] parts) throws Exception {
        Map<String, String> worker = new HashMap<>(Map.of(
            "bootstrap.servers", "localhost:1", "group.id", "connect", "config.storage.topic", "c",
            "offset.storage.topic", "o", "status.storage.topic", "s",
            "key.converter", "org.apache.kafka.connect.storage.StringConverter",
            "value.converter", "org.apache.kafka.connect.storage.StringConverter"));
        Map<String, String> connector = new HashMap<>(Map.of("name", "orders", "connector.class", "Some"));
        for (int i = 1; i + 1 < parts.length; i += 2) {
            boolean ofWorker = parts[i].startsWith("worker:");
            (ofWorker ? worker : connector).put(parts[i].replace("worker:", ""), parts[i + 1]);
        }
        try {
            StringBuilder told = new StringBuilder("config");
            given(new DistributedConfig(worker), worker, new ConnectorConfig(plugins, connector))
                .forEach((name, value) -> told.append('\t').append(name).append('\t').append(value));
            return told.toString();
        } catch (InvocationTargetException refused) {
            return "refused\t" + refused.getCause().getMessage();
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> given(DistributedConfig config, Map<String, String> worker, ConnectorConfig of)
            throws Exception {
        String policyName = worker.getOrDefault("connector.client.config.override.policy", "All");
        ConnectorClientConfigOverridePolicy policy = (ConnectorClientConfigOverridePolicy) Class
            .forName(POLICIES + policyName + "ConnectorClientConfigOverridePolicy").getDeclaredConstructor().newInstance();
        policy.configure(worker);
        if (config.exactlyOnceSourceEnabled()) {
            Method method = Worker.class.getDeclaredMethod("exactlyOnceSourceTaskProducerConfigs", ConnectorTaskId.class,
                WorkerConfig.class, ConnectorConfig.class, Class.class, ConnectorClientConfigOverridePolicy.class, String.class);
            method.setAccessible(true);
            ConnectorTaskId task = new ConnectorTaskId("orders", 0);
            return (Map<String, Object>) method.invoke(null, task, config, of, SourceConnector.class, policy, "cluster");
        }
        Method method = Worker.class.getDeclaredMethod("baseProducerConfigs", String.class, String.class,
            WorkerConfig.class, ConnectorConfig.class, Class.class, ConnectorClientConfigOverridePolicy.class, String.class);
        method.setAccessible(true);
        return (Map<String, Object>) method.invoke(
            null, "orders", "client", config, of, SourceConnector.class, policy, "cluster");
    }
}
