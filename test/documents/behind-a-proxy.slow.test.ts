/**
 * Real proxies with the files of docs/how-to/behind-a-proxy.md stand before a real svc: at port 443
 * of a network of their own, with certificates that the test makes.
 */
import { test } from 'node:test';
import { canRun } from '../../src/lib/executable.ts';
import { quoted } from './blocks.ts';
import { cannotRun, runBlocks } from './run-page.ts';

const page = 'docs/how-to/behind-a-proxy.md';

/** svc as the page wants it: with a token, and with the name that the proxy passes on. */
const before = `svc init --yes --channel webhook --provider ollama --model llama3.2
export WEBHOOK_SECRET="$(openssl rand -hex 32)" ADMIN_TOKEN="$(openssl rand -hex 32)"
jq '.admin = {"token_env": "ADMIN_TOKEN"}
  | .observability = (env.OBSERVABILITY | fromjson)' svc.json > new.json && mv new.json svc.json
svc serve
`;

/**
 * Each line prints what came of a request, for the lines of `shown`: in words, since numbers may
 * differ from those of a page.
 */
const requests = `
at() {
  local host=$1 path=$2
  shift 2
  command curl -s --cacert ca.pem --resolve "$host:443:127.0.0.1" "$@" "https://$host$path"
}
meaning() {
  read -r || true
  case $REPLY in
    200) echo fine ;;
    401) echo who are you ;;
    404) echo not here ;;
    413) echo too large ;;
    *) echo "something else: $REPLY" ;;
  esac
}
status() { at "$@" -o /dev/null -w '%{http_code}' | meaning; }
code() { at "$@" | jq -r .code; }
# By HTTP/2, an answer that comes before the whole body makes curl report a broken stream.
hook() { at hooks.example.org /webhook --http1.1 -H 'Content-Type: application/json' "$@"; }
bearer="Authorization: Bearer $WEBHOOK_SECRET"
operator="Authorization: Bearer $ADMIN_TOKEN"
admin=svc.example.org

hello='{"sender_id": "ada", "text": "hello"}'
echo "a message: $(hook -H "$bearer" -d "$hello" | jq -r .status)"
echo "another path: $(status hooks.example.org /elsewhere -H "$bearer")"
echo "a wrong secret: $(hook -H 'Authorization: Bearer wrong' -d '{}' | jq -r .code)"
head -c 1048577 /dev/zero > large
sent() { hook -H "$bearer" --data-binary "$1" -o /dev/null -w '%{http_code}' | meaning; }
echo "a large body: $(sent @large)"
echo "the page without a login: $(status $admin /ui)"
echo "with a wrong one: $(status $admin /ui -u ann:wrong)"
echo "with the login: $(status $admin /ui -u ann:a-password)"
echo "the builder: $(status $admin /builder -u ann:a-password)"
echo "texts by the login alone: $(code $admin /api/v1/conversations -u ann:a-password)"
echo "with a wrong token: $(code $admin /api/v1/status -H 'Authorization: Bearer wrong')"
echo "with the token: $(status $admin /api/v1/conversations -H "$operator")"
echo "metrics: $(status $admin /metrics -u ann:a-password)"
nobody=/api/v1/senders/webhook/nobody
own="Origin: https://$admin" foreign='Origin: https://evil.example.org'
echo "a write of the page: $(status $admin $nobody -X DELETE -H "$operator" -H "$own")"
echo "of another: $(code $admin $nobody -X DELETE -H "$operator" -H "$foreign")"
secret=/api/v1/secrets/WEBHOOK_SECRET
echo "a secret: $(code $admin $secret -X DELETE -H "$operator" -H "$own")"
at $admin /api/v1/events -N -u ann:a-password > events &
events=$!
until grep -q '^retry: ' events; do sleep 0.02; done
hook -H "$bearer" -d '{"sender_id": "bob", "text": "hello"}' > answer
until grep -q '^event: message_accepted' events; do sleep 0.02; done
# The connection is still open: nothing had to fill a buffer.
kill $events && echo "events come at once"
`;

const shown = `a message: accepted
another path: not here
a wrong secret: unauthorized
a large body: too large
the page without a login: who are you
with a wrong one: who are you
with the login: fine
the builder: fine
texts by the login alone: unauthorized
with a wrong token: unauthorized
with the token: fine
metrics: not here
a write of the page: fine
of another: cross_site
a secret: loopback_only
events come at once
`;

/** @param start makes ca.pem and starts the proxy, which the end of the network ends */
async function assertPasses(start: string): Promise<void> {
  const setting = quoted(page, 'json', 'allowed_hosts').replace('"observability": ', '').trim();
  const stage = { before: `export OBSERVABILITY='${setting}'\n${before}` };
  await runBlocks(page, [{ line: 1, info: ['sh'], text: start + requests, shown }], stage);
}

const nginx = '/usr/sbin/nginx';
const noNginx = cannotRun() || (!canRun(nginx) && `there is no ${nginx}: apt install nginx-light`);

test('nginx, as the page sets it up, stands before svc', { skip: noNginx }, async () => {
  const servers = quoted(page, 'nginx', 'proxy_pass').replaceAll(/\/etc\/(?:ssl|nginx)\//g, '');
  await assertPasses(`
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=example.org -days 2 \\
  -addext subjectAltName=DNS:hooks.example.org,DNS:svc.example.org \\
  -keyout hooks.key -out hooks.pem 2>openssl.log
cp hooks.key svc.key && cp hooks.pem svc.pem && cp hooks.pem ca.pem
printf 'ann:%s\\n' "$(openssl passwd -6 a-password)" > svc.htpasswd
cat > nginx.conf <<'END'
user root root;
pid nginx.pid;
error_log nginx.log;
events {}
http {
access_log off;
client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi; scgi_temp_path scgi;
${servers}
}
END
${nginx} -p "$PWD" -c nginx.conf
`);
});

const caddy = process.env['SVC_CADDY'] ?? '/usr/bin/caddy';
const noCaddy = cannotRun() || (!canRun(caddy) && `there is no ${caddy}: apt install caddy`);

test('Caddy, as the page sets it up, stands before svc', { skip: noCaddy }, async () => {
  await assertPasses(`
cat > Caddyfile <<'END'
{
	admin off
	local_certs
	skip_install_trust
	storage file_system {
		root ./caddy
	}
}
${quoted(page, 'caddy', 'reverse_proxy')}
END
hash=$(${caddy} hash-password --plaintext a-password)
HASH=$hash node -e 'const fs = require("fs");
const text = fs.readFileSync("Caddyfile", "utf8");
fs.writeFileSync("Caddyfile", text.replace("HASH", () => process.env.HASH));'
${caddy} run --config Caddyfile --adapter caddyfile > caddy.log 2>&1 &
root=caddy/pki/authorities/local/root.crt
until [ -s $root ]; do sleep 0.02; done
cp $root ca.pem
for name in hooks svc; do
  until command curl -s --cacert ca.pem -o /dev/null \\
    --resolve $name.example.org:443:127.0.0.1 https://$name.example.org; do sleep 0.02; done
done
`);
});
