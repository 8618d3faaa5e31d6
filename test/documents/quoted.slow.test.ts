/** Gives files of other programs that the pages show to those programs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { canRun } from '../../src/lib/executable.ts';
import { scratch } from '../support/program.ts';
import { root } from '../support/run-svc.ts';
import { blocksOf, textOf } from './blocks.ts';
import { cannotRun, runBlocks } from './run-page.ts';
import { stages } from './stages.ts';

/** The page's only block of that language with these words. */
function quoted(page: string, language: string, words: string): string {
  const found = blocksOf(textOf(page)).filter(
    ({ info, text }) => info[0] === language && text.includes(words),
  );
  assert.equal(found.length, 1, `${page} has one such block`);
  return found[0]!.text;
}

const nginx = '/usr/sbin/nginx';
const noNginx = cannotRun() || (!canRun(nginx) && `there is no ${nginx}: apt install nginx-light`);

const proxyScript = (server: string): string => `
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=hooks.example.org -days 2 \
  -addext subjectAltName=DNS:hooks.example.org -keyout hooks.key -out hooks.pem 2>openssl.log
cat > nginx.conf <<'END'
user root root;
pid nginx.pid;
error_log nginx.log;
events {}
http {
access_log off;
client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi; scgi_temp_path scgi;
${server}
}
END
${nginx} -p "$PWD" -c nginx.conf
ask() {
  curl -s --cacert hooks.pem --resolve hooks.example.org:443:127.0.0.1 \
    -H "Authorization: Bearer $WEBHOOK_SECRET" -H 'Content-Type: application/json' \
    -d '{"sender_id": "ada", "text": "hello"}' "https://hooks.example.org$1"
}
ask /webhook
echo
ask /elsewhere || echo "nothing else is there"
`;

test('nginx, as the page sets it up, brings messages to svc', { skip: noNginx }, async () => {
  const page = 'docs/how-to/behind-a-proxy.md';
  const server = quoted(page, 'nginx', 'proxy_pass').replaceAll('/etc/ssl/', '');
  const shown = '{"status":"accepted",…}\nnothing else is there\n';
  const block = { line: 1, info: ['sh'], text: proxyScript(server), shown };
  await runBlocks(page, [block], stages['docs/how-to/upgrade-and-roll-back.md']);
});

const analyze = '/usr/bin/systemd-analyze';
const noAnalyze = !canRun(analyze) && `there is no ${analyze}: apt install systemd`;

test('the unit of the page is that of the package', () => {
  const told = quoted('docs/how-to/run-as-a-service.md', 'ini', 'ExecStart');
  const shipped = readFileSync(join(root, 'packaging/debian/svc.service'), 'utf8');
  const lines = (unit: string): readonly string[] => {
    return unit
      .split('\n')
      .filter((line) => /^[^#]/.test(line) && !line.startsWith('Documentation='));
  };
  const own = told.replace('/usr/local/bin/svc', '/usr/bin/svc');
  assert.deepEqual(lines(own), lines(shipped));
});

test('systemd knows all that the unit of the page says', { skip: noAnalyze }, async () => {
  await using folder = await scratch();
  const unit = quoted('docs/how-to/run-as-a-service.md', 'ini', 'ExecStart');
  const file = join(folder.path, 'svc.service');
  await writeFile(file, unit.replace('/usr/local/bin/svc', join(root, 'svc')));
  const args = ['-c', 'exec "$0" verify --man=no "$1" 2>&1', analyze, file];
  const told = execFileSync('sh', args, { encoding: 'utf8' });
  assert.doesNotMatch(told, /svc\.service/);
  const said = execFileSync(analyze, ['security', '--offline=true', file], { encoding: 'utf8' });
  const [, exposure] = /exposure level for svc\.service: ([\d.]+)/.exec(said) ?? [];
  assert.ok(Number(exposure) <= 1.5, said);
});
