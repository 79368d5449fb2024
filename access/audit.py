"""How the audit receiver is called: whom the client trusts, and how it says who it is."""

from pathlib import Path
from typing import Self

from pydantic import model_validator
from pydantic_settings import BaseSettings

NO_FILE = Path()  # not set, or set to nothing


class AuditAccess(BaseSettings):
    """Read from the environment; the names are these in upper case."""

    audit_url: str = "http://127.0.0.1:8081"
    audit_ca_file: Path = NO_FILE  # without one: what the machine trusts
    # Its first line is the token. It is read for each request, so that it can be rotated.
    audit_token_file: Path = NO_FILE
    audit_certificate_file: Path = NO_FILE  # of the client, where the receiver asks for one
    audit_key_file: Path = NO_FILE

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
