import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminToken, makeWorld, openAdmin, withToken } from '../../../test/fake/admin-world.ts';
import type { RunningConfigView, Status, WarningStatus } from '../admin.ts';

const reader = ['Host: localhost'];
const operator = [...reader, `Authorization: Bearer ${adminToken}`];

/** An admin server with a changed `plan()`, and the status that each viewer sees. */
async function start(change: (plan: RunningConfigView) => Partial<RunningConfigView>) {
  const world = makeWorld();
  const { ports } = world;
  world.ports = {
    ...ports,
    runningConfig: () => ({ ...ports.runningConfig(), ...change(ports.runningConfig()) }),
  };
  const admin = await openAdmin(world, { access: withToken });
  return {
    world,
    asked: async (path: string, head: readonly string[]) =>
      (await admin.send('GET', `/api/v1/${path}`, head)).body,
    status: async (head: readonly string[]) =>
      JSON.parse((await admin.send('GET', '/api/v1/status', head)).body) as Status,
    [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
  };
}

const folder = '/home/somebody/skills';
const quoted = 'the-key-that-nobody-knows';

const told: readonly (readonly [WarningStatus, string])[] = [
  [
    {
      code: 'skills_missing',
      path: 'brains[0].agent.skills_dir',
      message: `there is no folder ${folder}`,
      remedy: `Make ${folder}.`,
    },
    'The folder of skills does not exist',
  ],
  [
    {
      code: 'config_not_applied',
      path: '',
      message: `The configuration file is not in use: 1:1 ["${quoted}"]: no such field`,
      remedy: 'Mend the file.',
    },
    'The configuration file is not in use',
  ],
  [
    { code: 'of_later', path: 'storage', message: folder, remedy: quoted },
    'Something may need a person',
  ],
];

test('only an operator is told in whole what is warned of', async () => {
  const warnings = told.map(([warning]) => warning);
  await using started = await start(() => ({ warnings }));
  const inWhole = warnings.map((warning) => ({ ...warning, instances: null }));
  assert.deepEqual((await started.status(operator)).warnings, inWhole);
  const without = (await started.status(reader)).warnings;
  assert.deepEqual(
    without.map(({ code, path, message }) => [code, path, message]),
    told.map(([{ code, path }, meaning]) => [code, path, meaning]),
  );
  assert.doesNotMatch(JSON.stringify(without), new RegExp(`${folder}|${quoted}`));
});

test('a status has a hundred warnings, and says how many more there are', async () => {
  const [[warning]] = told as [(typeof told)[number]];
  let count = 100;
  await using started = await start(() => ({
    warnings: Array.from({ length: count }, () => warning),
  }));
  for (const head of [reader, operator]) {
    for (const [has, leftOut] of [
      [100, 0],
      [60_000, 59_900],
    ] as const) {
      count = has;
      const { warnings, warningsLeftOut } = await started.status(head);
      assert.deepEqual([warnings.length, warningsLeftOut], [100, leftOut]);
    }
  }
});

test('the path of a webhook that somebody chose is for the operator', async () => {
  let path = '/webhook';
  await using started = await start(({ config }) => {
    const [webhook, ...others] = config.channels;
    assert.ok(webhook?.type === 'webhook');
    return { config: { ...config, channels: [{ ...webhook, path }, ...others] } };
  });
  const addresses = async (head: readonly string[]) => {
    const { channels } = await started.status(head);
    const { rows } = JSON.parse(await started.asked('channels', head)) as { rows: typeof channels };
    return [channels[0]!.address, rows[0]!.address];
  };
  const whole = 'http://127.0.0.1:8090/webhook';
  assert.deepEqual(await addresses(reader), [whole, whole]);
  path = '/of-nobody-else';
  const chosen = 'http://127.0.0.1:8090/of-nobody-else';
  assert.deepEqual(await addresses(operator), [chosen, chosen]);
  const bare = 'http://127.0.0.1:8090';
  assert.deepEqual(await addresses(reader), [bare, bare]);
});

test('a frame of a warning has its code and place, and not its words', async () => {
  await using started = await start(() => ({}));
  const { events, ports } = started.world;
  events.warned({ code: 'skills_missing', message: folder, path: 'brains[0]' });
  assert.deepEqual(ports.liveEvents.at(ports.liveEvents.newest), {
    kind: 'warned',
    at: ports.now(),
    code: 'skills_missing',
    path: 'brains[0]',
    instance: null,
  });
});

test('what to do about a storage that takes nothing is told to whoever looks', async () => {
  const full = { code: 'storage_full', path: 'storage.path', message: folder };
  const remedy = 'Make room on that disk; svc goes on by itself.';
  await using started = await start(() => ({ warnings: [{ ...full, remedy }] }));
  const [seen] = (await started.status(reader)).warnings;
  assert.deepEqual([seen?.message, seen?.remedy], ['The disk of the database is full', remedy]);
});
