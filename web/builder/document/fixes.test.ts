/** Each offered fix removes its problem and adds no error. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import { editText } from '../../../src/config/edit/edit-text.ts';
import { keysAt } from './fields.ts';
import { fixesOf } from './fixes.ts';
import { pathOf } from '../../../src/config/edit/path.ts';
import { modelUsesOf } from './privacy-filter.ts';

const root = join(import.meta.dirname, '../../..');
const everything = readFileSync(join(root, 'test/golden/0.1-everything.json'), 'utf8');

const model = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
const hook = { type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://a.test/' } };
const messenger = {
  type: 'messenger_a',
  mode: 'polling',
  token_env: 'T',
  access: { allow: ['1'] },
};
const brain = { name: 'a', sensitivity: 'public', policy: { kind: 'priority' }, models: [model] };
const base = {
  channels: [hook],
  brains: [brain],
  routes: [{ channel: 'webhook', brain: 'a' }],
};
const agent = (more: object) => ({ brains: [{ ...brain, agent: { tools: ['time'], ...more } }] });

/** A problem's code, a change to a configuration without problems, and the labels of the fixes. */
const cases: readonly (readonly [string, object, readonly string[]])[] = [
  ['unknown_key', { chanels: 'x' }, ['Remove it', 'Keep as a note']],
  ['unknown_key', { storge: {} }, ['Rename to storage', 'Remove it', 'Keep as a note']],
  ['required', { routes: null }, ['Add routes']],
  ['required', { channels: [{ ...messenger, mode: null }, hook] }, ['Write polling']],
  ['required', { channels: [{ ...hook, webhook: null }] }, ['Add webhook']],
  ['required', { brains: [{ ...brain, policy: null }] }, ['Add policy']],
  ['wrong_type', { storage: { retention_days: '30' } }, ['Write 30']],
  ['wrong_type', { observability: { enabled: 'true' } }, ['Write true']],
  ['wrong_type', { storage: {}, session: { triggers: '/new' } }, ['Write ["/new"]']],
  ['wrong_type', { storage: 'svc.db' }, ['Begin it anew']],
  ['wrong_type', { brains: [{ ...brain, budget: { cost_per_day: '0.5' } }] }, ['Write 0.5']],
  ['out_of_range', { brains: [{ ...brain, budget: { cost_per_day: -1 } }] }, ['Write 0']],
  ['unknown_value', { brains: [{ ...brain, sensitivity: 'privat' }] }, ['Write private']],
  ['unknown_value', { channels: [{ ...messenger, mode: 'gateway' }, hook] }, ['Write polling']],
  ['out_of_range', { storage: {}, session: { recall_max: 99 } }, ['Write 50']],
  ['clamped', { brains: [{ ...brain, deadline_seconds: 9999 }] }, ['Write 3600']],
  ['wrong_type', { routes: {} }, ['Begin it anew']],
  [
    'wrong_type',
    { routes: { channel: 'webhook', brain: 'a' } },
    ['Write [{"channel":"webhook","brain":"a"}]'],
  ],
  ['too_few', { brains: [{ ...brain, models: [] }] }, ['Add an entry']],
  ['too_few', { routes: [] }, ['Add an entry']],
  ['too_few', agent({ tools: [] }), ['Add time']],
  ['too_few', agent({ tools: ['http_fetch'], http_fetch: { allow_hosts: [] } }), []],
  [
    'storage_twice',
    { storage: { path: 'a.db', url_env: 'U' } },
    ['Use the server', 'Use the file'],
  ],
  ['not_here', { channels: [{ ...hook, access: {} }] }, ['Remove it']],
  ['duplicate_channel', { channels: [hook, hook] }, ['Name it webhook-2', 'Remove this channel']],
  [
    'duplicate_channel',
    { channels: [hook, { ...hook, name: 'b' }, { ...hook, name: 'b' }] },
    ['Name it webhook-2', 'Remove this channel'],
  ],
  [
    'name_reserved',
    { channels: [hook, { ...messenger, name: 'discord' }], ...routed('discord') },
    ['Name it telegram-2'],
  ],
  ['name_reserved', { channels: [hook, { ...hook, name: 'completions' }] }, ['Name it webhook-2']],
  [
    'token_shared',
    { channels: [hook, messenger, { ...messenger, name: 'b' }] },
    ['Write TELEGRAM_TOKEN'],
  ],
  [
    'route_without_rest',
    routed('webhook', { when: { chats: ['1'] } }, { when: { senders: ['2'] } }),
    ['Route every other message to a', 'Remove the conditions of this route'],
  ],
  [
    'route_never_reached',
    {
      brains: [brain, { ...brain, name: 'b' }],
      ...routed('webhook', {}, { brain: 'b', when: { chats: ['1'] } }),
    },
    ['Move it before that route'],
  ],
  ['duplicate_brain', { brains: [brain, brain] }, ['Write a-2']],
  ['unknown_channel', { routes: [{ channel: 'discord', brain: 'a' }] }, ['Write webhook']],
  ['unknown_brain', { routes: [{ channel: 'webhook', brain: 'zzz' }] }, ['Write a']],
  ['route_repeated', { routes: [...base.routes, ...base.routes] }, ['Remove this route']],
  [
    'consensus_alone',
    { brains: [{ ...brain, policy: { kind: 'consensus' } }] },
    ['Write priority'],
  ],
  ['cage_missing', agent({ tools: ['http_fetch'] }), ['Add http_fetch', 'Take the tool out']],
  [
    'cage_without_tool',
    agent({ read_file: { root: '.' } }),
    ['List read_file', 'Remove the block'],
  ],
  [
    'grant_unlisted',
    agent({ governance: [{ tool: 'echo', mode: 'deny' }] }),
    ['List echo', 'Remove the grant'],
  ],
  ['tool_repeated', agent({ tools: ['time', 'time'] }), ['Remove it']],
  ['memory_without_storage', agent({ tools: ['memory_note'], memory: {} }), ['Add storage']],
  ['session_without_storage', { session: {} }, ['Add storage']],
  [
    'order_unknown',
    { brains: [{ ...brain, policy: { kind: 'priority', order: ['x'] } }] },
    ['Remove it'],
  ],
  ['channel_without_route', { channels: [hook, messenger] }, ['Route Telegram to a']],
  ['access_open', { channels: [hook, { ...messenger, access: null }] }, ['Say who may talk']],
  ['not_loopback', { observability: { addr: ':2112' } }, ['Write 127.0.0.1:2112']],
  [
    'bad_path',
    { channels: [{ ...hook, webhook: { outbound_url: 'http://a', path: 'x' } }] },
    ['Write /x'],
  ],
  [
    'private_without_local',
    { brains: [{ ...brain, sensitivity: 'private', models: [cloudModel()] }] },
    ['Add a local model'],
  ],
];

function cloudModel(): JsonObject {
  return { provider: 'hosted_runtime', model_id: 'big', locality: 'cloud', api_key_env: 'K' };
}

/** Routes of that channel: one, or one with each of these fields. */
function routed(channel: string, ...each: readonly object[]) {
  const routes = (each.length === 0 ? [{}] : each).map((more) => ({
    channel,
    brain: 'a',
    ...more,
  }));
  return { routes };
}

const errorsIn = (problems: readonly { readonly severity: string }[]) =>
  problems.filter(({ severity }) => severity === 'error').length;

test('a fix makes its problem go away', () => {
  for (const [code, more, labels] of cases) {
    const document = { ...base, ...more };
    const text = JSON.stringify(document, null, 2);
    const { problems } = validateText(text);
    const problem = problems.find((one) => one.code === code);
    assert.ok(problem, `${code} came not: ${JSON.stringify(problems)}`);
    const fixes = fixesOf(problem, document);
    assert.deepEqual(
      fixes.map(({ label }) => label),
      labels,
      code,
    );
    for (const { label, edits } of fixes) {
      const after = edits.reduce<string | null>(
        (now, edit) => (now === null ? null : editText(now, edit, keysAt)),
        text,
      );
      assert.ok(after !== null, `${code}: ${label} does nothing`);
      const rest = validateText(after).problems;
      const stays = rest.some((one) => one.code === code && one.path === problem.path);
      assert.ok(!stays, `${code} stays after ${label}: ${after}`);
      if (code !== 'too_few' && code !== 'wrong_type') continue;
      const most = errorsIn(problems) - (label === 'Add time' ? 1 : 0);
      assert.ok(errorsIn(rest) <= most, `${label} brings errors for ${code}: ${after}`);
    }
  }
});

test('whatever is broken in a whole configuration, its fixes do something', () => {
  const whole = JSON.parse(everything) as JsonObject;
  const broken: readonly Json[] = [null, '', 'zzz', 7, -1, true, [], {}, ['zzz'], { zzz: 1 }];
  let seen = 0;
  const walk = (value: Json, path: (string | number)[]): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        walk(inner, [...path, Array.isArray(value) ? Number(key) : key]);
      }
    }
    if (path.length === 0) return;
    for (const other of broken) {
      const text = editText(everything, { kind: 'set', path, value: other }, keysAt)!;
      const document = JSON.parse(text) as JsonObject;
      for (const problem of validateText(text).problems) {
        for (const { label, edits } of fixesOf(problem, document)) {
          seen++;
          const after = edits.reduce<string | null>(
            (now, edit) => (now === null ? null : editText(now, edit, keysAt)),
            text,
          );
          const where = `${problem.code} at ${problem.path}: ${label}`;
          assert.ok(after !== null && after !== text, `${where} does nothing`);
        }
      }
    }
  };
  walk(whole, []);
  assert.ok(seen > 100, `${seen} fixes were tried`);
});

test('the privacy filter and an agent say of each model whether it is asked', () => {
  const models = [cloudModel(), model, { ...model, model_id: 'n' }, { provider: 'x' }];
  const kinds = (more: object) =>
    modelUsesOf({ ...brain, models, ...more }).map(({ kind }) => kind);
  assert.deepEqual(kinds({}), ['asked', 'asked', 'asked', 'unknown']);
  assert.deepEqual(kinds({ sensitivity: 'private' }), ['never', 'asked', 'asked', 'unknown']);
  const noting = { memory: { scope: 'brain' } };
  assert.deepEqual(kinds({ agent: noting }), ['unused', 'asked', 'asked', 'unknown']);
  assert.deepEqual(kinds({ agent: {} }), ['asked', 'asked', 'asked', 'unknown']);
  assert.deepEqual(pathOf(''), []);
});
