import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonSchema } from '../../src/config/json-schema.ts';
import { offering } from './cases-completions.ts';
import { fieldCases } from './cases-fields.ts';
import { several } from './cases-routes.ts';
import { unmark } from './cases.ts';

type Schema = { readonly [keyword: string]: unknown };

/** The keywords of our schema, as JSON Schema 2020-12 defines them; any other one is a mistake. */
const keywords: Record<string, (schema: Schema, value: unknown) => boolean> = {
  type: ({ type }, value) => [type].flat().some((name) => isOfType(name, value)),
  enum: (schema, value) => (schema['enum'] as unknown[]).includes(value),
  const: (schema, value) => schema['const'] === value,
  pattern: ({ pattern }, value) =>
    typeof value !== 'string' || new RegExp(pattern as string, 'u').test(value),
  minLength: ({ minLength }, value) =>
    typeof value !== 'string' || value.length >= (minLength as number),
  minimum: ({ minimum }, value) => typeof value !== 'number' || value >= (minimum as number),
  maximum: ({ maximum }, value) => typeof value !== 'number' || value <= (maximum as number),
  minItems: ({ minItems }, value) => !Array.isArray(value) || value.length >= (minItems as number),
  items: ({ items }, value) =>
    !Array.isArray(value) || value.every((item) => accepts(items as Schema, item)),
  required: ({ required }, value) =>
    !isObject(value) || (required as string[]).every((key) => Object.hasOwn(value, key)),
  properties: ({ properties }, value) =>
    !isObject(value) ||
    Object.entries(properties as Record<string, Schema>).every(
      ([key, inner]) => !Object.hasOwn(value, key) || accepts(inner, value[key]),
    ),
  patternProperties: () => true,
  additionalProperties: ({ properties, patternProperties }, value) =>
    !isObject(value) ||
    Object.keys(value).every(
      (key) =>
        Object.hasOwn(properties as object, key) ||
        Object.keys(patternProperties as object).some((pattern) => new RegExp(pattern).test(key)),
    ),
  allOf: ({ allOf }, value) => (allOf as Schema[]).every((inner) => accepts(inner, value)),
  anyOf: ({ anyOf }, value) => (anyOf as Schema[]).some((inner) => accepts(inner, value)),
  not: ({ not }, value) => !accepts(not as Schema, value),
};
const annotations = new Set(['$schema', 'title', 'description', 'default']);

function accepts(schema: Schema, value: unknown): boolean {
  return Object.keys(schema).every((keyword) => {
    if (annotations.has(keyword)) return true;
    const check = keywords[keyword];
    assert.ok(check, `the schema uses ${keyword}`);
    return check(schema, value);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOfType(name: unknown, value: unknown): boolean {
  if (name === 'object') return isObject(value);
  if (name === 'array') return Array.isArray(value);
  if (name === 'integer') return Number.isInteger(value);
  return name === 'null' ? value === null : typeof value === name;
}

const schema = jsonSchema() as Schema;

test('the JSON Schema accepts the golden files', () => {
  const golden = join(import.meta.dirname, '../golden');
  for (const name of globSync('*.json', { cwd: golden })) {
    if (name.endsWith('.parsed.json')) continue;
    assert.ok(accepts(schema, JSON.parse(readFileSync(join(golden, name), 'utf8'))), name);
  }
});

test('the JSON Schema accepts several bots, and routes with conditions', () => {
  assert.ok(accepts(schema, JSON.parse(several)));
});

test('the JSON Schema wants channels and routes, unless brains are offered to clients', () => {
  const { completions, ...rest } = JSON.parse(offering) as Record<string, unknown>;
  const channels = [{ type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://h/' } }];
  const routes = [{ channel: 'webhook', brain: 'home' }];
  assert.ok(accepts(schema, { ...rest, completions }));
  assert.ok(accepts(schema, { ...rest, completions, channels: [], routes: null }));
  assert.ok(accepts(schema, { ...rest, channels, routes }));
  for (const part of [{}, { channels }, { routes }, { channels, routes: [] }]) {
    assert.ok(!accepts(schema, { ...rest, ...part }), JSON.stringify(part));
    assert.ok(!accepts(schema, { ...rest, completions: null, ...part }), JSON.stringify(part));
  }
});

/** A pattern cannot express all rules of an address, a URL or a name. */
const checkedBySvcAlone = new Set(
  'duplicate_key value_not_name bad_url bad_address bad_path bad_trigger clamped'.split(' '),
);

for (const { title, code, text } of fieldCases) {
  if (checkedBySvcAlone.has(code)) continue;
  test(`the JSON Schema refuses ${code}: ${title}`, () => {
    assert.equal(accepts(schema, JSON.parse(unmark(text).text)), false);
  });
}

test('the JSON Schema says nothing of what a brain keeps in _try', () => {
  const brain = {
    name: 'main',
    sensitivity: 'private',
    policy: { kind: 'priority' },
    models: [{ provider: 'ollama', model_id: 'm', locality: 'local' }],
  };
  const channels = [{ type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://h/' } }];
  const routes = [{ channel: 'webhook', brain: 'main' }];
  for (const _try of [[{ text: 'a', expect: { contains: 'b' } }], 7, 'odd', { a: [[null]] }]) {
    assert.ok(accepts(schema, { channels, brains: [{ ...brain, _try }], routes }));
  }
  assert.ok(!accepts(schema, { channels, brains: [{ ...brain, try: [] }], routes }));
});
