/** Splits a draft: changes that can be applied now, and changes that need a restart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restartFields } from '../../../src/config/changes/lifetime.ts';
import type { JsonObject } from '../../../src/config/locate.ts';
import { templates, textOf } from '../../../src/config/templates/templates.ts';
import { apartFrom } from './apart.ts';

const base = templates.find(({ name }) => name === 'echo')!.document;
const [brain] = base['brains'] as JsonObject[];
const slow = { ...base, brains: [{ ...brain, deadline_seconds: 60 }] };

const apart = (draft: JsonObject, from = base) =>
  apartFrom(from, textOf(draft), restartFields(from, draft));

test('storage waits, and the rest is the draft without it, byte for byte', () => {
  assert.deepEqual(apart({ ...slow, storage: { path: 'svc.db' } }), {
    kind: 'rest',
    text: textOf(slow),
  });
  const kept = { ...base, storage: { path: 'old.db' } };
  const moved = apart({ ...slow, storage: { path: 'new.db' } }, kept);
  assert.deepEqual(moved, { kind: 'rest', text: textOf({ ...slow, storage: { path: 'old.db' } }) });
  const gone = apart(slow, kept);
  assert.equal(gone.kind, 'rest');
  assert.deepEqual(JSON.parse(gone.kind === 'rest' ? gone.text : '{}'), {
    ...slow,
    storage: { path: 'old.db' },
  });
});

test('a listener that stays on its port keeps its host, wherever its channel stands', () => {
  const [webhook = {}] = base['channels'] as JsonObject[];
  const at = (bind: string): JsonObject => {
    return { ...webhook, webhook: { ...(webhook['webhook'] as object), bind } };
  };
  const from = { ...base, channels: [at('127.0.0.1:8080')] };
  const telegram = { type: 'messenger_a', mode: 'polling', token_env: 'BOT' };
  const draft = { ...slow, channels: [telegram, at('0.0.0.0:8080')] };
  const routed = { ...draft, routes: base['routes']! };
  const found = apart(routed, from);
  assert.equal(found.kind, 'rest');
  const { channels } = JSON.parse(found.kind === 'rest' ? found.text : '{}') as JsonObject;
  assert.deepEqual((channels as JsonObject[])[1], at('127.0.0.1:8080'));
});

test('where nothing else is changed, or the rest needs it, nothing can be applied', () => {
  assert.deepEqual(apart({ ...base, storage: {} }), { kind: 'alone' });
  const agent = { tools: ['memory_note'], memory: { scope: 'conversation', max_notes: 5 } };
  const together = apart({ ...base, brains: [{ ...brain, agent }], storage: {} });
  assert.equal(together.kind, 'together');
  assert.match(together.kind === 'together' ? together.problem.code : '', /memory_without_storage/);
});
