"""Give every principal of acls.json its password on the broker (SCRAM-SHA-512).

Each password is in SECRETS_DIR, in a file of its own. It is set anew each time, so that a file that
was changed is a password that was changed.
"""

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without a type
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from access.kafka import kafka_connection, read_secret
from connect.acls import all_acls
from connect.files import SettingsError
from connect.settings import Settings, kafka_password_file
from connect.topics import refuse_without_login

ITERATIONS = 4096  # the least that the broker takes; the passwords are random, and long
KIND = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)


def make_users(settings: Settings) -> list[str]:
    """Set every password, and return whose."""
    principals = sorted(all_acls())
    wanted: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(name, KIND, read_password(settings, name))
        for name in principals
    ]
    refuse_without_login(settings.kafka_bootstrap_servers)
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    for answer in admin.alter_user_scram_credentials(wanted).values():
        answer.result(settings.connect_timeout_seconds)
    return principals


def read_password(settings: Settings, principal: str) -> bytes:
    """Return the password of a principal; refuse one that anybody could guess."""
    file = kafka_password_file(settings.secrets_dir, principal)
    if not file.is_file():
        raise SettingsError(f"{principal} has no password: write one into {file}")
    try:
        password = read_secret(file).encode()
    except PermissionError:
        raise SettingsError(f"{file} may not be read: is this part in the file's group?") from None
    if not password:
        raise SettingsError(f"the password of {principal} is empty: write one into {file}")
    return password
