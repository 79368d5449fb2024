"""A private CA and certificates with names and dates, made by openssl for this machine alone."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ops.stack.supervisor import StackError

CA_DAYS = 3650
DAYS = 365
CA_EXTENSIONS = (
    "basicConstraints=critical,CA:TRUE,pathlen:0",
    "keyUsage=critical,keyCertSign,cRLSign",
)
SERVER = "serverAuth"
CLIENT = "clientAuth"


def make_ca(folder: Path) -> Path:
    """Return the certificate of the folder's CA, which is made unless it is there."""
    certificate = folder / "ca.pem"
    if not certificate.exists():
        folder.mkdir(parents=True, exist_ok=True)
        openssl(
            *("req", "-x509", "-newkey", "rsa:3072", "-sha256", "-nodes", "-days", str(CA_DAYS)),
            *("-subj", "/CN=outbox pipeline CA"),
            *(word for extension in CA_EXTENSIONS for word in ("-addext", extension)),
            *("-keyout", str(folder / "ca.key"), "-out", str(certificate)),
        )
    return certificate


def make_certificate(
    folder: Path,
    name: str,
    *,
    hosts: Sequence[str] = ("localhost",),
    addresses: Sequence[str] = ("127.0.0.1",),
    usage: str = SERVER,
) -> tuple[Path, Path]:
    """Return certificate and key of this name, signed by the folder's CA."""
    ca = make_ca(folder)
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    request, extensions = folder / f"{name}.csr", folder / f"{name}.ext"
    names = [*(f"DNS:{host}" for host in hosts), *(f"IP:{address}" for address in addresses)]
    lines = (
        "basicConstraints=CA:FALSE",
        "keyUsage=critical,digitalSignature,keyEncipherment",
        f"extendedKeyUsage={usage}",
        f"subjectAltName={','.join(names)}",
    )
    extensions.write_text("\n".join(lines) + "\n")
    openssl(
        *("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
        *("-keyout", str(key), "-out", str(request)),
    )
    openssl(
        *("x509", "-req", "-sha256", "-days", str(DAYS), "-in", str(request)),
        *("-CA", str(ca), "-CAkey", str(folder / "ca.key"), "-CAcreateserial"),
        *("-extfile", str(extensions), "-out", str(certificate)),
    )
    request.unlink()
    extensions.unlink()
    return certificate, key


def openssl(*words: str) -> None:
    """Run openssl; no key of it is readable by others."""
    try:
        done = subprocess.run(
            ["openssl", *words],
            capture_output=True,
            text=True,
            check=False,
            umask=0o077,
        )
    except FileNotFoundError:
        raise StackError(
            "openssl makes the certificates: install it (apt install openssl)"
        ) from None
    if done.returncode:
        raise StackError(f"openssl {words[0]}: {done.stderr.strip()}")
