"""Authorities of the tests' own, and certificates of servers that they sign."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.e2e.session_files import now

_DAY = timedelta(days=1)


class Authority:
    """Signs certificates for a day."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            _begun(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def write(self, path: Path) -> Path:
        """Write what others must know to trust it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def sign(self, host: str, *, certificate: Path, key: Path) -> None:
        """Write the certificate of a server of this name, and its key, which only its owner may read."""
        own = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        signed = (
            _begun(subject, self._name, own)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        key.touch(0o600)
        key.write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - _DAY)
        .not_valid_after(now() + _DAY)
    )
