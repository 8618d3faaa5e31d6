/**
 * The YAML of docs/recipes/home-assistant.md parses, svc takes the message that it describes, and
 * the reply has the fields that it reads. `npm run world` runs it with Home Assistant.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, type ScalarTag } from 'yaml';
import { blocksOf, textOf } from '../documents/blocks.ts';
import { post } from '../support/program.ts';
import { startAnswering } from './answering.ts';

const page = textOf('docs/recipes/home-assistant.md');
const blocks = blocksOf(page).filter(({ info }) => info[0] === 'yaml');

/** Home Assistant's own tags: each stands for its text here. */
const customTags = ['!secret', '!include_dir_named'].map((tag): ScalarTag => {
  return { tag, resolve: (text) => `${tag} ${text}` };
});

type Package = {
  readonly rest_command: {
    readonly svc_message: {
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly content_type: string;
      readonly payload: string;
    };
  };
  readonly automation: readonly { readonly mode: string; readonly triggers: readonly object[] }[];
};

const parsed = blocks.map(({ text }) => parse(text, { customTags }) as unknown);
const svcPackage = parsed.find(
  (one): one is Package => typeof one === 'object' && one !== null && 'rest_command' in one,
)!;

test('every YAML of the page parses, and names the secrets that the page prints', () => {
  assert.equal(parsed.length, 5);
  const used = [...page.matchAll(/!secret (\w+)/g)].map(([, name]) => name);
  const printed = [...page.matchAll(/^ {3}(svc_\w+): "/gm)].map(([, name]) => name);
  assert.deepEqual(new Set(used), new Set(printed));
  const [automation] = svcPackage.automation;
  assert.equal(automation!.mode, 'queued');
  assert.deepEqual(automation!.triggers, [
    {
      trigger: 'webhook',
      webhook_id: '!secret svc_webhook_id',
      allowed_methods: ['POST'],
      local_only: true,
    },
  ]);
});

test('svc takes the message once, and its reply has what the page reads', async () => {
  await using svc = await startAnswering();
  const {
    method,
    headers,
    content_type: contentType,
    payload,
  } = svcPackage.rest_command.svc_message;
  assert.deepEqual([method, contentType], ['post', 'application/json']);
  assert.deepEqual(Object.keys(headers), ['Authorization', 'Idempotency-Key']);
  assert.match(payload, /^\{\{ \{.*\} \| to_json \}\}$/s);
  // What the template renders, for a room whose name is a number.
  const given = new Map([
    ['conversation | string', '7'],
    ['text | string', '42'],
  ]);
  const body = Object.fromEntries(
    [...payload.matchAll(/"(\w+)": ([^,}]+?)\s*[,}]/g)].map(([, name, value]) => {
      return [name!, given.get(value!) ?? (JSON.parse(value!) as string)];
    }),
  );
  const key = { 'Idempotency-Key': '2026-11-30T16:20:18.671978+00:00' };
  const first = await post(svc.url, body, key);
  assert.equal(first.status, 200);
  const second = await post(svc.url, body, key);
  assert.deepEqual([second.status, second.body['duplicate']], [200, true]);
  const [reply] = await svc.receiver.waitFor(1);
  for (const [, name] of page.matchAll(/trigger\.json\.(\w+)/g)) {
    assert.equal(typeof reply!.body[name!], 'string', name!);
  }
  assert.equal(reply!.body['conversation_id'], '7');
  for (const [, name] of page.matchAll(/accepted\.content\.(\w+)/g)) {
    assert.equal(first.body[name!], reply!.body['in_reply_to'], name!);
  }
});
