/** The changes that need a restart follow from the schema. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field } from '../field.ts';
import { memberPath, type Json, type JsonObject } from '../locate.ts';
import { schema } from '../schema.ts';
import { changesOf } from './changes.ts';
import { restartFields } from './lifetime.ts';

const hook = (bind: string): JsonObject => ({ type: 'webhook', webhook: { bind } });
const routes = [{ channel: 'webhook', brain: 'b' }];
const whole = (storage: JsonObject, more: JsonObject = {}): JsonObject => ({ storage, ...more });

/** Every field outside of lists, with its path. */
function fieldsOf(field: Field, path: readonly string[] = []): (readonly [string[], Field])[] {
  if (field.type !== 'object') return [];
  return Object.entries(field.fields).flatMap(([key, inner]) => [
    [[...path, key], inner] as const,
    ...fieldsOf(inner, [...path, key]),
  ]);
}

function documentWith([key = '', ...rest]: readonly string[], value: Json): JsonObject {
  return { [key]: rest.length === 0 ? value : documentWith(rest, value) };
}

test('a field of the process needs a restart, and no other field does', () => {
  const values = {
    text: '127.0.0.1:9',
    integer: 77,
    decimal: 0.7,
    boolean: false,
    list: ['x'],
    map: {},
    choice: 'x',
  };
  const restartPaths = fieldsOf(schema).flatMap(([path, field]) => {
    if (field.type === 'object') return [];
    const before = documentWith(path.slice(0, -1), {});
    const changed = documentWith(path, values[field.type]);
    return restartFields(path.length === 1 ? {} : before, changed);
  });
  const marked = fieldsOf(schema).filter(([, { type, lifetime }]) => {
    return lifetime === 'process' && type !== 'object';
  });
  assert.deepEqual(
    restartPaths,
    marked.map(([path]) => path.reduce(memberPath, '')),
  );
  assert.ok(restartPaths.length >= 6);
});

test('a block of the process that comes or goes is told by its own name', () => {
  assert.deepEqual(restartFields({}, whole({ path: 'a' })), ['storage']);
  assert.deepEqual(restartFields(whole({}), { storage: null }), ['storage']);
  assert.deepEqual(restartFields({}, { session: {}, observability: {} }), []);
});

test('what means the same needs none, however it is written', () => {
  const defaults = { retention_days: 30, url_env: '' };
  assert.deepEqual(restartFields(whole({}), whole(defaults)), []);
  const at = (addr: string): JsonObject => ({ observability: { addr } });
  assert.deepEqual(restartFields(at('LOCALHOST:2112'), at('localhost:2112')), []);
});

test('where the admin server is off and stays off, its address means nothing', () => {
  const off = (addr: string): JsonObject => ({ observability: { enabled: false, addr } });
  const [from, to] = [off('127.0.0.1:1'), off('127.0.0.1:2')];
  assert.deepEqual(restartFields(from, to), []);
  assert.ok(changesOf(from, to).every(({ restart }) => !restart));
});

test('another host on a port that stays bound needs a restart', () => {
  const [from, to] = [[hook('127.0.0.1:80')], [{ type: 'discord' }, hook(':80')]];
  const path = 'channels[1].webhook.bind';
  assert.deepEqual(restartFields({ channels: from, routes }, { channels: to, routes }), [path]);
  assert.deepEqual(restartFields({ channels: from }, { channels: to, routes }), []);
  const moved = [hook('127.0.0.1:81')];
  assert.deepEqual(restartFields({ channels: from, routes }, { channels: moved, routes }), []);
});
