package shop.common;

import org.springframework.boot.context.properties.ConfigurationProperties;

@ConfigurationProperties(prefix = "shop-producer")
public class ProducerProperties {
    private String acks;
    private boolean idempotent = true;
    private int retryCount;
    private String registryKey;
}
