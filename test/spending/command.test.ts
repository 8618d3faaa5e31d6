/** `svc spend` of a running svc: the real admin API over a ledger that returns one row. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { localDay, localDayBefore } from '../../src/lib/local-day.ts';
import { spentBy } from '../fake/admin-spend.ts';
import { adminToken, makeWorld, openAdmin, withToken } from '../fake/admin-world.ts';
import { runCommand } from '../support/in-process.ts';
import { scratch, webhookConfig, writeConfig } from '../support/program.ts';

/** A brain with a budget; the ledger has rows with its name. */
function priced(url: string) {
  const model = {
    provider: 'local_runtime',
    model_id: 'small',
    locality: 'local',
    base_url: url,
    price: { input: 0.15, output: 0.6 },
    max_output_tokens: 400,
  };
  const budget = { tokens_per_turn: 2_000, tokens_per_day: 1_000 };
  const brain = { name: 'main', sensitivity: 'private', policy: { kind: 'priority' }, budget };
  return {
    brains: [{ ...brain, models: [model] }],
    routes: [{ channel: 'webhook', brain: 'main' }],
  };
}

async function stage(t: TestContext) {
  const folder = await scratch();
  const world = makeWorld();
  const server = await openAdmin(world, { access: withToken });
  t.after(async () => {
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const nowhere = 'http://127.0.0.1:1';
  const at = { port: 1, adminPort: server.port, modelUrl: nowhere, receiverUrl: nowhere };
  const admin = { token_env: 'TEST_ADMIN' };
  await writeConfig(folder.path, { ...webhookConfig(at), ...priced(nowhere), admin });
  const svc = (args: readonly string[], token: string | null = adminToken) => {
    const env = token === null ? {} : { TEST_ADMIN: token };
    return runCommand(['spend', ...args], { cwd: folder.path, env });
  };
  return { world, svc };
}

test('without storage the running svc tells what was spent, without a token', async (t) => {
  const { world, svc } = await stage(t);
  const { code, out, err } = await svc(['--by', 'brain', '--days', '7', '--json'], null);
  assert.deepEqual([code, err], [0, '']);
  const told = JSON.parse(out) as Record<string, unknown>;
  assert.deepEqual([told['by'], told['since']], ['brain', localDayBefore(Date.now(), 6)]);
  assert.deepEqual(told['rows'], [spentBy('brain')]);
  // The days of the service, whose clock differs in this test.
  const [now, since] = [localDay(world.ports.now()), localDayBefore(world.ports.now(), 6)];
  const asked = world.calls.map(([, by, from]) => `${String(by)} ${String(from)}`);
  assert.deepEqual(
    new Set(asked),
    new Set([`brain ${since}`, `day ${since}`, `brain ${now}`, `day ${now}`]),
  );
});

test('by model it is a table, with a row of all, and budgets below', async (t) => {
  const { svc } = await stage(t);
  const { code, out } = await svc([]);
  assert.equal(code, 0);
  assert.match(out, /^model +calls +tokens in .*\nsmall \(Ollama\) +3 +about 1240 +about 80 /);
  assert.match(out, /\nin all +3 .* 0\.0012 +0\.0004\n\n/);
  assert.match(out, /\nmain +tokens_per_day +1000 +250 +150 +40 %\n/);
  assert.match(out, /\nmain +tokens_per_turn +2000\n/);
});

test('senders are told with the token alone', async (t) => {
  const { svc } = await stage(t);
  const refused = await svc(['--by', 'sender'], null);
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(refused.err, /only for who has its admin token: set TEST_ADMIN/);
  assert.match((await svc(['--by', 'sender'])).out, /\nwebhook +sender-4711 +3 /);
});

test('what cannot be asked for is wrong usage, and says what can', async (t) => {
  const { svc } = await stage(t);
  const by = await svc(['--by', 'week']);
  assert.equal(by.code, 2);
  assert.match(by.err, /--by is one of day, brain, model, sender; "week" is none/);
  for (const days of ['0', '401', 'all']) {
    const { code, err } = await svc(['--days', days]);
    assert.equal(code, 2);
    assert.match(err, /--days is a number from 1 to 400/);
  }
});
