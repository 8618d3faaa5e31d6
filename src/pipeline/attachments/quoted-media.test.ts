/** Attachments that others sent go to the same places as their words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageContext, Message, Quoted } from '../../domain/message.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { quotedMediaOf } from './attachment-turn.ts';

const since = 1_800_000_000_000;
const photo = { type: 'image/jpeg', reference: 'photo', file: 'f' };

/** @param block how private the quoted text is; null: the quote is not shown */
async function isLookedAt(
  more: { context?: Partial<MessageContext>; quoted?: Partial<Quoted>; kept?: string | null } = {},
  brain: Sensitivity = 'public',
  block: Sensitivity | null = 'public',
): Promise<boolean> {
  const said: Quoted = { text: '', media: [photo], by: 'other', name: null, at: since + 60_001 };
  const context = { inGroup: true, quoted: { ...said, ...more.quoted }, ...more.context };
  const message = { channel: 'telegram:main', sensitivity: 'public', context };
  const cursor = async () => (more.kept === undefined ? String(since) : more.kept);
  const found = await quotedMediaOf(
    { cursor },
    { sensitivity: brain },
    message as unknown as Message,
    block === null ? undefined : { text: '> [photo]', sensitivity: block },
  );
  if (found.length > 0) assert.deepEqual(found, [photo]);
  return found.length > 0;
}

test('what was said in a public group is looked at, and not what was said before', async () => {
  assert.equal(await isLookedAt(), true);
  assert.equal(await isLookedAt({ quoted: { at: since + 60_000 } }), false);
  assert.equal(await isLookedAt({ quoted: { at: 0 } }), false, 'of another chat, or of a bot');
  assert.equal(await isLookedAt({ kept: null }), false);
  assert.equal(await isLookedAt({}, 'public', 'private'), false, 'its text is private');
  assert.equal(await isLookedAt({}, 'public', null), false);
});

test('of a private turn it is looked at, whoever sent it', async () => {
  assert.equal(await isLookedAt({ quoted: { at: 0 } }, 'private', 'private'), true);
});

test('that a public turn has its words does not make a picture public', async () => {
  assert.equal(await isLookedAt({ quoted: { text: 'ok', by: 'sender', at: since } }), false);
  assert.equal(await isLookedAt({ quoted: { text: 'ok', by: 'us' } }), false);
});

test('what anybody can read is looked at, and what is said to others is not', async () => {
  assert.equal(await isLookedAt({ quoted: { at: 0, elsewhere: 'open' } }), true);
  assert.equal(await isLookedAt({ context: { overheard: true } }), false);
  assert.equal(await isLookedAt({ quoted: { media: undefined! } }), false);
});
