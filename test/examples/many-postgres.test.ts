/** examples/many: its own files start three instances behind a balancer, as processes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { validateText } from '../../src/config/validate.ts';
import { namedSecrets } from '../../src/config/secrets.ts';
import { lastOf } from '../agents/stage.ts';
import { metricOf } from '../chaos/outside.ts';
import { haproxy, noHaproxy } from '../fake/haproxy.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { startReceiver } from '../fake/receiver.ts';
import { assertAnswered, conversations, converse } from './converse.ts';
import {
  exampleText,
  filledIn,
  instanceNames,
  services,
  startMany,
  startUnits,
  type Instance,
  type ManySet,
  type Where,
} from './many-set.ts';
import { quoted, textOf } from '../documents/blocks.ts';
import { root } from '../support/run-svc.ts';
import { scratch, secret } from '../support/program.ts';
import { until, untilAll } from '../support/waiting.ts';

const values = {
  POSTGRES_PASSWORD: 'a-password-of-the-database',
  WEBHOOK_SECRET: secret,
  ADMIN_TOKEN: 'an-admin-token-of-the-tests',
};

test('the files of the set fit together', () => {
  assert.deepEqual(instanceNames, ['svc-1', 'svc-2', 'svc-3']);
  const validation = validateText(exampleText('svc.json'));
  assert.ok(validation.kind === 'valid');
  const secrets = namedSecrets(validation.config).map(({ name }) => name);
  const balancer = exampleText('haproxy.cfg');
  for (const name of instanceNames) {
    const { environment = {}, ports = [] } = services[name]!;
    assert.deepEqual(Object.keys(environment).toSorted(), secrets.toSorted());
    for (const text of Object.values(environment)) filledIn(text, values);
    assert.match(ports.join(), /^127\.0\.0\.1:\d+:2112$/, 'its admin server, on loopback alone');
    assert.match(balancer, new RegExp(`^ +server ${name} ${name}:8090 check port 2112$`, 'm'));
  }
  const written = Array.from(exampleText('.env.example').matchAll(/^(\w+)=$/gm), ([, one]) => one);
  assert.deepEqual(written, Object.keys(values));
});

const recipe = 'docs/recipes/three-instances.md';

test('the files for systemd fit together, and are those of the containers where they can', () => {
  const validation = validateText(quoted(recipe, 'json', 'url_env'));
  assert.ok(validation.kind === 'valid');
  const secrets = namedSecrets(validation.config).map(({ name }) => name);
  for (const name of secrets) assert.match(textOf(recipe), new RegExp(`\\| secret ${name}$`, 'm'));
  const [defaults, others] = ['haproxy-systemd.cfg', 'haproxy.cfg'].map((file) => {
    const [, whole] = /^defaults$([^]*?)^frontend/m.exec(exampleText(file))!;
    return whole!.split('\n').filter((line) => !/^ +(?:log global|option httplog)$/.test(line));
  });
  assert.deepEqual(defaults, others);
  const linesOf = (unit: string): readonly string[] =>
    unit.split('\n').filter((line) => /^[^#]/.test(line));
  const own = linesOf(exampleText('svc@.service'));
  const packaged = linesOf(readFileSync(join(root, 'packaging/debian/svc.service'), 'utf8'));
  const [added, left] = [
    own.filter((line) => !packaged.includes(line)),
    packaged.filter((line) => !own.includes(line)),
  ];
  const names = (lines: readonly string[]) => lines.map((line) => line.trim().split(/[= ]/)[0]);
  assert.deepEqual(names(added), ['Description', 'ExecStart', '--webhook-bind']);
  assert.deepEqual(names(left), ['Description', 'Documentation', 'ExecStart', 'ReadWritePaths']);
});

test('HAProxy knows all that the balancer for systemd says', { skip: noHaproxy }, async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'haproxy.cfg');
  // This machine may not have Debian's user.
  const text = exampleText('haproxy-systemd.cfg').replaceAll(/^ +(?:user|group) .*$/gm, '');
  await writeFile(file, text);
  execFileSync(haproxy, ['-c', '-f', file], { stdio: 'ignore' });
});

async function acceptedBy({ adminPort }: Instance): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return metricOf(page, 'svc_messages_accepted_total', 'channel="webhook"');
}

/** Starts a set, and restarts one of its instances after the other while people talk. */
async function assertRolls(begin: (where: Where) => Promise<ManySet>): Promise<void> {
  await using folder = await scratch();
  await using receiver = await startReceiver();
  await using model = await startFakeOllama((call) => ({
    answer: `to ${lastOf(call).content}`,
    delayMs: 20,
  }));
  const where = { folder: folder.path, modelUrl: model.url, receiverUrl: receiver.url, values };
  await using set = await begin({ ...where, databaseUrl: await newDatabase() });
  const over = new AbortController();
  const talking = conversations.map((one) => converse(set.url, one, receiver, over.signal));
  const failed = Promise.all(talking).then(() => new Promise<never>(() => {}));
  const restarting = async (): Promise<void> => {
    for (const instance of set.instances) {
      const works = `${instance.name} takes messages`;
      await until(works, async () => (await acceptedBy(instance)) > 0);
      assert.equal(await instance.stop(), 0, instance.log());
      await instance.start();
      await until(`${works} again`, async () => (await acceptedBy(instance)) > 0);
    }
  };
  await Promise.race([restarting(), failed]);
  over.abort();
  const said = await Promise.all(talking);
  await untilAll(said.flat().length, () => receiver.received.length);
  // Instances finish running work before they end, so no reply comes later.
  const codes = await Promise.all(set.instances.map((instance) => instance.stop()));
  assert.deepEqual(codes, [0, 0, 0]);
  assertAnswered(receiver, said);
}

const skip = noPostgres || noHaproxy;

test(
  'instances are restarted one after the other: nothing is refused, lost, doubled or out of order',
  { skip },
  () => assertRolls(startMany),
);

test('so are those of the unit for systemd, with secrets in its credentials', { skip }, () =>
  assertRolls((where) => startUnits(where, quoted(recipe, 'json', 'url_env'))),
);
