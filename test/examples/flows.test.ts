/**
 * The flows of examples/node-red and examples/n8n before and behind svc: their own code makes the
 * request, and reads the reply. `npm run world` runs the first with Node-RED.
 */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compileFunction } from 'node:vm';
import { signatureOf, signingKeyBytes } from '../../src/lib/webhook-signature.ts';
import { post, secret } from '../support/program.ts';
import { root } from '../support/run-svc.ts';
import { startAnswering } from './answering.ts';

const read = (file: string): unknown =>
  JSON.parse(readFileSync(join(root, 'examples', file), 'utf8'));

type Message = {
  readonly headers?: Record<string, string>;
  readonly payload: unknown;
  readonly [name: string]: unknown;
};
type RedNode = {
  readonly id: string;
  readonly name: string;
  readonly func?: string;
  readonly wires?: readonly (readonly string[])[];
};

const red = read('node-red/flow.json') as readonly RedNode[];
const key = `whsec_${Buffer.from('a-key-of-the-tests-0123456789').toString('base64')}`;

/** Runs the code of a function node as Node-RED does. Its context is that of one start. */
function functionNode(name: string): (msg: object) => readonly (Message | null)[] {
  const node = red.find((one) => one.name === name)!;
  const names = ['msg', 'env', 'context', 'crypto', 'Buffer'];
  const code = compileFunction(node.func!, names) as (...given: readonly unknown[]) => unknown;
  const secrets: Record<string, string> = { WEBHOOK_SECRET: secret, REPLY_SIGNING_KEY: key };
  const kept = new Map<string, unknown>();
  const context = {
    get: (one: string) => kept.get(one),
    set: (one: string, value: unknown) => kept.set(one, value),
  };
  return (msg) => {
    const result = code(msg, { get: (one: string) => secrets[one] }, context, crypto, Buffer);
    // An array of the other realm.
    return Array.isArray(result) ? [...(result as Message[])] : [result as Message];
  };
}

test('every wire of the flow for Node-RED ends at a node', () => {
  const ids = new Set(red.map(({ id }) => id));
  assert.equal(ids.size, red.length);
  for (const { name, wires = [] } of red) {
    for (const id of wires.flat()) assert.ok(ids.has(id), `${name} to ${id}`);
  }
});

test('the flow for Node-RED asks svc, and takes the signed reply once', async () => {
  const env = { REPLY_SIGNING_KEY: key };
  await using svc = await startAnswering({ outbound_signing_env: 'REPLY_SIGNING_KEY' }, env);
  const made = functionNode('Message for svc')({ payload: 42, topic: 'kitchen', _msgid: 'one' });
  const { headers, payload } = made[0]!;
  const answer = await post(svc.url, payload, headers);
  assert.equal(answer.status, 200);
  const [reply] = await svc.receiver.waitFor(1);

  const verify = functionNode('Signed by svc, and new?');
  const arrives = (text: string, more: object = {}): readonly (Message | null)[] =>
    verify({ req: { headers: { ...reply!.headers, ...more } }, payload: Buffer.from(text) });
  const changed = arrives(reply!.text.replace('Hello', 'Hullo'));
  assert.deepEqual([changed[0], changed[1]!['statusCode']], [null, 401]);
  const unsigned = arrives(reply!.text, { 'webhook-signature': undefined });
  assert.deepEqual([unsigned[0], unsigned[1]!['statusCode']], [null, 401]);
  const timestamp = String(Math.floor(Date.now() / 1_000) - 301);
  const old = { id: 'old', timestamp, body: reply!.text };
  const late = arrives(reply!.text, {
    'webhook-id': 'old',
    'webhook-timestamp': timestamp,
    'webhook-signature': signatureOf(old, signingKeyBytes(key)),
  });
  assert.deepEqual([late[0], late[1]!['statusCode']], [null, 401]);
  const [first, confirmed] = arrives(reply!.text);
  assert.deepEqual([first!.payload, first!['topic']], ['Hello from the model.', 'kitchen']);
  assert.equal(confirmed!['statusCode'], 200);
  const again = arrives(reply!.text);
  assert.deepEqual([again[0], again[1]!['statusCode']], [null, 200]);
});

test('the flow for Node-RED asks again with the same key, but not where svc refuses', () => {
  const [asked] = functionNode('Message for svc')({ payload: 'hello', topic: '', _msgid: 'one' });
  const taken = functionNode('Taken?');
  const outcome = (statusCode: unknown, tries = 1): readonly (Message | null)[] => {
    const state = asked!['asked'] as object;
    return taken({ asked: { ...state, tries }, statusCode, headers: {}, payload: 'an answer' });
  };
  const which = (outputs: readonly (Message | null)[]): number =>
    outputs.findIndex((one) => one !== null);
  assert.equal(which(outcome(200)), 0);
  for (const status of [503, 'ECONNREFUSED']) {
    const outputs = outcome(status);
    assert.equal(which(outputs), 1);
    assert.deepEqual({ ...outputs[1]!.headers }, { ...asked!.headers });
    assert.deepEqual({ ...(outputs[1]!.payload as object) }, { ...(asked!.payload as object) });
  }
  assert.equal(which(outcome(503, 20)), 2);
  for (const status of [400, 401, 409]) assert.equal(which(outcome(status)), 2);
});

type Assignments = { readonly assignments: readonly { name: string; value: string }[] };
type N8nNode = {
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>> & {
    readonly assignments?: Assignments;
    readonly headerParameters?: { readonly parameters: readonly { name: string; value: string }[] };
  };
};
const n8n = read('n8n/workflow.json') as {
  readonly nodes: readonly N8nNode[];
  readonly connections: Readonly<
    Record<string, { readonly main: readonly (readonly { readonly node: string }[])[] }>
  >;
};
const n8nNode = (name: string): N8nNode => n8n.nodes.find((one) => one.name === name)!;

/** The text of a field: `={{ code }}` is an expression, as n8n reads it. */
function evaluated(field: unknown, $json: object): string {
  const parts = String(field);
  if (!parts.startsWith('=')) return parts;
  return parts.slice(1).replaceAll(/\{\{ (.*?) \}\}(?!\})/g, (_, code: string) => {
    const names = ['$json', '$execution', '$itemIndex'];
    const run = compileFunction(`return (${code});`, names) as (...given: unknown[]) => unknown;
    return String(run($json, { id: '231' }, 0));
  });
}

const assigned = ({ parameters }: N8nNode, $json: object): Record<string, string> =>
  Object.fromEntries(
    parameters.assignments!.assignments.map(({ name, value }) => [name, evaluated(value, $json)]),
  );

test('every connection of the workflow for n8n ends at a node', () => {
  const names = new Set(n8n.nodes.map(({ name }) => name));
  for (const [from, { main }] of Object.entries(n8n.connections)) {
    for (const to of [from, ...main.flat().map(({ node }) => node)]) assert.ok(names.has(to), to);
  }
});

test('the workflow for n8n asks svc, and reads the reply with its bearer', async () => {
  const env = { REPLY_SECRET: 'a-secret-of-the-replies' };
  await using svc = await startAnswering({ outbound_token_env: 'REPLY_SECRET' }, env);
  const question = assigned(n8nNode('Question'), {});
  const { parameters } = n8nNode('POST to svc');
  assert.deepEqual(
    [parameters['authentication'], parameters['genericAuthType'], parameters['method']],
    ['genericCredentialType', 'httpBearerAuth', 'POST'],
  );
  const body = evaluated(parameters['jsonBody'], { ...question, text: 'Say "so".\n42' });
  const headers = Object.fromEntries(
    parameters.headerParameters!.parameters.map(({ name, value }) => [name, evaluated(value, {})]),
  );
  assert.deepEqual(headers, { 'Idempotency-Key': '231-0' });
  const taken = await post(svc.url, body, headers);
  assert.equal(taken.status, 200);
  const [reply] = await svc.receiver.waitFor(1);
  assert.equal(reply!.headers.authorization, 'Bearer a-secret-of-the-replies');
  const arrived = { headers: reply!.headers, body: reply!.body };
  const { dedupeValue } = n8nNode('Each reply once').parameters;
  assert.equal(evaluated(dedupeValue, arrived), reply!.body['message_id']);
  assert.deepEqual(assigned(n8nNode('The reply'), arrived), {
    conversation: 'orders',
    text: 'Hello from the model.',
    in_reply_to: taken.body['message_id'],
  });
});
