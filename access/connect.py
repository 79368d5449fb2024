"""How Connect's REST API is called: whom we trust, and how we say who we are."""

from pathlib import Path
from typing import Self

import requests
from pydantic import model_validator
from pydantic_settings import BaseSettings

from access.kafka import NO_FILE, read_secret


class ConnectAccess(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    connect_url: str = "http://connect:8083"
    connect_ca_file: Path = NO_FILE  # without one: what the machine trusts
    connect_username: str = ""  # without one, nobody is asked
    connect_password_file: Path = NO_FILE

    @property
    def has_login(self) -> bool:
        """Return whether a name and a password are sent."""
        return bool(self.connect_username)

    @model_validator(mode="after")
    def _nothing_is_sent_in_clear(self) -> Self:
        """Refuse a password without encryption, and half of a login."""
        is_encrypted = self.connect_url.startswith("https://")
        has_password = self.connect_password_file != NO_FILE
        if self.has_login != has_password:
            raise ValueError("CONNECT_USERNAME and CONNECT_PASSWORD_FILE belong together")
        needs_encryption = {
            "CONNECT_CA_FILE": self.connect_ca_file != NO_FILE,
            "CONNECT_USERNAME": self.has_login,
        }
        for name, is_set in needs_encryption.items():
            if is_set and not is_encrypted:
                raise ValueError(f"CONNECT_URL={self.connect_url}: {name} needs https")
        return self


def connect_session(access: ConnectAccess | None = None) -> requests.Session:
    """Return what calls the REST API; the password is read now, so that it can be rotated."""
    access = access or ConnectAccess()
    session = requests.Session()
    # Else the environment's own CA file would win over ours, and .netrc over our password.
    session.trust_env = False
    if access.connect_ca_file != NO_FILE:
        session.verify = str(access.connect_ca_file)
    if access.has_login:
        password = read_secret(access.connect_password_file)
        session.auth = (access.connect_username, password)
    return session
