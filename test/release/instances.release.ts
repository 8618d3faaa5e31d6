/**
 * The recipe of three instances, on a Debian 13 with a real systemd: its commands install the
 * one-file program and the units, restart one instance after the other, and upgrade them, while
 * people talk. PostgreSQL and HAProxy run beside the machine, on the same network.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { blocksOf, quoted, textOf } from '../documents/blocks.ts';
import { assertAnswered, conversations, converse } from '../examples/converse.ts';
import { exampleText, mapped } from '../examples/many-set.ts';
import { noHaproxy, startHaproxy } from '../fake/haproxy.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { noOwnPostgres } from '../fake/postgres.ts';
import { PostgresServer } from '../fake/postgres/server.ts';
import { startReceiver } from '../fake/receiver.ts';
import { secret } from '../support/program.ts';
import { bootDebian, whyNoMachine, type Machine } from './debian-machine.ts';
import { made } from './made.ts';
import { isInOwnNetwork, runInOwnNetwork } from './own-network.ts';
import { version } from './smoke.ts';

const page = 'docs/recipes/three-instances.md';
const { path: program, skip } = made('one-file', `svc-${version}-linux-x64`);
const noMachine = whyNoMachine();
const machineSkip = noMachine !== null && `NOT TRIED: three instances: ${noMachine}.`;
const why = machineSkip || skip || noOwnPostgres || noHaproxy;

if (why === false && !isInOwnNetwork) {
  process.exitCode = await runInOwnNetwork(import.meta.filename);
} else {
  suite('three instances', { skip: why }, tryRecipe);
}

/** What the machine does not have. PostgreSQL and HAProxy are those of the test. */
const standIns = `set -eu
sudo() {
  case $1 in
    apt | haproxy | -u) ;;
    *) "$@" ;;
  esac
}
openssl() { od -An -v -tx1 -N"$3" /dev/urandom | tr -d ' \\n'; }
curl() {
  local place=\${2#http://}
  exec 3<>"/dev/tcp/127.0.0.1/$(expr "$place" : '[^:]*:\\([0-9]*\\)')" || return 1
  printf 'GET /%s HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' "\${place#*/}" >&3
  head -n 1 <&3 | grep -q ' 200 '
}
cd /root
`;

/** The page's block of commands with these words. */
function commands(words: string): string {
  const found = blocksOf(textOf(page)).filter(({ info, text }) => {
    return info[0] === 'sh' && text.includes(words);
  });
  assert.equal(found.length, 1, words);
  return found[0]!.text;
}

async function follow(machine: Machine, words: string): Promise<void> {
  await machine.done('bash -s', standIns + commands(words));
}

/** The programs that the instances run. */
async function programs(machine: Machine): Promise<readonly string[]> {
  const show = (one: number): Promise<string> =>
    machine.done(`readlink /proc/$(systemctl show --value -p MainPID svc@${one})/exe`);
  return Promise.all([1, 2, 3].map(show));
}

function tryRecipe(): void {
  test('they are set up, restarted and upgraded as the page says, and refuse nobody', async () => {
    await using server = await PostgresServer.start();
    await using receiver = await startReceiver();
    await using model = await startFakeOllama((call) => ({ answer: `to ${lastOf(call).content}` }));
    await using machine = await bootDebian();
    const put = (path: string, text: string | Buffer): Promise<string> =>
      machine.done(`mkdir -p "$(dirname ${path})" && cat >${path}`, text);
    await put(`/root/svc-${version}-linux-x64`, readFileSync(program));
    await put('/root/examples/many/svc@.service', exampleText('svc@.service'));
    const config = mapped(quoted(page, 'json', 'url_env'), {
      'http://127.0.0.1:9000/replies': receiver.url,
      'http://127.0.0.1:11434': model.url,
    });
    await put('/root/svc.json', config);

    await follow(machine, 'CREATE ROLE svc');
    assert.equal(await machine.done('stat -c %a /etc/credstore/svc'), '700');
    const database = await server.newDatabase();
    await put('/etc/credstore/svc/DATABASE_URL', `${database}\n`);
    await put('/etc/credstore/svc/WEBHOOK_SECRET', `${secret}\n`);
    await follow(machine, 'useradd');
    await follow(machine, 'enable --now');
    await machine.done(
      'bash -s',
      `${standIns}for i in 1 2 3; do
      until curl -sf http://127.0.0.1:211$i/healthz; do sleep 0.2; done
    done`,
    );
    const asSvc = 'setpriv --reuid svc --regid svc --clear-groups';
    const read = await machine.run(`${asSvc} cat /etc/credstore/svc/WEBHOOK_SECRET`);
    assert.match(read.err, /Permission denied/);
    const left = await machine.run(`grep -rlF ${secret} /etc/svc /var/lib/svc`);
    assert.equal(left.out, '', 'no file of svc holds a secret');

    const balancer = mapped(exampleText('haproxy-systemd.cfg'), {
      '  log /dev/log local0\n  user haproxy\n  group haproxy\n  chroot /var/lib/haproxy\n': '',
    });
    await using _ = await startHaproxy(balancer, 8_090);
    const over = new AbortController();
    const url = 'http://127.0.0.1:8090/webhook';
    const talking = conversations.map((one) => converse(url, one, receiver, over.signal));
    const failed = Promise.all(talking).then(() => new Promise<never>(() => {}));
    const rolling = async (): Promise<void> => {
      assert.deepEqual(new Set(await programs(machine)), new Set([`/opt/svc/svc-${version}`]));
      await follow(machine, 'for i in 1 2 3; do\n  sudo systemctl restart');
      await machine.done(`cp /root/svc-${version}-linux-x64 /root/svc-1.1.0-linux-x64`);
      await follow(machine, 'svc-1.1.0-linux-x64');
      assert.deepEqual(new Set(await programs(machine)), new Set(['/opt/svc/svc-1.1.0']));
    };
    await Promise.race([rolling(), failed]);
    over.abort();
    const said = await Promise.all(talking);
    await receiver.waitFor(said.flat().length);
    await machine.done("systemctl stop 'svc@*'");
    assertAnswered(receiver, said);
    const log = await machine.done("journalctl --unit 'svc@*' --output cat");
    assert.ok(!log.includes(secret));
  });
}
