/** Which route of a draft a message takes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRoute } from '../../../src/domain/routing.ts';
import { routedIn } from './routed.ts';

const document = {
  channels: [{ type: 'telegram', name: 'support' }, { type: 'webhook' }],
  routes: [
    { channel: 'webhook', brain: 'hooked' },
    { channel: 'support', brain: 'coder', when: { commands: ['/code'] } },
    { channel: 'support', brain: 'team', when: { chats: [-100123], senders: [] } },
    { channel: 'support', brain: 'all' },
  ],
  session: {},
};
const nothing = { sender: null, chat: null, topic: null, text: null };

function takenWith(given: Partial<typeof nothing> | Record<string, string>): string | null {
  const explained = routedIn(document, 'support', { ...nothing, ...given });
  return explained?.taken == null
    ? null
    : `${describeRoute(explained.taken)} → ${explained.taken.brain}`;
}

test('the draft says which of its routes a message takes, behind a trigger too', () => {
  assert.equal(takenWith({ text: '/new /code sort', chat: '1' }), 'route 2: command /code → coder');
  assert.equal(takenWith({ text: 'hello', chat: '-100123:7' }), 'route 3: chat -100123 → team');
  assert.equal(takenWith({ text: 'hello', chat: '1' }), 'route 4: every other message → all');
  assert.equal(routedIn(document, 'telegram', nothing), null);
  const isBare = (text: string) => routedIn(document, 'support', { ...nothing, text })?.isBare;
  assert.deepEqual(['/new /code', '/code', '/code x', 'x'].map(isBare), [true, true, false, false]);
});
