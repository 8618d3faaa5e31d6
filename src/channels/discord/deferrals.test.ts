/** Deferred responses: which reply completes one, and which goes as a message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeDiscord } from '../../../test/fake/discord.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { fieldsOf } from '../../lib/json.ts';
import { systemClock } from '../../lib/clock.ts';
import type { DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { createApi, type Api } from './api.ts';
import { outgoingOf, plainOutcome } from '../messenger/delivery.ts';
import { discordKind } from './discord.ts';
import { Deferrals, parseCommand } from './interactions.ts';
import { parseTarget, type Target } from './wire.ts';

const { signal } = new AbortController();
const reply = (text: string): Reply => ({ id: '01kz8c4h9e2q7x5t0m3vbn', text }) as unknown as Reply;

/** What the reply becomes as the response; null: it is a message. */
async function complete(
  deferrals: Deferrals,
  api: Api,
  said: Reply,
  target: Target,
): Promise<DeliveryOutcome | null> {
  const result = await deferrals.complete(api, outgoingOf(discordKind, said, target), signal);
  const platform = { meaningOf: () => null } as never;
  return result && plainOutcome({ platform, token: 'bot token' }, result, said);
}

async function stage() {
  // The answered message is recent, however slow the machine is.
  const at = Date.now();
  const discord = await startFakeDiscord({ now: () => at });
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const config = { baseUrl: discord.url };
  const parts = { token: discord.token, config, http, deadlines, ...systemClock };
  const api = await createApi(parts);
  const ann = discord.user('Ann');
  discord.slash.registered = [{ id: '7', type: 1, name: 'new', description: 'Begin anew' }];
  const chosen = () => discord.slash.choose(ann, discord.direct(ann), 'new');
  const choose = () => {
    const { deferral, target } = parseCommand(chosen())!;
    return { deferral, target: parseTarget(target)! };
  };
  const shown = (): string | undefined => discord.slash.chosen.at(-1)?.original?.content;
  return {
    discord,
    api,
    chosen,
    choose,
    shown,
    async [Symbol.asyncDispose]() {
      api.close();
      await http.close();
      await discord[Symbol.asyncDispose]();
    },
  };
}

test('what stands behind a command names nobody by id', async () => {
  await using it = await stage();
  const wire = fieldsOf(it.chosen());
  const options = [{ name: 'text', type: 3, value: 'ask <@80351110224678914> in <#5>' }];
  const said = parseCommand({ ...wire, data: { ...fieldsOf(wire['data']), options } });
  assert.equal(said?.text, '/new ask @someone in #a channel');
});

test('the first reply completes it, and what comes after is a message', async () => {
  await using it = await stage();
  const { deferral, target } = it.choose();
  const deferrals = new Deferrals();
  deferrals.defer(it.api, deferral);
  // The same event arrives again in a resumed session.
  deferrals.defer(it.api, deferral);
  const first = await complete(deferrals, it.api, reply('one'), target);
  assert.deepEqual(first, { kind: 'delivered' });
  assert.equal(await complete(deferrals, it.api, reply('two'), target), null);
  assert.equal(it.shown(), 'one');
});

test('where a reply begins with a file, that is what completes it', async () => {
  await using it = await stage();
  const { deferral, target } = it.choose();
  const deferrals = new Deferrals();
  deferrals.defer(it.api, deferral);
  const file = { name: 'code.ts' };
  const uploaded = { field: 'files[0]', type: 'text/plain; charset=utf-8' };
  const long = { ...reply('let x = 1;'), file } as Reply;
  const done = await complete(deferrals, it.api, long, target);
  assert.deepEqual(done, { kind: 'delivered' });
  const { original } = it.discord.slash.chosen.at(-1)!;
  assert.equal(original?.content, '');
  assert.deepEqual(original?.['files'], [{ ...file, ...uploaded, text: 'let x = 1;' }]);
});

test('another process completes what waits, and nothing twice', async () => {
  await using it = await stage();
  const { deferral, target } = it.choose();
  const before = new Deferrals();
  before.defer(it.api, deferral);
  await it.discord.until(() => (it.shown() === undefined ? undefined : true), 'it is put off');
  const after = new Deferrals();
  // The event arrives again, and the platform already has its answer.
  after.defer(it.api, deferral);
  const done = await complete(after, it.api, reply('one'), target);
  assert.deepEqual(done, { kind: 'delivered' });
  assert.equal(await complete(new Deferrals(), it.api, reply('two'), target), null);
  assert.equal(it.shown(), 'one');
});

test('what another process completed with this reply is not sent again', async () => {
  await using it = await stage();
  const code = { ...reply('let x = 1;'), file: { name: 'code.ts' } } as Reply;
  for (const said of [reply(' one '), code]) {
    const { deferral, target } = it.choose();
    const before = new Deferrals();
    before.defer(it.api, deferral);
    await complete(before, it.api, said, target);
    const again = await complete(new Deferrals(), it.api, said, target);
    assert.deepEqual(again, { kind: 'delivered' });
    const rest = { ...said, id: `${said.id}-01` } as Reply;
    assert.equal(await complete(new Deferrals(), it.api, rest, target), null);
  }
});

test('what could not be put off is a message', async () => {
  await using it = await stage();
  const { deferral, target } = it.choose();
  const deferrals = new Deferrals();
  it.discord.fail('POST /interactions/:id/:token/callback', { kind: 'status', status: 404 });
  deferrals.defer(it.api, deferral);
  assert.equal(await complete(deferrals, it.api, reply('one'), target), null);
  assert.equal(await complete(new Deferrals(), it.api, reply('one'), target), null);
});

test('a try that ends badly is tried again at the same place', async () => {
  await using it = await stage();
  const { deferral, target } = it.choose();
  const deferrals = new Deferrals();
  deferrals.defer(it.api, deferral);
  const patch = 'PATCH /webhooks/:id/:token/messages/@original';
  it.discord.fail(patch, { kind: 'status', status: 500 });
  const failed = await complete(deferrals, it.api, reply('one'), target);
  assert.ok(failed?.kind === 'retry' && failed.mayHaveArrived);
  it.discord.fail(patch, { kind: 'rate-limit', retryAfterSeconds: 1 });
  const limited = await complete(deferrals, it.api, reply('one'), target);
  assert.equal(limited?.kind, 'paced');
  assert.equal(it.shown(), '');
});
