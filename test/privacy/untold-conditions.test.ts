/** Who has no token is told that routes have conditions, and nothing of what they name. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { EventSource } from 'eventsource';
import { liveEventSchema } from '../../src/admin/schemas/live-event.ts';
import { startConfigured } from '../config/program.ts';
import { post } from '../support/program.ts';

const said = {
  sender_id: 'canary-of-the-sender',
  sender_name: 'canary-of-the-name',
  conversation_id: 'canary-of-the-conversation',
};
const ofPeople = { senders: [said.sender_id], chats: [said.conversation_id, 'canary-of-a-chat'] };
const ofCommand = { commands: ['/canary'] };

/** Every path that may be read, with these values of its parameters. */
async function readableAt(origin: string, ids: readonly string[]): Promise<readonly string[]> {
  const description = await (await fetch(`${origin}/api/v1/openapi.json`)).json();
  const { paths } = description as { readonly paths: Record<string, { readonly get?: object }> };
  return Object.entries(paths)
    .filter(([path, { get }]) => get !== undefined && path !== '/api/v1/events')
    .flatMap(([path]) => ids.map((id) => path.replace('{id}', id)));
}

test('without the token nobody is told a condition of a route, and the log has none', async () => {
  await using service = await startConfigured({ storage: { path: 'svc.db' } });
  const { adminPort, first, port, program, receiver } = service;
  const origin = `http://127.0.0.1:${adminPort}`;
  const source = new EventSource(`${origin}/api/v1/events`);
  const heard: string[] = [];
  for (const { properties } of liveEventSchema.oneOf) {
    const [kind] = properties.kind.enum;
    source.addEventListener(kind, ({ data }) => heard.push(String(data)));
  }
  await once(source as unknown as EventTarget, 'open');
  const [usual] = first.brains;
  const brains = ['people', 'command', String(usual!['name'])].map((name) => ({ ...usual, name }));
  const routes = [
    { channel: 'webhook', brain: 'people', when: ofPeople },
    { channel: 'webhook', brain: 'command', when: ofCommand, description: 'canary-words' },
  ];
  const rest = { channel: 'webhook', brain: String(usual!['name']) };
  for (const own of [routes, routes.toReversed(), [...routes, ...routes]]) {
    const told = await service.put({ ...first, brains, routes: [...own, rest] });
    const applied = JSON.stringify(told.body);
    assert.equal(told.status, 200, applied);
  }
  const texts = ['hello', '/canary hello'];
  for (const text of texts) {
    const answer = await post(`http://127.0.0.1:${port}/webhook`, { ...said, text });
    assert.equal(answer.status, 200);
  }
  await receiver.waitFor(texts.length);
  const { rows } = (await service.ask('messages')).body as { rows?: unknown };
  const ids = (rows as readonly { readonly id: string }[]).map(({ id }) => id);
  assert.equal(ids.length, texts.length);
  const told: string[] = [];
  for (const path of await readableAt(origin, ids)) {
    const text = await (await fetch(origin + path)).text();
    told.push(text);
    assert.doesNotMatch(text, /canary/, path);
  }
  source.close();
  assert.match(heard.join('\n'), /"kind":"turn_finished"/);
  assert.match(told.join('\n'), /"kind":"route".*"key":"sender","value":null/);
  assert.doesNotMatch(heard.join('\n'), /canary/);
  assert.doesNotMatch(program.log(), /canary/);
});
