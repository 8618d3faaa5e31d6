/** Which slash commands svc registers and removes, and what happens after a failure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limited, refusal, type Api, type Result } from './api.ts';
import { publishCommands } from './interactions.ts';

const words = { new: 'Begin anew', help: 'See what there is' };
const own = new Set(Object.values(words));
const commands = Object.entries(words).map(([word, description]) => {
  return { word, description, takesText: word === 'new' };
});
const { signal } = new AbortController();
const textOption = { type: 3, name: 'text', description: 'x' };

function start(registered: readonly object[], answer: Result = { kind: 'ok', body: {} }) {
  const calls: string[] = [];
  const api = {
    call: async (method: string, route: string, { body }: { body?: unknown }): Promise<Result> => {
      if (method === 'GET') {
        return { kind: 'ok', body: route.endsWith('/@me') ? { id: '1' } : registered };
      }
      if (method === 'POST') calls.push(`made ${(body as { name: string }).name}`);
      else calls.push(`deleted ${route.split('/').at(-1)}`);
      return answer;
    },
  } as unknown as Api;
  const isOwn = ({ description }: { description: string }): boolean => own.has(description);
  const menu = { commands, isOwn, keep: () => Promise.resolve(true) };
  return { calls, publish: () => publishCommands(api, menu, signal) };
}

test('what is there already is not registered again', async () => {
  const it = start([
    { id: '5', type: 1, name: 'new', description: words.new, options: [textOption] },
    { id: '6', type: 1, name: 'help', description: words.help },
  ]);
  assert.deepEqual(await it.publish(), { kind: 'there' });
  assert.deepEqual(it.calls, []);
});

test('what others registered stays, and what was svc’s is changed or goes', async () => {
  const it = start([
    { id: '5', type: 1, name: 'new', description: 'Neues Gespräch' },
    { id: '6', type: 1, name: 'help', description: words.help, options: [textOption] },
    { id: '7', type: 1, name: 'again', description: words.new },
    { id: '8', type: 1, name: 'weather', description: 'Outside', options: [{ name: 'place' }] },
    { id: '9', type: 2, name: 'new', description: '' },
    { id: '10', type: 4, name: 'launch', description: words.help },
  ]);
  assert.deepEqual(await it.publish(), { kind: 'there' });
  assert.deepEqual(it.calls, ['deleted 7', 'made help']);
});

test('of two commands of svc with one name the right one stays', async () => {
  const it = start([
    { id: '4', type: 1, name: 'help', description: words.help, options: [textOption] },
    { id: '5', type: 1, name: 'help', description: words.help },
    { id: '6', type: 1, name: 'new', description: words.new, options: [textOption] },
  ]);
  assert.deepEqual(await it.publish(), { kind: 'there' });
  assert.deepEqual(it.calls, ['deleted 4']);
});

test('svc takes only the room that the commands of others leave', async () => {
  const others = Array.from({ length: 99 }, (_, at) => {
    return { id: `${at}`, type: 1, name: `other${at}`, description: 'Of somebody else' };
  });
  const it = start(others);
  assert.deepEqual(await it.publish(), { kind: 'there' });
  assert.deepEqual(it.calls, ['made new']);
});

for (const [answer, kind, made] of [
  [{ kind: 'fault', fault: 'connect_failed', sent: false }, 'away', 1],
  [limited(20_000, true), 'away', 1],
  [refusal(502), 'away', 1],
  [refusal(400, { code: 50_035, names: [], message: 'Invalid Form Body' }), 'refused', 2],
] as const) {
  test(`${JSON.stringify(answer)}: ${kind}`, async () => {
    const it = start([], answer);
    const outcome = await it.publish();
    assert.equal(outcome.kind, kind);
    assert.equal(it.calls.length, made);
    if (outcome.kind === 'away')
      assert.equal(outcome.retryAfterMs, 'retryAfterMs' in answer ? answer.retryAfterMs : null);
    if (outcome.kind === 'refused')
      assert.match(outcome.message, /\(400, 50035\).*session.triggers/);
  });
}
