"""The same access for a client in Java, such as Spark's: secrets stay in their files."""

from pathlib import Path

from access.kafka import NO_FILE, KafkaAccess

PROVIDER = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
MODULES = {
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
FETCHES_TOKENS = (
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
)


def java_client(access: KafkaAccess | None = None) -> dict[str, str]:
    """Return how a client in Java connects; nothing for a broker that asks for nothing.

    A secret is a placeholder that the client itself fills in. So it is in no plan, no log, no
    process list and no checkpoint.
    """
    access = access or KafkaAccess()
    if access.kafka_security_protocol == "PLAINTEXT":
        return {}
    config: dict[str, str] = {"security.protocol": access.kafka_security_protocol}
    if access.kafka_ssl_ca_file != NO_FILE:
        config["ssl.truststore.type"] = "PEM"
        config["ssl.truststore.location"] = str(access.kafka_ssl_ca_file)
    if access.kafka_ssl_certificate_file != NO_FILE:
        config["ssl.keystore.type"] = "PEM"
        config["ssl.keystore.certificate.chain"] = placeholder(access.kafka_ssl_certificate_file)
        config["ssl.keystore.key"] = placeholder(access.kafka_ssl_key_file)
    if access.has_login:
        config["sasl.mechanism"] = access.kafka_sasl_mechanism
        config["sasl.jaas.config"] = login(access)
    if access.has_token:
        config["sasl.oauthbearer.token.endpoint.url"] = access.kafka_sasl_token_url
        config["sasl.login.callback.handler.class"] = FETCHES_TOKENS
    return config | provider(access)


def login(access: KafkaAccess) -> str:
    """Return the line that Java logs in with."""
    secret = placeholder(access.kafka_sasl_password_file)
    module = f"{MODULES[access.kafka_sasl_mechanism]} required"
    if access.has_token:
        scope = f' scope="{access.kafka_sasl_scope}"' if access.kafka_sasl_scope else ""
        return f'{module} clientId="{access.kafka_sasl_username}" clientSecret="{secret}"{scope};'
    return f'{module} username="{access.kafka_sasl_username}" password="{secret}";'


def placeholder(file: Path) -> str:
    """Return what the client replaces by the text of a file."""
    absolute = file.absolute()
    return f"${{dir:{absolute.parent}:{absolute.name}}}"


def provider(access: KafkaAccess) -> dict[str, str]:
    """Return what fills in the placeholders, from the folders of these files and from no other."""
    files = (
        access.kafka_sasl_password_file,
        access.kafka_ssl_certificate_file,
        access.kafka_ssl_key_file,
    )
    folders = {str(file.absolute().parent) for file in files if file != NO_FILE}
    if not folders:
        return {}
    return {
        "config.providers": "dir",
        "config.providers.dir.class": PROVIDER,
        "config.providers.dir.param.allowed.paths": ",".join(sorted(folders)),
    }


def spark_source(bootstrap_servers: str, access: KafkaAccess | None = None) -> dict[str, str]:
    """Return the options with which Spark reads what is committed, and nothing else."""
    config = {
        "bootstrap.servers": bootstrap_servers,
        "isolation.level": "read_committed",
        **java_client(access),
    }
    return {f"kafka.{name}": value for name, value in config.items()}
