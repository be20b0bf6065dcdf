"""Secrets with labels, and ordinary text: what redaction is measured against.

Everything is invented, and put together at run time from a seed, so that no scanner takes this file for a leak. A kind
of secret makes values; a carrier is the text around one. The held-out kinds and carriers were written after the code
that they test, and are counted apart.
"""

from __future__ import annotations

import base64
import json
import string
import sysconfig
import urllib.parse
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

SEED = 20261121

_LETTERS = string.ascii_letters
_MIXED = _LETTERS + string.digits
_URL_SAFE = _MIXED + "-_"
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits
_BASE64 = _MIXED + "+/"
_BASE32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True, slots=True)
class Sample:
    """A text, what must be gone from it, and the name that must stay ("" where there is none)."""

    kind: str
    carrier: str
    text: str
    secrets: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    """A secret in a setting: how programs and people call it, and a maker of values."""

    setting: str
    words: str
    make: Callable[[Random], str]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text that brings its own form along, and the secrets in it."""

    text: str
    secrets: tuple[str, ...]


def some(random: Random, alphabet: str, count: int) -> str:
    """A word of `count` characters."""
    return "".join(random.choices(alphabet, k=count))


def a(prefix: str, alphabet: str, count: int) -> Callable[[Random], str]:
    """A maker of tokens with a prefix."""
    return lambda random: prefix + some(random, alphabet, count)


def password(random: Random) -> str:
    """A password as managers make them: letters, digits, some punctuation that shells and URLs leave alone."""
    inside = some(random, _MIXED + "!#%^*_+-.~", random.randint(8, 18))
    return some(random, _LETTERS, 1) + inside + some(random, string.digits, 1)


def _jwt(random: Random) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": some(random, _HEX, 12), "exp": random.randrange(10**9)})
    head = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{some(random, _URL_SAFE, 43)}"


def _base64(count: int) -> Callable[[Random], str]:
    return lambda random: base64.b64encode(random.randbytes(count)).decode()


# -- kinds known by their form -----------------------------------------------------------------------------------------

TOKENS: dict[str, Named] = {
    "openai": Named("OPENAI_API_KEY", "OpenAI key", a("sk-" + "proj-", _URL_SAFE, 74)),
    "openai-old": Named("OPENAI_API_KEY", "OpenAI key", a("sk" + "-", _MIXED, 48)),
    "anthropic": Named("ANTHROPIC_API_KEY", "Claude key", a("sk-" + "ant-api03-", _URL_SAFE, 93)),
    "openrouter": Named("OPENROUTER_API_KEY", "OpenRouter key", a("sk-" + "or-v1-", _HEX, 64)),
    "groq": Named("GROQ_API_KEY", "Groq key", a("gsk" + "_", _MIXED, 52)),
    "google-api-key": Named("GEMINI_API_KEY", "Gemini key", a("AI" + "za", _URL_SAFE, 35)),
    "google-access-token": Named("GOOGLE_TOKEN", "Google access token", a("ya" + "29.", _URL_SAFE, 120)),
    "google-refresh-token": Named("GOOGLE_REFRESH_TOKEN", "refresh token", a("1/" + "/0", _URL_SAFE, 60)),
    "google-client-secret": Named("GOOGLE_CLIENT_SECRET", "client secret", a("GOC" + "SPX-", _URL_SAFE, 28)),
    "aws-key-id": Named("AWS_ACCESS_KEY_ID", "AWS key id", a("AK" + "IA", _UPPER, 16)),
    "azure-client-secret": Named(
        "AZURE_CLIENT_SECRET",
        "Azure client secret",
        lambda random: f"{some(random, _MIXED, 3)}8" + "Q~" + some(random, _MIXED + "_.-", 34),
    ),
    "github": Named(
        "GITHUB_TOKEN", "GitHub token", lambda random: f"gh{random.choice('pousr')}_{some(random, _MIXED, 36)}"
    ),
    "github-fine-grained": Named(
        "GH_TOKEN",
        "GitHub token",
        lambda random: "github" + f"_pat_{some(random, _MIXED, 22)}_{some(random, _MIXED, 59)}",
    ),
    "gitlab": Named("GITLAB_TOKEN", "GitLab token", a("gl" + "pat-", _URL_SAFE, 20)),
    "slack-bot": Named(
        "SLACK_BOT_TOKEN",
        "Slack token",
        lambda random: (
            "xo" + f"xb-{some(random, string.digits, 12)}-{some(random, string.digits, 12)}-{some(random, _MIXED, 24)}"
        ),
    ),
    "slack-app": Named("SLACK_APP_TOKEN", "Slack app token", a("xa" + "pp-1-A01-", _HEX, 64)),
    "discord-bot": Named(
        "DISCORD_TOKEN",
        "Discord token",
        lambda random: "M" + f"{some(random, _MIXED, 25)}.{some(random, _URL_SAFE, 6)}.{some(random, _URL_SAFE, 38)}",
    ),
    "telegram-bot": Named(
        "TELEGRAM_BOT_TOKEN",
        "bot token",
        lambda random: f"{random.randrange(10**9, 10**10)}:" + "AA" + some(random, _URL_SAFE, 33),
    ),
    "stripe": Named("STRIPE_KEY", "Stripe key", a("sk_" + "live_", _MIXED, 24)),
    "stripe-webhook": Named("STRIPE_WEBHOOK", "webhook secret", a("wh" + "sec_", _MIXED, 32)),
    "twilio": Named("TWILIO_API_KEY", "Twilio key", a("S" + "K", _HEX, 32)),
    "sendgrid": Named(
        "SENDGRID_API_KEY",
        "SendGrid key",
        lambda random: "S" + f"G.{some(random, _URL_SAFE, 22)}.{some(random, _URL_SAFE, 43)}",
    ),
    "mailgun": Named("MAILGUN_API_KEY", "Mailgun key", a("ke" + "y-", _HEX, 32)),
    "npm": Named("NPM_TOKEN", "npm token", a("np" + "m_", _MIXED, 36)),
    "pypi": Named("TWINE_PASSWORD", "PyPI token", a("py" + "pi-AgEIcHlwaS5vcmc", _URL_SAFE, 150)),
    "hugging-face": Named("HF_TOKEN", "Hugging Face token", a("h" + "f_", _LETTERS + "0123", 34)),
    "digitalocean": Named("DO_TOKEN", "DigitalOcean token", a("do" + "p_v1_", _HEX, 64)),
    "databricks": Named("DATABRICKS_TOKEN", "Databricks token", a("da" + "pi", _HEX, 32)),
    "vault": Named("VAULT_TOKEN", "Vault token", a("hv" + "s.CAES", _URL_SAFE, 90)),
    "jwt": Named("ID_TOKEN", "session token", _jwt),
    "age": Named("AGE_KEY", "age key", a("AGE-SEC" + "RET-KEY-1", _BASE32, 58)),
    "shopify": Named("SHOPIFY_TOKEN", "Shopify token", a("shp" + "at_", _HEX, 32)),
    "linear": Named("LINEAR_API_KEY", "Linear key", a("lin" + "_api_", _MIXED, 40)),
    "atlassian": Named("JIRA_TOKEN", "Jira token", a("ATA" + "TT3xFfGF0", _URL_SAFE, 160)),
    "grafana": Named(
        "GRAFANA_TOKEN", "Grafana token", lambda random: "gl" + f"sa_{some(random, _MIXED, 32)}_{some(random, _HEX, 8)}"
    ),
    "docker": Named("DOCKER_TOKEN", "Docker token", a("dckr" + "_pat_", _URL_SAFE, 27)),
    "tailscale": Named("TS_AUTHKEY", "Tailscale key", a("ts" + "key-auth-kabc123CNTRL-", _MIXED, 32)),
    "bcrypt": Named("ADMIN_HASH", "hash", lambda random: "$2" + "b$12$" + some(random, _MIXED + "./", 53)),
    "shadow-hash": Named(
        "ROOT_HASH", "hash", lambda random: "$" + f"6${some(random, _MIXED, 16)}${some(random, _MIXED + './', 86)}"
    ),
}

# -- kinds known by their name -----------------------------------------------------------------------------------------

SETTINGS: dict[str, Named] = {
    "password": Named("DB_PASSWORD", "password", password),
    "passphrase": Named("GPG_PASSPHRASE", "passphrase", password),
    "aws-secret": Named("AWS_SECRET_ACCESS_KEY", "secret access key", a("", _BASE64, 40)),
    "azure-storage-key": Named("AZURE_STORAGE_KEY", "storage key", _base64(64)),
    "datadog": Named("DD_API_KEY", "API key", a("", _HEX, 32)),
    "mistral": Named("MISTRAL_API_KEY", "api key", a("", _MIXED, 32)),
    "cloudflare": Named("CLOUDFLARE_API_TOKEN", "API token", a("", _URL_SAFE, 40)),
    "django": Named("DJANGO_SECRET_KEY", "secret key", a("", _MIXED + "!#%^*-_=+", 50)),
    "client-secret": Named("OAUTH_CLIENT_SECRET", "client secret", a("", _MIXED, 40)),
    "refresh-token": Named("REFRESH_TOKEN", "refresh token", a("", _URL_SAFE, 64)),
    "wireguard": Named("WG_PRIVATE_KEY", "private key", _base64(32)),
    "ethereum": Named("WALLET_PRIVATE_KEY", "private key", a("0x", _HEX, 64)),
    "twilio-auth-token": Named("TWILIO_AUTH_TOKEN", "auth token", a("", _HEX, 32)),
    "signing-key": Named("JWT_SIGNING_KEY", "signing key", a("", _MIXED, 44)),
    "two-factor-seed": Named("TOTP_SECRET", "TOTP secret", a("", _BASE32, 32)),
}


# -- kinds with a text of their own ------------------------------------------------------------------------------------


def _pem(label: str, lines: int, *, cut: bool = False) -> Callable[[Random], Phrase]:
    def make(random: Random) -> Phrase:
        body = [some(random, _BASE64, 64) for _ in range(lines)] + [some(random, _BASE64, 30) + "=="]
        if cut:
            body[-1] = body[-1][:9]
        text = "\n".join((f"-----BEGIN {label}-----", *body, *(() if cut else (f"-----END {label}-----",))))
        return Phrase(text, tuple(body))

    return make


def _url(pattern: str) -> Callable[[Random], Phrase]:
    def make(random: Random) -> Phrase:
        secret = some(random, _MIXED, 1) + some(random, _MIXED + "-_.~!", random.randint(7, 24))
        return Phrase(pattern.format(secret), (secret,))

    return make


def _with(pattern: str, make_value: Callable[[Random], str] = password) -> Callable[[Random], Phrase]:
    def make(random: Random) -> Phrase:
        secret = make_value(random)
        return Phrase(pattern.replace("SECRET", secret), (secret,))

    return make


def _service_account(random: Random) -> Phrase:
    key = _pem("PRIVATE" + " KEY", 6)(random)
    account = {"type": "service_account", "project_id": "demo", "private_key": key.text, "client_email": "a@b.iam"}
    return Phrase(json.dumps(account, indent=2), key.secrets)


def _cookies(random: Random) -> Phrase:
    session, other = some(random, _HEX, 32), some(random, _URL_SAFE, 43)
    return Phrase(f"Cookie: sessionid={session}; theme=dark; remember={other}", (session, other))


def _slack_webhook(random: Random) -> Phrase:
    secret = f"T{some(random, _UPPER, 8)}/B{some(random, _UPPER, 10)}/{some(random, _MIXED, 24)}"
    return Phrase("https://hooks.sla" + f"ck.com/services/{secret}", (secret,))


def _discord_webhook(random: Random) -> Phrase:
    secret = some(random, _URL_SAFE, 68)
    return Phrase("https://discord.com/api/web" + f"hooks/{random.randrange(10**17, 10**18)}/{secret}", (secret,))


def _basic(random: Random) -> Phrase:
    secret = base64.b64encode(f"admin:{password(random)}".encode()).decode()
    return Phrase(f"Authorization: Basic {secret}", (secret,))


PHRASES: dict[str, Callable[[Random], Phrase]] = {
    "private-key-rsa": _pem("RSA PRIVATE" + " KEY", 12),
    "private-key-openssh": _pem("OPENSSH PRIVATE" + " KEY", 6),
    "private-key-pgp": _pem("PGP PRIVATE" + " KEY BLOCK", 10),
    "private-key-cut": _pem("EC PRIVATE" + " KEY", 3, cut=True),
    "gcp-service-account": _service_account,
    "basic-header": _basic,
    "bearer-header": _with("Authorization: Bearer SECRET", a("", _MIXED + "-._", 40)),
    "api-key-header": _with("X-Api-Key: SECRET", a("", _MIXED, 32)),
    "private-token-header": _with("PRIVATE-TOKEN: SECRET", a("", _MIXED, 20)),
    "cookie-header": _cookies,
    "set-cookie-header": _with("Set-Cookie: sid=SECRET; Path=/; HttpOnly", a("s%3A", _MIXED, 40)),
    "postgres-url": _url("postgresql://app:{}@db.internal:5432/app"),
    "mysql-url": _url("mysql+pymysql://root:{}@127.0.0.1:3306/shop"),
    "mongodb-url": _url("mongodb+srv://admin:{}@cluster0.abcde.mongodb.net/?retryWrites=true"),
    "redis-url": _url("redis://:{}@cache:6379/0"),
    "amqp-url": _url("amqp://guest:{}@rabbit:5672//"),
    "git-url": _url("https://oauth2:{}@git.example.org/team/app.git"),
    "token-url": _with("https://SECRET@git.example.org/team/app.git", a("", _MIXED, 40)),
    "jdbc": _with("jdbc:sqlserver://db:1433;databaseName=x;user=sa;password=SECRET;encrypt=true", a("", _MIXED, 16)),
    "ado-net": _with("Server=tcp:db,1433;User Id=sa;Password=SECRET;Encrypt=True;", a("", _MIXED, 16)),
    "azure-connection-string": _with(
        "DefaultEndpointsProtocol=https;AccountName=demo;AccountKey=SECRET;EndpointSuffix=core.windows.net", _base64(64)
    ),
    "azure-sas": _with(
        "https://demo.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=SECRET",
        lambda random: urllib.parse.quote(_base64(32)(random), safe=""),
    ),
    "aws-presigned": _with(
        "https://b.s3.amazonaws.com/k?X-Amz-Date=20261121T220000Z&X-Amz-Signature=SECRET", a("", _HEX, 64)
    ),
    "slack-webhook": _slack_webhook,
    "discord-webhook": _discord_webhook,
    "telegram-url": _with(
        "https://api.telegram.org/bot7712345678:SECRET/getMe", lambda random: "AA" + some(random, _URL_SAFE, 33)
    ),
    "curl-user": _with("curl -u admin:SECRET https://example.org/api", a("", _MIXED, 12)),
    "curl-header": _with("curl -H 'Authorization: token SECRET' https://example.org", a("", _HEX, 40)),
    "mysql-option": _with("mysql -u root -pSECRET shop", a("", _MIXED, 12)),
    "sshpass": _with("sshpass -p SECRET ssh root@10.0.0.5", a("", _MIXED, 12)),
    "docker-login": _with("docker login -u me -p SECRET registry.example.org", a("", _MIXED, 20)),
    "long-option": _with("tool login --user me --password SECRET", a("", _MIXED, 14)),
    "long-option-equals": _with("tool push --token=SECRET --force", a("", _MIXED, 24)),
    "netrc": _with("machine api.example.org login me password SECRET", a("", _MIXED, 14)),
    "pgpass": _with("localhost:5432:shop:app:SECRET", a("", _MIXED, 14)),
    "htpasswd": _with(
        "admin:SECRET", lambda random: "$ap" + f"r1${some(random, _MIXED, 8)}${some(random, _MIXED + './', 22)}"
    ),
    "npmrc": _with("//registry.example.org/:_authToken=SECRET", a("", _MIXED, 36)),
    "docker-config": _with('{"auths": {"r.example.org": {"auth": "SECRET"}}}', _base64(24)),
    "kubernetes-env": _with("- name: DB_PASSWORD\n  value: SECRET", a("", _MIXED, 16)),
    "otpauth": _with("otpauth://totp/Shop:me?secret=SECRET&issuer=Shop", a("", _BASE32, 16)),
    "wg-config": _with("[Interface]\nPrivateKey = SECRET\nAddress = 10.0.0.2/32", _base64(32)),
    "xml-element": _with("<password>SECRET</password>", a("", _MIXED, 14)),
    "sql": _with("CREATE ROLE app LOGIN PASSWORD 'SECRET'", a("", _MIXED, 14)),
}

# -- carriers ----------------------------------------------------------------------------------------------------------


def _escaped(text: str, *, times: int) -> str:
    for _ in range(times):
        text = json.dumps(text)
    return text


@dataclass(frozen=True, slots=True)
class Given:
    """A setting with a value."""

    name: str
    words: str
    value: str


Carrier = Callable[[Given], str]

AROUND_NAMES: dict[str, Carrier] = {
    "prose-is": lambda it: f"Hi! My {it.words} is {it.value} and it should work by now.",
    "prose-colon": lambda it: f"Please deploy it. The {it.words}: {it.value}\nThanks!",
    "json": lambda it: json.dumps({"user": "kim", it.name.lower(): it.value, "retries": 3}),
    "json-escaped": lambda it: json.dumps({"output": json.dumps({it.name: it.value}), "exit_code": 0}),
    "json-escaped-lines": lambda it: json.dumps({"output": f"# .env\n{it.name}={it.value}\nDEBUG=1\n"}),
    "environment-file": lambda it: f"HOST=db\n{it.name}={it.value}\nPORT=5432\n",
    "shell-export": lambda it: f"export {it.name}='{it.value}' && make deploy",
    "yaml": lambda it: f"database:\n  user: kim\n  {it.name.lower()}: {it.value}\n  port: 5432\n",
    "ini": lambda it: f"[main]\nuser = kim\n{it.name.lower()} = {it.value}\n",
    "url-query": lambda it: f"GET /v1?{it.name.lower()}={urllib.parse.quote(it.value, safe='')}&page=2 HTTP/1.1",
    "header": lambda it: f"> X-{it.name.title().replace('_', '-')}: {it.value}\n> Accept: */*",
    "python-repr": lambda it: repr({"user": "kim", it.name: it.value, "n": 1}),
    "python-code": lambda it: f'    {it.name.lower()} = "{it.value}"  # do not commit',
    "python-argument": lambda it: f"Client(user='kim', {it.name.lower()}='{it.value}', timeout=3)",
    "diff-line": lambda it: f" HOST=db\n-{it.name}=\n+{it.name}={it.value}\n PORT=1",
    "log-line": lambda it: f"2026-11-21T22:00:00Z DEBUG app config loaded {it.name.lower()}={it.value} host=db",
    "markdown-table": lambda it: f"| setting | value |\n|---|---|\n| {it.name} | {it.value} |\n",
    "markdown-code": lambda it: f"Set `{it.name}` to `{it.value}` first.",
    "option": lambda it: f"tool --{it.name.lower().replace('_', '-')} {it.value} --verbose",
    "option-equals": lambda it: f"tool --{it.name.lower().replace('_', '-')}={it.value} --verbose",
}

ALONE: dict[str, Carrier] = {
    "prose": lambda it: f"try it with {it.value}, please",
    "list": lambda it: f"- {it.value}\n- something else",
    "quoted": lambda it: f"got '{it.value}' from the clipboard",
    "json-value": lambda it: json.dumps({"content": f"here:\n{it.value}\n"}),
    "terminal-colour": lambda it: f"\x1b[1;32m{it.value}\x1b[0m",
    "diff": lambda it: f"+{it.value}\n-{it.value}",
}

AROUND_PHRASES: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "prose": lambda text: f"I found this: {text}\nWhat should I do with it?",
    "json": lambda text: json.dumps({"output": text, "exit_code": 0, "error": None}),
    "json-in-json": lambda text: json.dumps({"arguments": json.dumps({"command": text})}),
    "python-repr": lambda text: repr(("run", text)),
    "diff-lines": lambda text: "".join(f"+{line}\n" for line in text.splitlines()),
    "numbered-lines": lambda text: "".join(f"{number:>6}|{line}\n" for number, line in enumerate(text.splitlines(), 1)),
    "log-line": lambda text: f"2026-11-21 22:00:00,123 INFO worker [7] {text}",
    "markdown-quote": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "yaml-block": lambda text: "content: |\n" + "".join(f"    {line}\n" for line in text.splitlines()),
    "shell": lambda text: f"cat > f <<'EOF'\n{text}\nEOF\n",
}


def labelled(*, rounds: int, seed: int = SEED) -> Iterator[Sample]:
    """Every kind in every carrier, `rounds` times with other values."""
    yield from _samples(Random(seed), rounds, TOKENS, {**AROUND_NAMES, **ALONE})
    yield from _samples(Random(seed + 1), rounds, SETTINGS, AROUND_NAMES)
    yield from _phrases(Random(seed + 2), rounds, PHRASES, AROUND_PHRASES)


def _samples(random: Random, rounds: int, kinds: dict[str, Named], carriers: dict[str, Carrier]) -> Iterator[Sample]:
    for kind, named in kinds.items():
        for carrier, around in carriers.items():
            for _ in range(rounds):
                value = named.make(random)
                text = around(Given(named.setting, named.words, value))
                shown = value if value in text else urllib.parse.quote(value, safe="")
                name = next((form for form in (named.setting, named.setting.lower()) if form in text), "")
                yield Sample(kind, carrier, text, (shown,), name)


def _phrases(
    random: Random,
    rounds: int,
    kinds: dict[str, Callable[[Random], Phrase]],
    carriers: dict[str, Callable[[str], str]],
) -> Iterator[Sample]:
    for kind, make in kinds.items():
        for carrier, around in carriers.items():
            for _ in range(rounds):
                phrase = make(random)
                yield Sample(kind, carrier, around(phrase.text), phrase.secrets, "")


# -- held out: written after the code, with other services and other carriers ------------------------------------------

HELD_OUT_TOKENS: dict[str, Named] = {
    "perplexity": Named("PPLX_API_KEY", "Perplexity key", a("pp" + "lx-", _MIXED, 48)),
    "replicate": Named("REPLICATE_API_TOKEN", "Replicate token", a("r" + "8_", _MIXED, 37)),
    "fireworks": Named("FIREWORKS_API_KEY", "Fireworks key", a("f" + "w_", _MIXED, 24)),
    "elevenlabs": Named("ELEVENLABS_API_KEY", "ElevenLabs key", a("s" + "k_", _HEX, 48)),
    "pinecone": Named("PINECONE_API_KEY", "Pinecone key", a("pc" + "sk_", _MIXED + "_", 70)),
    "notion": Named("NOTION_TOKEN", "Notion token", a("nt" + "n_", _MIXED, 46)),
    "figma": Named("FIGMA_TOKEN", "Figma token", a("fi" + "gd_", _URL_SAFE, 40)),
    "airtable": Named("AIRTABLE_PAT", "Airtable token", lambda r: "pa" + f"t{some(r, _MIXED, 14)}.{some(r, _HEX, 64)}"),
    "mailchimp": Named("MAILCHIMP_KEY", "Mailchimp key", lambda r: f"{some(r, _HEX, 32)}-us{r.randrange(1, 21)}"),
    "brevo": Named("BREVO_KEY", "Brevo key", lambda r: "xkey" + f"sib-{some(r, _HEX, 64)}-{some(r, _MIXED, 16)}"),
    "resend": Named("RESEND_API_KEY", "Resend key", lambda r: "r" + f"e_{some(r, _MIXED, 8)}_{some(r, _MIXED, 24)}"),
    "rubygems": Named("GEM_HOST_API_KEY", "RubyGems key", a("ruby" + "gems_", _HEX, 48)),
    "nuget": Named("NUGET_KEY", "NuGet key", a("oy" + "2", string.ascii_lowercase + "234567", 43)),
    "crates": Named("CARGO_REGISTRY_TOKEN", "crates.io token", a("ci" + "o", _MIXED, 32)),
    "terraform": Named(
        "TFE_TOKEN", "Terraform token", lambda r: f"{some(r, _MIXED, 14)}.atl" + f"asv1.{some(r, _URL_SAFE, 67)}"
    ),
    "fly": Named("FLY_API_TOKEN", "Fly token", a("fo" + "1_", _URL_SAFE, 43)),
    "netlify": Named("NETLIFY_AUTH_TOKEN", "Netlify token", a("nf" + "p_", _MIXED, 36)),
    "new-relic": Named("NEW_RELIC_API_KEY", "New Relic key", a("NR" + "AK-", _UPPER, 27)),
    "hubspot": Named("HUBSPOT_TOKEN", "HubSpot token", lambda r: "pa" + f"t-na1-{uuid.UUID(int=r.getrandbits(128))}"),
    "square": Named("SQUARE_TOKEN", "Square token", a("EA" + "AA", _URL_SAFE, 60)),
    "facebook": Named("FB_TOKEN", "Facebook token", a("EA" + "AC", _MIXED, 120)),
    "dropbox": Named("DROPBOX_TOKEN", "Dropbox token", a("s" + "l.B", _URL_SAFE, 130)),
    "supabase": Named("SUPABASE_KEY", "Supabase key", a("sb" + "p_", _HEX, 40)),
    "planetscale": Named("PLANETSCALE_TOKEN", "PlanetScale token", a("psca" + "le_tkn_", _URL_SAFE, 43)),
    "launchdarkly": Named("LD_SDK_KEY", "SDK key", lambda r: "sd" + f"k-{uuid.UUID(int=r.getrandbits(128))}"),
    "nostr": Named("NOSTR_KEY", "key", a("ns" + "ec1", string.ascii_lowercase + string.digits, 58)),
    "argon2": Named(
        "HASH", "hash", lambda r: "$arg" + f"on2id$v=19$m=65536,t=3,p=4${some(r, _BASE64, 22)}${some(r, _BASE64, 43)}"
    ),
}
HELD_OUT_SETTINGS: dict[str, Named] = {
    "weights-and-biases": Named("WANDB_API_KEY", "W&B key", a("", _HEX, 40)),
    "cohere": Named("CO_API_KEY", "api key", a("", _MIXED, 40)),
    "together": Named("TOGETHER_API_KEY", "API key", a("", _HEX, 64)),
    "deepgram": Named("DEEPGRAM_API_KEY", "API key", a("", _HEX, 40)),
    "vercel": Named("VERCEL_TOKEN", "token", a("", _MIXED, 24)),
    "heroku": Named("HEROKU_API_KEY", "API key", lambda r: str(uuid.UUID(int=r.getrandbits(128)))),
    "postmark": Named("POSTMARK_SERVER_TOKEN", "server token", lambda r: str(uuid.UUID(int=r.getrandbits(128)))),
    "okta": Named("OKTA_API_TOKEN", "API token", a("00", _URL_SAFE, 40)),
    "pagerduty": Named("PAGERDUTY_TOKEN", "token", a("u+", _MIXED, 18)),
    "plaid": Named("PLAID_SECRET", "secret", a("", _HEX, 30)),
    "spotify": Named("SPOTIFY_CLIENT_SECRET", "client secret", a("", _HEX, 32)),
    "linkedin": Named("LINKEDIN_CLIENT_SECRET", "client secret", a("", _MIXED, 16)),
    "root-password": Named("MYSQL_ROOT_PASSWORD", "root password", password),
    "rabbit": Named("RABBITMQ_DEFAULT_PASS", "password", password),
    "smtp": Named("EMAIL_HOST_PASSWORD", "mail password", password),
    "snowflake": Named("SNOWSQL_PWD", "password", password),
    "ansible": Named("ansible_become_pass", "sudo password", password),
    "encryption-key": Named("ENCRYPTION_KEY", "encryption key", _base64(32)),
    "rails": Named("SECRET_KEY_BASE", "secret key base", a("", _HEX, 128)),
    "laravel": Named("APP_KEY", "app key", lambda r: "base64:" + _base64(32)(r)),
    "webhook-secret": Named("WEBHOOK_SECRET", "webhook secret", a("", _HEX, 40)),
}
HELD_OUT_CARRIERS: dict[str, Carrier] = {
    "chat": lambda it: f"kim: what was the {it.words} again?\nlee: {it.words} = {it.value}\nkim: thx",
    "dockerfile": lambda it: f"FROM debian:12\nENV {it.name}={it.value}\nRUN make",
    "dockerfile-blank": lambda it: f"FROM debian:12\nENV {it.name} {it.value}\nRUN make",
    "compose": lambda it: f"    environment:\n      - {it.name}={it.value}\n    ports:\n",
    "docker-run": lambda it: f"docker run -d -e {it.name}={it.value} -p 80:80 app",
    "powershell": lambda it: f'$env:{it.name} = "{it.value}"; ./run.ps1',
    "batch": lambda it: f"set {it.name}={it.value}\r\ncall run.bat\r\n",
    "fish": lambda it: f"set -gx {it.name} {it.value}",
    "history": lambda it: f"  501  cd app\n  502  {it.name}={it.value} ./run --fast\n  503  ls",
    "logfmt": lambda it: f'level=debug msg="env loaded" {it.name.lower()}="{it.value}" took=3ms',
    "brackets": lambda it: f"[debug] [{it.name.lower()}: {it.value}] connecting",
    "toml": lambda it: f'[service]\n{it.name.lower()} = "{it.value}"\nretries = 3\n',
    "javascript": lambda it: f"const c = new Client({{ {_camel(it.name)}: '{it.value}', retries: 3 }});",
    "rust-debug": lambda it: f'Config {{ host: "db", {it.name.lower()}: Some("{it.value}"), port: 1 }}',
    "setter": lambda it: f'client.set{_camel(it.name)[0].upper()}{_camel(it.name)[1:]}("{it.value}");',
    "python-environ": lambda it: f"os.environ['{it.name}'] = '{it.value}'",
    "traceback-locals": lambda it: f"  File 'a.py', line 3\n    {it.name.lower()} = '{it.value}'\n    url = 'x'\n",
    "xml-attribute": lambda it: f'<add key="{it.name}" value="{it.value}"/>',
    "form": lambda it: f"POST /login\n\nuser=kim&{it.name.lower()}={urllib.parse.quote(it.value, safe='')}",
    "kubernetes-literal": lambda it: f"kubectl create secret generic s --from-literal={it.name}={it.value} -n x",
    "terraform-variable": lambda it: f'variable "{it.name.lower()}" {{\n  default = "{it.value}"\n}}',
    "json-list": lambda it: json.dumps([{"name": it.name, "value": it.value}, {"name": "PORT", "value": "80"}]),
    "html": lambda it: f"<li>{it.name}: <code>{it.value}</code></li>",
    "german": lambda it: f"Hier ist mein {it.name}: {it.value}\nDanke",
    "heroku-config": lambda it: f"heroku config:set {it.name}={it.value} --app shop",
    "actions": lambda it: f"env:\n  {it.name}: '{it.value}'\nsteps:\n",
}


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(map(str.title, rest))


HELD_OUT_PHRASES: dict[str, Callable[[Random], Phrase]] = {
    "cloudinary": _url("cloudinary://123456789012345:{}@demo"),
    "smtp-url": _url("smtp://mailer:{}@mail.example.org:587"),
    "ftp-url": _url("ftp://web:{}@ftp.example.org/www"),
    "websocket-url": _url("wss://user:{}@stream.example.org/feed"),
    "proxy-url": _url("export https_proxy=http://proxyuser:{}@proxy.example.org:3128"),
    "pip-index": _url("pip install --index-url https://build:{}@pypi.example.org/simple pkg"),
    "sentry-dsn": _with("SENTRY_DSN=https://SECRET@o1.ingest.example.io/42", a("", _HEX, 32)),
    "odbc": _with("Driver={ODBC Driver 18};Server=db;UID=sa;PWD=SECRET;", a("", _MIXED, 14)),
    "go-dsn": _with("app:SECRET@tcp(10.0.0.5:3306)/shop?parseTime=true", a("", _MIXED, 14)),
    "kafka": _with('sasl.jaas.config=org.apache.X required username="app" password="SECRET";', a("", _MIXED, 20)),
    "libpq": _with("psql 'host=db user=app password=SECRET dbname=shop'", a("", _MIXED, 14)),
    "pg-environment": _with("PGPASSWORD=SECRET psql -h db -U app shop", a("", _MIXED, 14)),
    "my-cnf": _with("[client]\nuser=root\npassword=SECRET\n", a("", _MIXED, 14)),
    "redis-conf": _with("bind 0.0.0.0\nrequirepass SECRET\nport 6379", a("", _MIXED, 20)),
    "redis-cli": _with("redis-cli -h cache -a SECRET ping", a("", _MIXED, 20)),
    "mongo-shell": _with("mongosh --host db -u admin -p SECRET --eval 'db.stats()'", a("", _MIXED, 16)),
    "az-login": _with("az login --service-principal -u 0a1b -p SECRET --tenant t", a("", _MIXED, 34)),
    "curl-long-user": _with("curl --user admin:SECRET https://example.org", a("", _MIXED, 12)),
    "wget-password": _with("wget --user=me --http-password=SECRET https://example.org/f", a("", _MIXED, 12)),
    "keytool": _with("keytool -importkeystore -storepass SECRET -keypass changeit", a("", _MIXED, 12)),
    "java-property": _with("java -Djavax.net.ssl.keyStorePassword=SECRET -jar app.jar", a("", _MIXED, 12)),
    "openssl-pass": _with("openssl enc -aes-256-cbc -pass pass:SECRET -in f", a("", _MIXED, 14)),
    "gpg": _with("gpg --batch --passphrase SECRET -d f.gpg", a("", _MIXED, 14)),
    "ldapsearch": _with("ldapsearch -x -D cn=admin -w SECRET -b dc=example", a("", _MIXED, 14)),
    "smbclient": _with("smbclient //nas/share -U kim%SECRET", a("", _MIXED, 12)),
    "chpasswd": _with("echo 'root:SECRET' | chpasswd", a("", _MIXED, 14)),
    "sudo-stdin": _with("echo SECRET | sudo -S apt update", a("", _MIXED, 14)),
    "htpasswd-command": _with("htpasswd -b .htpasswd admin SECRET", a("", _MIXED, 14)),
    "net-user": _with("net user kim SECRET /add", a("", _MIXED, 14)),
    "wifi": _with('network={\n  ssid="home"\n  psk="SECRET"\n}', a("", _MIXED, 14)),
    "identified-by": _with("CREATE USER 'app'@'%' IDENTIFIED BY 'SECRET';", a("", _MIXED, 14)),
    "ngrok": _with("ngrok authtoken SECRET", a("2", _MIXED, 48)),
    "vault-login": _with("vault login SECRET", a("hv" + "s.", _MIXED, 24)),
    "aws-configure": _with("aws configure set aws_secret_access_key SECRET", a("", _BASE64, 40)),
    "poetry": _with("poetry config pypi-token.pypi SECRET", a("py" + "pi-AgEI", _URL_SAFE, 120)),
    "npm-password": _with("//r.example.org/:_password=SECRET", _base64(18)),
    "yarnrc": _with('npmAuthToken: "SECRET"', a("", _MIXED, 36)),
    "kubeconfig-key": _with("    client-key-data: SECRET", lambda r: "LS0tLS1CRUdJTiBSU0EgUFJJ" + some(r, _MIXED, 200)),
    "subscription-key": _with("Ocp-Apim-Subscription-Key: SECRET", a("", _HEX, 32)),
    "apikey-header": _with("curl -H 'apikey: SECRET' https://x.example.org", a("", _MIXED, 40)),
    "vault-header": _with("X-Vault-Token: SECRET", a("s.", _MIXED, 24)),
    "token-scheme": _with("Authorization: Token token=SECRET", a("", _MIXED, 32)),
    "url-fragment": _with("https://app.example.org/cb#access_token=SECRET&token_type=bearer", a("", _MIXED, 40)),
    "multipart": _with('Content-Disposition: form-data; name="password"\r\n\r\nSECRET\r\n--x', a("", _MIXED, 14)),
    "ldif": _with("dn: uid=kim\nuserPassword: {SSHA}SECRET", _base64(24)),
    "jwk": _with('{"kty":"EC","crv":"P-256","x":"f83OJ3D2","d":"SECRET"}', a("", _URL_SAFE, 43)),
    "chat-pw": _with("the server is 10.0.0.5, user root, pw: SECRET", a("", _MIXED, 10)),
    "chat-creds": _with("creds: admin / SECRET", a("", _MIXED, 12)),
    "french": _with("Le mot de passe est SECRET, merci", a("", _MIXED, 12)),
    "spanish": _with("La contraseña es SECRET", a("", _MIXED, 12)),
    "encrypted-pem": _pem("ENCRYPTED PRIVATE" + " KEY", 8),
    "dsa-pem": _pem("DSA PRIVATE" + " KEY", 7),
}
HELD_OUT_AROUND: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "sentence": lambda text: f'I ran "{text}" and it failed',
    "json": lambda text: json.dumps({"command": text, "timeout": 60}, indent=2),
    "html": lambda text: f"<pre>{text}</pre>",
    "windows-lines": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "prompt": lambda text: f"kim@box:~$ {text}\nok",
    "xml-escaped": lambda text: f"<cmd>{text.replace('&', '&amp;').replace('<', '&lt;')}</cmd>",
    "comment": lambda text: "".join(f"# {line}\n" for line in text.splitlines()),
    "byte-string": lambda text: repr(text.encode()),
}


def held_out(*, rounds: int, seed: int = SEED) -> Iterator[Sample]:
    """The kinds and carriers that the code was not written for."""
    yield from _samples(Random(seed + 3), rounds, HELD_OUT_TOKENS, {**HELD_OUT_CARRIERS, **ALONE})
    yield from _samples(Random(seed + 4), rounds, HELD_OUT_SETTINGS, HELD_OUT_CARRIERS)
    yield from _samples(Random(seed + 5), rounds, SETTINGS, HELD_OUT_CARRIERS)
    yield from _phrases(Random(seed + 6), rounds, HELD_OUT_PHRASES, HELD_OUT_AROUND)
    yield from _phrases(Random(seed + 7), rounds, PHRASES, HELD_OUT_AROUND)


# -- ordinary text -----------------------------------------------------------------------------------------------------

ORDINARY_LINES = tuple(
    """\
token count: 1234
max_tokens=4096
max_tokens: 4096, temperature=0.7
the secret is out
password policy: at least 12 characters
Passwords must be at least 8 characters long
password is required
Error: password is incorrect
The password is wrong.
invalid token: unexpected end of file
SyntaxError: Unexpected token < in JSON at position 0
SyntaxError: invalid syntax. Perhaps you forgot a comma? token='('
token: str = None
def login(user: str, password: str, token: Optional[str] = None) -> None:
password = getpass.getpass("Password: ")
password = os.environ["DB_PASSWORD"]
self.password = password
api_key=settings.api_key
api_key = os.getenv("OPENAI_API_KEY")
client = OpenAI(api_key=api_key)
if token.type == tokenize.NAME:
token = tokens[index]
tokens = tokenizer.encode(text)
key=lambda item: item[1]
sorted(rows, key=itemgetter(2))
primary_key=True
KeyError: 'password'
KeyError: 'api_key'
AttributeError: 'Settings' object has no attribute 'secret_key'
keyboard: us
commit 3f786850e387550fdab836ed7e6dc881de23001b
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
550e8400-e29b-41d4-a716-446655440000
session 20261121_220000_abcdef
call_0746d725ad92
toolu_01A09q90qw90lq917835lq9XyZ12
chatcmpl-9zXkQpL2mN4oP6qR8sT0uV2wX4y
/home/kim/.ssh/id_ed25519.pub
~/.config/grader-daemon/config.toml
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx0bD0o0Zb5pE0v7s0r5m1iVn1Qe8Zq1m7w3X9yZ0aB kim@host
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
sk-learn
scikit-learn and sk-learn-contrib estimators
sk-learn-compatible-estimators-for-everyone
hf_transfer
gpt-4o-mini-2024-07-18
claude-3-5-sonnet-20241022
meta-llama/Llama-3.1-8B-Instruct
test_that_a_token_is_redacted_only_once_in_a_line
TestTokenCountingWithManyTokens
https://example.org:8080/path?x=1
http://localhost:3000/users/@me
git@github.com:org/repo.git
https://example.com/@scope/pkg@1.2.3
npm install @types/node@20.1.0
docker run -u 1000:1000 -p 8080:80 image
ssh -p 2222 root@localhost
mkdir -p build/output
curl -u "$USER:$PASS" https://example.org
export TOKEN=$(cat token.txt)
PASSWORD=${DB_PASSWORD}
password: "{{ vault_password }}"
password: <your password>
OPENAI_API_KEY=your-api-key-here
api_key: "YOUR_API_KEY"
token=***
PASS: test_parser (0.02s)
PASS tests/unit/test_x.py
pass
    pass  # nothing to do
tests pass: 12 of 12
PWD=/home/kim/project
OLDPWD=/tmp
--password-stdin
--token TOKEN   access token of the service
usage: tool [--password PASSWORD] [--token TOKEN]
Bearer authentication is required
401 Unauthorized: Bearer token missing
WWW-Authenticate: Basic realm="Restricted area"
Authorization header is missing
auth: oauth2
Cookie policy
the cookie is set by the server
tokenizer.json
token_type: bearer
"token_type": "Bearer"
"usage": {"prompt_tokens": 1234, "completion_tokens": 56, "total_tokens": 1290}
secret santa
secrets: inherit
kubectl create secret generic db --from-file=password.txt
kubectl get secrets
| user | password | email |
|---|---|---|
["user", "password", "email"]
{"type": "password", "name": "password", "label": "Password"}
<input type="password" name="password">
Enter password:
Password for kim:
[sudo] password for kim:
Permission denied (publickey,password).
mysql: [Warning] Using a password on the command line interface can be insecure.
ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)
FATAL:  password authentication failed for user "app"
the key is under the mat
Key: value
key: 2026-11-21T22:00:00Z
cache_key = "user:1234:profile"
foreign key constraint failed
public key 2f1a…
authors: Kim, Sam
author = "Kim"
10.0.0.1:5432
localhost:5432
postgres://localhost:5432/app
postgres://app@localhost/app
redis://localhost:6379/0
file.py:123:45: error: unexpected token
$1$2 and $2
cost: $500 for 6 items
import secrets; secrets.token_hex(16)
hashed = bcrypt.hashpw(password.encode(), salt)
from getpass import getpass
re.compile(r"password=(\\\\S+)")
grep -rn "password" src
What is the password reset flow?
Add a "Forgot password" link
fix: do not log tokens
feat(auth): refresh tokens 2 days before expiry
signature = inspect.signature(function)
signature: (a, b) -> c
webhook delivery failed
hooks/pre-commit
hook: post-merge
session_id=20261121_220804_6c9c9d
token budget: 200k
context window of 128k tokens
secret_name: db-credentials
imagePullSecrets: regcred
passwordHash field
password_hash TEXT NOT NULL
password VARCHAR(255) NOT NULL,
api_key TEXT,
"password": {"type": "string", "minLength": 8}
"password": "This field is required."
password: must contain a digit
"required": ["username", "password"]
Secret: reading the room
""".splitlines()
)
"""What people, programs and agents write about secrets, and what looks like one: all of it must stay."""

_ROOT = Path(__file__).parent.parent
_LIBRARY = Path(sysconfig.get_path("stdlib"))


def ordinary_texts(*, modules: int | None = None) -> Iterator[str]:
    """Real text without secrets: our own documents, `modules` of the standard library (None: all), and digests."""
    for path in (*sorted(_ROOT.glob("*.md")), *sorted((_ROOT / "docs").rglob("*.md")), _ROOT / "LICENSE"):
        yield path.read_text()
    for path in sorted(_LIBRARY.glob("*.py"))[:modules]:
        yield path.read_text(errors="replace")
    yield "\n".join(_look_alikes(Random(SEED), 300))


def _look_alikes(random: Random, count: int) -> Iterator[str]:
    for _ in range(count):
        digest, number = some(random, _HEX, 64), random.randrange(10**6)
        yield f"commit {digest[:40]}\nimage sha256:{digest}\nrow {uuid.UUID(int=random.getrandbits(128))}"
        yield f"/srv/app/build-{digest[:8]}/main.{digest[8:16]}.js:{number}: warning W{number}"
        yield f"data:image/png;base64,{base64.b64encode(random.randbytes(120)).decode()}"
        yield f"call_{some(random, _MIXED, 24)} toolu_01{some(random, _MIXED, 22)} 20261121_220000_{digest[:6]}"


def words_hit(text: str, redacted: str) -> int:
    """How many words of `text` are not in what became of it."""
    return 0 if text == redacted else sum((Counter(text.split()) - Counter(redacted.split())).values())


def is_gone(sample: Sample, redacted: str) -> bool:
    """Is nothing of the secrets left?"""
    return not any(secret in redacted for secret in sample.secrets)
