/** The schema that a model gets for a schema that a server wrote. */
// oxlint-disable unicorn/no-thenable -- JSON Schema has a keyword of this name
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesSince } from '../../../config/mcp-pins.ts';
import { definitionOf, parametersForModel } from './definition.ts';

const parameters = (inputSchema: object) =>
  parametersForModel(definitionOf({ name: 'a', inputSchema })!);

const text = { type: 'string' };

/**
 * The check of OpenAI and Anthropic (langchainjs#9804, python-sdk#494 of MCP): an object, with none
 * of these keywords at the top.
 */
function assertAccepted(schema: Readonly<Record<string, unknown>>): void {
  assert.equal(schema['type'], 'object');
  for (const key of ['oneOf', 'anyOf', 'allOf', 'enum', 'not', 'const', '$ref', 'if', 'then']) {
    assert.equal(key in schema, false, key);
  }
  assert.equal(typeof schema['properties'], 'object');
}

test('a schema of one object stays as it is', () => {
  const schema = {
    type: 'object',
    properties: { a: text, b: { anyOf: [text, { type: 'number' }] } },
    required: ['a'],
    additionalProperties: false,
  };
  assert.deepEqual(parameters({ $schema: 'x', ...schema }), schema);
});

test('branches at the top become one object, and what they want is told in words', () => {
  const flat = parameters({
    type: 'object',
    description: 'Which page.',
    properties: { depth: { type: 'integer' } },
    required: ['depth'],
    anyOf: [
      { properties: { url: text }, required: ['url'] },
      { properties: { id: { type: 'integer' } }, required: ['id'] },
    ],
    additionalProperties: false,
  });
  assertAccepted(flat);
  assert.deepEqual(flat, {
    description: 'Which page. Give either url, or id.',
    type: 'object',
    properties: { depth: { type: 'integer' }, url: text, id: { type: 'integer' } },
    required: ['depth'],
  });
});

test('a union by a fixed value keeps the values, and what goes with each', () => {
  const flat = parameters({
    oneOf: [
      { properties: { kind: { const: 'file' }, path: text }, required: ['kind', 'path'] },
      { properties: { kind: { const: 'page' }, url: text }, required: ['kind', 'url'] },
      { properties: { kind: { enum: ['none'] } }, required: ['kind'] },
    ],
  });
  assertAccepted(flat);
  assert.deepEqual(flat, {
    description: 'Give either kind "file" with path, or kind "page" with url.',
    type: 'object',
    properties: { kind: { enum: ['file', 'page', 'none'] }, path: text, url: text },
    required: ['kind'],
  });
});

test('all parts of allOf hold, also those behind a reference and a condition', () => {
  const flat = parameters({
    $ref: '#/$defs/base',
    $defs: { base: { type: 'object', properties: { a: text }, required: ['a'] } },
    allOf: [
      { properties: { a: { minLength: 1 }, b: text }, required: ['b'] },
      { if: { properties: { a: { const: 'x' } } }, then: { properties: { c: text } } },
    ],
    if: { required: ['a'] },
    then: { properties: { d: text }, required: ['d'] },
    not: { required: ['z'] },
  });
  assertAccepted(flat);
  assert.deepEqual(flat.properties, { a: { ...text, minLength: 1 }, b: text, c: text, d: text });
  assert.deepEqual(flat.required, ['a', 'b']);
});

test('an argument that differs between branches may be either', () => {
  const flat = parameters({
    anyOf: [{ properties: { a: text } }, { properties: { a: { type: 'number' } } }, text],
  });
  assertAccepted(flat);
  assert.deepEqual(flat.properties, { a: { anyOf: [text, { type: 'number' }] } });
});

test('references in a circle, and references that double, come to an end', () => {
  const twice = (to: string): object => ({ allOf: [{ $ref: to }, { $ref: to }] });
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [`d${n}`, twice(`#/$defs/d${n + 1}`)]),
  );
  for (const schema of [{ $ref: '#' }, { $ref: '#/$defs/a', $defs: { a: twice('#/$defs/a') } }]) {
    assertAccepted(parameters(schema));
  }
  assertAccepted(parameters({ $ref: '#/$defs/d0', $defs }));
});

test('an argument without a schema is an argument of any kind', () => {
  const flat = parameters({ type: 'object', properties: { a: true, b: null, c: text } });
  assert.deepEqual(flat.properties, { a: {}, b: {}, c: text });
});

const withValues = (values: readonly string[], description = 'Turns a device on.') =>
  definitionOf({
    name: 'HassTurnOn',
    description,
    inputSchema: {
      type: 'object',
      properties: { device_class: { type: 'array', items: { ...text, enum: values } } },
    },
  })!;

test('a pin holds where a server lists the values of an enum in another order', () => {
  const [pin, again] = [withValues(['door', 'gate', 'tv']), withValues(['tv', 'door', 'gate'])];
  assert.equal(changesSince(pin, again), null);
  assert.deepEqual(changesSince(pin, withValues(['door', 'gate'])), ['inputSchema']);
  assert.deepEqual(changesSince(pin, withValues(['tv', 'door', 'gate'], 'Other.')), [
    'description',
  ]);
});

test('a pin of a release that knew only the written order holds in that order', () => {
  const { inOrder } = withValues(['tv', 'door']);
  assert.notEqual(inOrder.hash, withValues(['tv', 'door']).hash);
  assert.equal(changesSince(inOrder, withValues(['tv', 'door'])), null);
  assert.deepEqual(changesSince(inOrder, withValues(['tv', 'door'], 'Other.')), ['description']);
  assert.deepEqual(changesSince(inOrder, withValues(['door', 'tv'])), ['inputSchema']);
});

test('the order of a value that is data counts', () => {
  const schemaOf = (list: readonly string[]) =>
    definitionOf({ name: 'a', inputSchema: { type: 'object', default: { enum: list } } })!;
  assert.deepEqual(changesSince(schemaOf(['a', 'b']), schemaOf(['b', 'a'])), ['inputSchema']);
});

test('an argument may have the name of a keyword', () => {
  const schemaOf = (name: string, list: readonly string[]) =>
    definitionOf({
      name: 'a',
      inputSchema: { type: 'object', properties: { [name]: { ...text, enum: list } } },
    })!;
  for (const name of ['default', 'const', 'examples', 'enum', 'properties']) {
    const pin = schemaOf(name, ['a', 'b']);
    assert.equal(changesSince(pin, schemaOf(name, ['b', 'a'])), null, name);
    assert.deepEqual(changesSince(pin, schemaOf(name, ['b'])), ['inputSchema'], name);
  }
});

test('a schema that is too deep to read is no tool', () => {
  let inputSchema: object = {};
  for (let depth = 0; depth < 20_000; depth++) inputSchema = { a: inputSchema };
  assert.equal(definitionOf({ name: 'a', inputSchema }), null);
});
