"""How the audit receiver is called: whom the client trusts, and how it says who it is."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator
from pydantic_settings import BaseSettings, NoDecode
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

NO_FILE = Path()  # not set, or set to nothing

Network = IPv4Network | IPv6Network


def split_list(text: str | list[str]) -> list[str]:
    """Return what stands between commas."""
    parts = text.split(",") if isinstance(text, str) else text
    return [part.strip() for part in parts if part.strip()]


def read_networks(text: str | list[str]) -> list[Network]:
    """Return the networks between commas; an address is a network of its own."""
    return [ip_network(part) for part in split_list(text)]


class AuditAccess(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    audit_url: str = "http://127.0.0.1:8081"
    audit_ca_file: Path = NO_FILE  # without one: what the machine trusts
    # Its first line is the token. It is read for each request, so that it can be rotated.
    audit_token_file: Path = NO_FILE
    audit_certificate_file: Path = NO_FILE  # of the client, where the receiver asks for one
    audit_key_file: Path = NO_FILE
    # Where entries may go: the names that the URL may have, and where these may lead.
    audit_allowed_hosts: Annotated[list[str], NoDecode, BeforeValidator(split_list)] = []
    audit_allowed_networks: Annotated[list[Network], NoDecode, BeforeValidator(read_networks)] = []

    @model_validator(mode="after")
    def _goes_where_it_may(self) -> Self:
        """Refuse a host that is not in the list, as the HTTP client reads the URL."""
        try:
            url = parse_url(self.audit_url)
        except LocationParseError:
            raise ValueError(f"AUDIT_URL={self.audit_url}: not an address") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError(f"AUDIT_URL={self.audit_url}: must begin with http:// or https://")
        if url.auth:
            raise ValueError("AUDIT_URL: a password does not belong there (AUDIT_TOKEN_FILE)")
        if self.audit_allowed_hosts and url.host not in self.audit_allowed_hosts:
            raise ValueError(f"AUDIT_URL: {url.host} is not one of AUDIT_ALLOWED_HOSTS")
        return self

    @model_validator(mode="after")
    def _nothing_is_sent_in_clear(self) -> Self:
        """Refuse a token without encryption, and half of a certificate."""
        is_encrypted = self.audit_url.startswith("https://")
        needs_encryption = {
            "AUDIT_CA_FILE": self.audit_ca_file,
            "AUDIT_TOKEN_FILE": self.audit_token_file,
        }
        for name, file in needs_encryption.items():
            if file != NO_FILE and not is_encrypted:
                raise ValueError(f"AUDIT_URL={self.audit_url}: {name} needs https")
        if [self.audit_certificate_file, self.audit_key_file].count(NO_FILE) == 1:
            raise ValueError("AUDIT_CERTIFICATE_FILE and AUDIT_KEY_FILE belong together")
        return self

    def token(self) -> str:
        """Return the token of now, or nothing where none is needed."""
        if self.audit_token_file == NO_FILE:
            return ""
        first, *_ = [*self.audit_token_file.read_text().splitlines(), ""]
        return first.strip()
