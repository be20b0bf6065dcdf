"""Ways in which secrets stand in sessions, written down before the redaction was looked at, and lines without any.

A kind is a text with holes; a hole is filled with a secret that is drawn for its kind, so no secret stands in this
file. The carriers are the places where a session holds such a text. The list is grown, never thinned: a kind that is
not found stays and counts.

Holes: `«pw»` a password as people choose it, `«hard»` one with symbols, `«words»` four words, `«an:N»`, `«hex:N»`,
`«up:N»`, `«b64:N»`, `«digits:N»` N characters of letters and digits, of hex digits, of capitals and digits, of
base64, of digits.
"""

import base64
import json
import random
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

_TOKENS = r"""
openai-project-key: sk-proj-«an:48»
openai-legacy-key: sk-«an:48»
anthropic-key: sk-ant-api03-«an:60»-«an:24»AA
openrouter-key: sk-or-v1-«hex:64»
github-classic-token: ghp_«an:36»
github-fine-grained-token: github_pat_«an:22»_«an:59»
github-server-token: ghs_«an:36»
gitlab-token: glpat-«an:20»
gitlab-runner-token: glrt-«an:20»
slack-bot-token: xoxb-«digits:12»-«digits:12»-«an:24»
slack-app-token: xapp-1-A0«up:9»-«digits:12»-«hex:64»
slack-webhook: https://hooks.slack.com/services/T0«up:8»/B0«up:8»/«an:24»
discord-webhook: https://discord.com/api/webhooks/1198273645501928374/«an:68»
teams-webhook: https://firma.webhook.office.com/webhookb2/7d3c1b52-0b3e-4a5f-9a57-0d6f1f0a2b3c@1f2e3d4c-5b6a-4798-8a7b-6c5d4e3f2a1b/IncomingWebhook/«hex:32»/0c1d2e3f-4a5b-4c6d-8e7f-90a1b2c3d4e5
telegram-bot-token: https://api.telegram.org/bot7«digits:9»:AA«an:33»/getMe
aws-key-id: AKIA«up:16»
aws-credentials-file: aws_secret_access_key = «b64:40»
aws-session-token: export AWS_SESSION_TOKEN=FwoGZXIvYXdzE«b64:120»
google-api-key: AIza«an:35»
google-access-token: ya29.a0«an:80»
google-refresh-token: 1//0g«an:60»
google-client-secret: GOCSPX-«an:28»
stripe-live-key: sk_live_«an:24»
stripe-restricted-key: rk_live_«an:24»
stripe-webhook-secret: whsec_«an:32»
sendgrid-key: SG.«an:22».«an:43»
mailgun-key: key-«hex:32»
mailchimp-key: MAILCHIMP_KEY=«hex:32»-us14
twilio-token: TWILIO_AUTH_TOKEN=«hex:32»
npm-token: npm_«an:36»
npmrc-line: //registry.npmjs.org/:_authToken=«an:36»
pypi-token: pypi-AgEIcHlwaS5vcmc«an:80»
docker-hub-token: dckr_pat_«an:27»
digitalocean-token: dop_v1_«hex:64»
heroku-key: HEROKU_API_KEY=0c1d2e3f-4a5b-4c6d-8e7f-«hex:12»
azure-storage-connection: DefaultEndpointsProtocol=https;AccountName=ablage;AccountKey=«b64:86»==;EndpointSuffix=core.windows.net
azure-sas-url: https://ablage.blob.core.windows.net/c/f.csv?sv=2022-11-02&st=2026-11-01&sr=b&sp=r&sig=«an:43»%3D
azure-client-secret: AZURE_CLIENT_SECRET=«an:3»8Q~«an:34»
databricks-token: dapi«hex:32»
vault-token: hvs.«an:90»
terraform-cloud-token: «an:14».atlasv1.«an:60»
hugging-face-token: hf_«an:34»
replicate-token: r8_«an:37»
groq-key: gsk_«an:52»
perplexity-key: pplx-«an:48»
xai-key: xai-«an:80»
linear-key: lin_api_«an:40»
notion-token: ntn_«an:46»
shopify-token: shpat_«hex:32»
square-token: sq0atp-«an:22»
facebook-token: EAACEdEose0cBA«an:100»
twitter-bearer-token: AAAAAAAAAAAAAAAAAAAAA«an:80»
sentry-dsn: https://«hex:32»@o41.ingest.sentry.io/7
sentry-token: sntrys_«b64:80»
grafana-token: glsa_«an:32»_«hex:8»
new-relic-key: NRAK-«up:27»
datadog-key: DD_API_KEY=«hex:32»
cloudflare-token: CLOUDFLARE_API_TOKEN=«an:40»
fly-token: fm2_«b64:100»
netlify-token: nfp_«an:40»
supabase-key: sbp_«hex:40»
planetscale-password: pscale_pw_«an:43»
age-key: AGE-SECRET-KEY-1«up:58»
json-web-token: eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI«an:40».«an:43»
wireguard-key: PrivateKey = «b64:43»=
wireguard-preshared-key: PresharedKey = «b64:43»=
ethereum-key: PRIVATE_KEY=0x«hex:64»
tailscale-key: tskey-auth-k«an:10»CNTRL-«an:32»
ngrok-token: ngrok config add-authtoken 2«an:26»_«an:20»
rubygems-key: rubygems_«hex:48»
atlassian-token: ATATT3xFfGF0«an:170»
figma-token: figd_«an:40»
postman-key: PMAK-«hex:24»-«hex:34»
doppler-token: dp.pt.«an:43»
okta-header: Authorization: SSWS 00«an:40»
dropbox-token: sl.«an:130»
airtable-token: pat«an:14».«hex:64»
mapbox-token: sk.eyJ1Ijoi«an:50».«an:22»
"""  # noqa: E501 - a kind is a line

_COMMANDS = r"""
mysql-attached: mysql -u root -p«pw» shop -e 'show tables'
mysql-long: mysqldump --user=root --password=«pw» shop
mysql-environment: MYSQL_PWD=«pw» mysql -u root shop
postgres-environment: PGPASSWORD='«hard»' psql -h db.intern -U app shop
postgres-url: psql postgres://app:«pw»@db.intern:5432/shop
postgres-words: psql "host=db.intern user=app password=«pw» dbname=shop"
pgpass-line: db.intern:5432:shop:app:«pw»
curl-user: curl -s -u admin:«pw» https://api.intern.example.org/v1/items
curl-bearer: curl -H "Authorization: Bearer «an:40»" https://api.example.org/me
curl-api-key: curl -H 'X-Api-Key: «an:32»' https://api.example.org/me
curl-json: curl -X POST https://api.example.org/login -d '{"user":"eva","password":"«pw»"}'
curl-form: curl -d "username=eva&password=«pw»&remember=1" https://shop.example.org/login
wget-password: wget --user=eva --password=«pw» https://files.example.org/a.zip
sshpass-apart: sshpass -p '«hard»' ssh deploy@10.0.0.7 uptime
sshpass-attached: sshpass -p«pw» ssh deploy@10.0.0.7 uptime
docker-login: docker login registry.example.org -u eva -p «pw»
docker-login-pipe: echo «pw» | docker login -u eva --password-stdin
sudo-pipe: echo '«hard»' | sudo -S apt-get update
redis-cli: redis-cli -h cache -a «pw» ping
ldapsearch: ldapsearch -x -D cn=admin,dc=example,dc=org -w «pw» -b dc=example,dc=org
seven-zip: 7z a -p«pw» backup.7z docs/
zip-password: zip -r -P «pw» backup.zip docs/
unzip-password: unzip -P «pw» backup.zip
openssl-key: openssl enc -aes-256-cbc -salt -in a.tar -out a.enc -k «pw»
openssl-pass: openssl pkcs12 -export -in c.pem -out c.p12 -passout pass:«pw»
smbclient: smbclient //nas/share -U eva%«pw» -c ls
mount-cifs: mount -t cifs //nas/share /mnt -o username=eva,password=«pw»,vers=3.0
htpasswd: htpasswd -b -c .htpasswd eva «pw»
mongosh: mongosh --host db -u admin -p «pw» --authenticationDatabase admin
mongodb-url: mongodb+srv://app:«pw»@cluster0.ab1cd.mongodb.net/shop
httpie: http -a eva:«pw» https://api.example.org/v1/items
chpasswd: echo "deploy:«pw»" | sudo chpasswd
passwd-stdin: echo «pw» | passwd --stdin deploy
usermod: usermod -p '«pw»' deploy
net-user: net user wartung «pw» /add
net-use: net use Z: \\nas\share /user:eva «pw»
cmdkey: cmdkey /add:nas /user:eva /pass:«pw»
vault-login: vault login «pw»
vault-put: vault kv put secret/shop db_password=«pw»
aws-configure: aws configure set aws_secret_access_key «b64:40»
kubectl-literal: kubectl create secret generic shop --from-literal=password=«pw»
helm-set: helm upgrade shop ./chart --set auth.rootPassword=«pw»
gh-login: gh auth login --with-token <<< gho_«an:36»
git-clone: git clone https://eva:«pw»@git.example.org/shop.git
git-remote: git remote set-url origin https://oauth2:«an:20»@gitlab.example.org/shop.git
pip-index: pip install --index-url https://ci:«pw»@pypi.example.org/simple shop
netrc-line: machine api.example.org login eva password «pw»
docker-config: {"auths":{"registry.example.org":{"auth":"«b64:32»"}}}
gpg-passphrase: gpg --batch --passphrase «pw» -d backup.gpg
keytool: keytool -list -keystore k.jks -storepass «pw»
ansible-become: ansible_become_password=«pw»
rclone-config: pass = «an:30»
lftp: lftp -u eva,«pw» sftp://files.example.org
sqlcmd: sqlcmd -S sql1 -U sa -P «pw» -Q "select 1"
sqlplus: sqlplus scott/«pw»@//db.intern:1521/ORCL
rabbitmq-user: rabbitmqctl add_user worker «pw»
rabbitmq-url: amqp://worker:«pw»@rabbit:5672/
redis-url: redis://:«pw»@cache:6379/0
postgres-role: ALTER USER app WITH PASSWORD '«hard»';
mysql-grant: CREATE USER 'app'@'%' IDENTIFIED BY '«hard»';
mysql-set: SET PASSWORD FOR 'root'@'localhost' = '«hard»';
nmcli: nmcli dev wifi connect Heimnetz password «pw»
wpa-psk: psk="«hard»"
wpa-passphrase: wpa_passphrase Heimnetz «pw»
freerdp: xfreerdp /v:win1 /u:eva /p:«pw»
psexec: psexec.py FIRMA/eva:«pw»@10.0.0.9
kinit: echo «pw» | kinit eva@EXAMPLE.ORG
mosquitto: mosquitto_pub -h broker -u sensor -P «pw» -t a -m 1
az-login: az login --service-principal -u http://shop -p «pw» --tenant example.org
doctl: doctl auth init -t «hex:64»
terraform-variable: terraform apply -var db_password=«pw»
terraform-environment: export TF_VAR_db_password=«pw»
restic: export RESTIC_PASSWORD=«pw»
borg: BORG_PASSPHRASE='«words»' borg list /backup
ssh-keygen: ssh-keygen -t ed25519 -N «pw» -f id
bitwarden: bw unlock «pw» --raw
snmp: snmpget -v3 -u mon -A «pw» -a SHA 10.0.0.1 sysUpTime
ipmitool: ipmitool -H bmc1 -U ADMIN -P «pw» chassis status
cloudflared: cloudflared tunnel run --token eyJhIjoi«an:120»
docker-run: docker run -e MYSQL_ROOT_PASSWORD=«pw» -d mysql:8
dockerfile: ENV API_KEY «an:32»
sql-server-connection: Server=sql1;Database=shop;User Id=sa;Password=«pw»;Encrypt=true
jdbc-url: jdbc:mysql://db:3306/shop?user=app&password=«pw»
powershell-secure-string: $p = ConvertTo-SecureString "«hard»" -AsPlainText -Force
powershell-environment: $env:DB_PASSWORD = "«pw»"
windows-set: set DB_PASSWORD=«pw»
windows-setx: setx DB_PASSWORD «pw»
expect-send: expect "assword:" { send "«pw»\r" }
cryptsetup: echo -n «pw» | cryptsetup luksOpen /dev/sdb1 vault -
luks-heredoc: cryptsetup luksFormat /dev/sdb1 - <<< «pw»
git-extraheader: git -c http.extraHeader="AUTHORIZATION: basic «b64:44»" fetch
influx: influx -host tsdb -username admin -password «pw»
composer-auth: composer config http-basic.repo.example.org eva «pw»
npm-config: npm config set //npm.example.org/:_authToken «an:36»
twine: twine upload -u __token__ -p «an:40» dist/*
evil-winrm: evil-winrm -i 10.0.0.5 -u eva -p «pw»
"""

_WORDS = r"""
password-colon: password: «pw»
password-is: The password is «pw» and it works.
password-of: Password for root@10.0.0.7: «pw»
passphrase: passphrase: «words»
passphrase-quoted: "passphrase": "«words»"
pwd-equals: pwd=«pw»
pass-spaced: pass = «pw»
secret-equals: client_secret=«an:32»
user-and-pass: user: eva pass: «pw»
credentials-slash: Credentials: admin / «pw»
login-with: Log in as admin with the password «pw».
use-as: Please use «pw» as the root password.
set-to: I changed the admin password to «pw».
new-password: New password: «pw»
temporary-password: Your temporary password is: «pw»
german-kennwort: Kennwort: «pw»
german-passwort: Das Passwort lautet «pw».
german-api-key: Der API-Schlüssel ist «an:32»
german-access-key: Zugangsschlüssel=«an:32»
german-credentials: Zugangsdaten: eva / «pw»
french-password: mot de passe : «pw»
french-api-key: La clé API est «an:32»
french-field: mot_de_passe=«pw»
spanish-password: contraseña: «pw»
spanish-sentence: La contraseña es «pw»
spanish-key: clave secreta: «pw»
portuguese-password: senha: «pw»
italian-password: La parola d'ordine è «pw»
dutch-password: wachtwoord: «pw»
polish-password: hasło: «pw»
russian-password: пароль: «pw»
chinese-password: 密码：«pw»
japanese-password: パスワード: «pw»
app-password-words: SMTP_PASS=«letters:4» «letters:4» «letters:4» «letters:4»
app-password-quoted: SMTP_PASSWORD="«letters:4» «letters:4» «letters:4» «letters:4»"
verification-code: Your verification code is «digits:6».
pin: PIN: «digits:6»
totp-url: otpauth://totp/Shop:eva?secret=«up:32»&issuer=Shop
totp-secret: TOTP secret: «up:32»
colour-between: \x1b[1mpassword\x1b[0m: \x1b[32m«pw»\x1b[0m
colour-key: \x1b[33mAPI_KEY\x1b[0m=\x1b[36m«an:32»\x1b[0m
bearer-next-line: Authorization: Bearer\n  «an:40»
url-encoded-password: https://eva%3A«pw»@git.example.org/shop.git
ssh-prompt: Enter passphrase for key '/home/eva/.ssh/id_ed25519': «pw»
sudo-prompt: [sudo] password for eva: «pw»
basic-header: Authorization: Basic «b64:40»
proxy-header: Proxy-Authorization: Basic «b64:40»
cookie-header: Cookie: theme=dark; sessionid=«an:32»
set-cookie-header: Set-Cookie: session=«an:64»; Path=/; HttpOnly
api-key-header: api-key: «hex:32»
private-token-header: PRIVATE-TOKEN: «an:20»
json-api-key: {"apiKey": "«an:32»", "region": "eu"}
json-client-secret: {"clientId": "shop", "clientSecret": "«an:40»"}
json-access-token: {"access_token":"«an:60»","expires_in":3600}
json-refresh-token: {"refreshToken": "«an:60»"}
json-private-key: {"private_key": "-----BEGIN PRIVATE KEY-----\\n«b64:64»\\n«b64:40»\\n-----END PRIVATE KEY-----\\n"}
yaml-nested: db:\n  user: app\n  password: «pw»
yaml-folded: password: >-\n  «pw»
kubernetes-secret: data:\n  password: «b64:24»
toml-key: api_key = "«an:32»"
ini-file: [client]\nuser=root\npassword="«hard»"
python-dict: {'user': 'eva', 'password': '«hard»'}
python-argument: connect(host="db", user="app", password="«pw»")
python-constant: SECRET_KEY = 'django-insecure-«an:40»'
ruby-hash: { :user => "eva", :password => "«pw»" }
ruby-symbol: config.secret_key_base = "«hex:64»"
go-struct: Config{User: "app", Password: "«pw»"}
javascript-object: const db = { user: 'app', password: '«pw»' };
php-define: define('DB_PASSWORD', '«hard»');
php-array: 'password' => '«pw»',
xml-element: <password>«pw»</password>
xml-attribute: <user name="eva" password="«pw»"/>
dotnet-setting: <add key="DbPassword" value="«pw»"/>
html-input: <input type="password" name="pw" value="«pw»">
markdown-table: | password | «pw» |
markdown-bold: **Password:** «pw»
markdown-code: Password: `«hard»`
java-property: spring.datasource.password=«pw»
environment-dump: DB_PASSWORD=«pw»\nDB_PORT=5432
exported-quoted: export DB_PASSWORD="«hard»"
shadow-line: root:$6$«an:8»$«an:86»:19700:0:99999:7:::
htpasswd-line: admin:$apr1$«an:8»$«an:22»
bcrypt-line: admin:$2y$10$«an:53»
signed-url: https://b.s3.amazonaws.com/a.csv?X-Amz-Expires=900&X-Amz-Signature=«hex:64»
token-url: https://api.example.org/v1/items?page=2&access_token=«an:40»
fragment-url: https://app.example.org/cb#access_token=«an:40»&token_type=bearer
reset-url: https://app.example.org/reset-password?token=«hex:40»
openssh-key: -----BEGIN OPENSSH PRIVATE KEY-----\n«b64:70»\n«b64:70»\n-----END OPENSSH PRIVATE KEY-----
rsa-key: -----BEGIN RSA PRIVATE KEY-----\n«b64:64»\n«b64:64»\n-----END RSA PRIVATE KEY-----
encrypted-key-cut: -----BEGIN ENCRYPTED PRIVATE KEY-----\n«b64:64»\n«b64:64»
pgp-key: -----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«b64:64»\n«b64:64»\n=«b64:4»\n-----END PGP PRIVATE KEY BLOCK-----
putty-key: Private-Lines: 1\n«b64:64»\nPrivate-MAC: «hex:64»
wallet-import-key: privkey: 5«an:50»
seed-phrase: seed phrase: «seed»
mnemonic: mnemonic = "«seed»"
ntlm-hash: Administrator:500:aad3b435b51404eeaad3b435b51404ee:«hex:32»:::
license-key: LICENSE_KEY=«up:5»-«up:5»-«up:5»-«up:5»
webhook-secret: WEBHOOK_SECRET=«an:24»
encryption-key: ENCRYPTION_KEY=«hex:64»
jenkins-crumb: Jenkins-Crumb: «hex:64»
"""

_LATER = r"""
wrapped-token: token ghp_«an:23»\n«an:13» end
wrapped-token-early: token ghp_«an:6»\n«an:30» end
wrapped-setting: API_TOKEN=«an:30»\n«an:18»
wrapped-by-carriage-return: sk-proj-«an:30»\r\n  «an:24»
zero-width-token: ghp_«an:8»\u200b«an:28»
zero-width-password: pass\u200bword=«pw»
soft-hyphen-token: glpat-«an:9»\xad«an:11»
utf-16-password: «utf16»
php-cookie: curl -b 'PHPSESSID=«an:20»' https://shop.example.org/
cookie-option: curl --cookie "sid=«an:24»; theme=dark" https://shop.example.org/
totp-seed: TOTP_SEED=«up:16»
chinese-api-key: API密钥: «an:16»
chinese-token: 访问令牌：«an:24»
firecrawl-key: fc-«hex:32»
doppler-service-token: dp.st.prd.«an:40»
gh-secret-body: gh secret set DEPLOY --body '«hard»'
gh-secret-body-short: gh secret set DEPLOY -b «pw»
gh-secret-here-string: gh secret set DEPLOY <<< «pw»
kubernetes-odd-key: apiVersion: v1\nkind: Secret\ndata:\n  ticket-salt: «b64:24»\n  other: «b64:32»
kubernetes-data-first: apiVersion: v1\ndata:\n  ticket-salt: «b64:24»\nkind: Secret
kubernetes-json: {"data": {"ticket-salt": "«b64:24»"}, "kind": "Secret"}
base64-pipe: echo «b64:32» | base64 -d
base64-pipe-long: echo '«b64:240»' | base64 --decode > key.bin
base64-here-string: base64 -d <<< «b64:32»
base64-output: kubectl get secret shop -o jsonpath='{.data.x}' | base64 -d\n«pw»
env-file-in-base64: «env64»
wallet-key-lower-case: wif: 5k«low:49»
login-as-slash: Log in as admin / «pw»
sign-in-with-colon: sign in as eva:«pw» first
gcloud-secret: gcloud secrets versions access latest --secret=db\n«pw»
csv-column: user,password,role\neva,«pw»,admin\nkim,«pw»,user
csv-quoted-column: "id";"api_key";"note"\n"1";"«an:32»";"old"
psql-column:  name | password | role \n------+----------+------\n eva  | «pw» | admin\n(1 row)
markdown-column: | user | password |\n|---|---|\n| eva | «pw» |
tab-column: user\tpasswd\neva\t«pw»
mysql-column: +------+-------+\n| user | passwd |\n+------+-------+\n| eva | «pw» |\n+------+-------+
docker-auth-in-json: {"output": "{\"auths\": {\"r.example.org\": {\"auth\": \"«b64:32»\"}}}"}
docker-auth-short: {"auths":{"https://index.docker.io/v1/":{"auth":"«login64»"}}}
"""
"""Found missing when the program was attacked; written down before the code was changed for them."""

_SEED_WORDS = (
    *("abandon", "almond", "ocean", "ladder", "velvet", "quantum"),
    *("drizzle", "mammal", "oxygen", "walnut", "harvest", "gorilla"),
)
_ALPHABETS = {
    "an": "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz0123456789",
    "hex": "0123456789abcdef",
    "up": "ABCDEFGHJKLMNPQRSTUVWXYZ234567",
    "b64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "digits": "123456789",
    "letters": "abcdefghijklmnopqrstuvwxyz",
    "low": "123456789abcdefghijkmnpqrstuvwxyz",
}
_HOLE = re.compile(r"«(\w+)(?::(\d+))?»")


@dataclass(frozen=True, slots=True)
class Kind:
    """A text with secrets in it; no part of `parts` may come out of the redaction."""

    name: str
    text: str
    parts: tuple[str, ...]

    def left_in(self, redacted: str) -> bool:
        """Whether something of a secret can still be read."""
        return any(part in redacted for part in self.parts)


def _syllables(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("bdfgklmnprstvwz") + rng.choice("aeiou") for _ in range(count))


def _secret(rng: random.Random, hole: str, length: int) -> str:
    match hole:
        case "pw":
            head = f"{_syllables(rng, 3).title()}{rng.randrange(10, 99)}{rng.choice('-_.!')}"
            return f"{head}{_syllables(rng, 3)}{rng.randrange(9)}"
        case "hard":
            return f"{_syllables(rng, 3)}#{rng.choice('&%$^*')}{rng.randrange(10, 99)}{_syllables(rng, 3).title()}!"
        case "words":
            return " ".join(_syllables(rng, 3) for _ in range(4))
        case "utf16":
            return f"password={_secret(rng, 'pw', 0)}".encode("utf-16-le").decode("latin-1")
        case "env64" | "login64":
            before = "eva:" if hole == "login64" else "DB_HOST=db\nDB_PASSWORD="
            content = f"{before}{_secret(rng, 'pw', 0)}"
            return base64.b64encode(content.encode()).decode()
        case "seed":
            return " ".join(rng.sample(_SEED_WORDS, 12))
        case _:
            return "".join(rng.choices(_ALPHABETS[hole], k=length))


def _kind(line: str) -> Kind:
    name, _, template = line.partition(": ")
    rng, secrets = random.Random(name), list[str]()

    def fill(match: re.Match[str]) -> str:
        secrets.append(_secret(rng, match[1], int(match[2] or 0)))
        return secrets[-1]

    text = _HOLE.sub(
        fill,
        template.replace(r"\x1b", "\x1b")
        .replace(r"\u200b", "\u200b")
        .replace(r"\xad", "\xad")
        .replace(r"\t", "\t")
        .replace(r"\r", "\r")
        .replace(r"\\n", "\0")
        .replace(r"\n", "\n")
        .replace("\0", r"\n"),
    )
    values = (secret.rpartition("=\0")[2] for secret in secrets)  # of what is in UTF-16, the name stays
    parts = (part for value in values for part in re.split(r"[^A-Za-z0-9\0]+", value) if len(part) >= 4)
    return Kind(name, text, tuple(dict.fromkeys(parts)))


KINDS = tuple(_kind(line) for block in (_TOKENS, _COMMANDS, _WORDS, _LATER) for line in block.strip().splitlines())


def _result(output: str) -> str:
    """Return what a terminal tool hands back: JSON with the output in it."""
    return json.dumps({"output": output, "exit_code": 0, "error": None})


def _later(text: str) -> str:
    return f"Reading package lists\nbuild ok in 3 s\n{text}\ndone"


CARRIERS: dict[str, Callable[[str], str]] = {
    "first-line": lambda text: f"{text}\nall went well",
    "later-line": _later,
    "json-first-line": lambda text: _result(f"{text}\nall went well"),
    "json-later-line": lambda text: _result(_later(text)),
    "json-after-tab": lambda text: _result(f"step 2\tok\n\t{text}\n"),
    "json-twice": lambda text: _result(_result(_later(text))),
    "json-ascii-twice": lambda text: json.dumps({"messages": [{"content": _result(f"größer\n{text}")}]}),
    "export": lambda text: f"export SETUP={shlex.quote(text)}",
    "url": lambda text: f"see https://ci.example.org/run/71?step=3&log={quote(text)}&tail=1",
    "heredoc": lambda text: f"cat > setup.txt <<'EOF'\n# written by the installer\n{text}\nEOF\nls -l setup.txt",
    "log-line": lambda text: f"2026-11-22T10:15:31.204Z worker[812] INFO step 4: {text}",
}

HARMLESS = tuple(
    r"""
The password reset page works again.
Password must have at least 12 characters.
password: str = Field(min_length=12)
def check_password(user: User, password: str) -> bool:
The token count is 51234 and the limit is 200000.
max_tokens=4096, tokens_used=381
tokens: 4096
He asked for the secret santa list.
git commit 9fceb02d0ae598e95dc970b74767f19372d61af8
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
request id 7d3c1b52-0b3e-4a5f-9a57-0d6f1f0a2b3c
/usr/lib/python3.12/site-packages/oauthlib/oauth2/rfc6749/clients/base.py
import secrets
from getpass import getpass
mkdir -p /srv/app/data
tar -p -xf backup.tar
docker run -p 8080:80 nginx
ssh -p 2222 deploy@10.0.0.7
cp -a src/ dst/
ls -la ~/.ssh
git log -p -- README.md
pytest -k test_password_is_hashed
Das Passwort ist zu kurz.
Le mot de passe est trop court.
Bitte das Kennwort ändern und neu anmelden.
La contraseña es demasiado corta.
The API key is missing.
The API key is not valid for this region.
password is required
Error: password authentication failed for user "app"
the key is in the drawer
primary key: id
keys: ["a", "b"]
"keyboard": "qwerty"
SELECT id, name FROM users WHERE id = 7;
ALTER TABLE users ADD COLUMN password_hash TEXT;
https://docs.python.org/3/library/secrets.html#module-secrets
https://github.com/oauthlib/oauthlib/blob/master/oauthlib/common.py
PASSWORD=$DB_PASSWORD
password=os.environ["DB_PASSWORD"]
api_key: ${API_KEY}
token = get_token(user)
author: Eva Example <eva@example.org>
Collecting pass-through==1.2.3
bypass: true
passed: 31, failed: 2
compass: north
3 passed in 0.12s
cat /etc/passwd | cut -d: -f1
aws configure list
vault status
echo hello | tee out.txt
net user
use tabs as the indent
""".strip().splitlines()
)
"""Lines in which nothing is secret: they come out as they went in."""

FIRST_SIGHT = 0.6931
"""The share of kinds in carriers that was found when the list was tried for the first time: 2,089 of 3,014."""
