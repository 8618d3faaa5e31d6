import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import { sealedCharactersMax } from '../../domain/story.ts';
import { ConversationIdCipher } from './id-cipher.ts';

const channel = 'messenger_a:4711' as ChannelKey;
const keyOf = (conversation: string) => ({ channel, conversation: conversation as ConversationId });

test('an id leads back to its key, whatever that is, and is the same each time', () => {
  const secret = randomBytes(32).toString('hex');
  const [idCipher, again] = [new ConversationIdCipher(secret), new ConversationIdCipher(secret)];
  const odd = ['', '\0', '\u0080', '"', '\\', '\uD800', '🦜', 'é', '\uFFFD', 'x'.repeat(1_024)];
  for (const conversation of odd) {
    const id = idCipher.idOf(keyOf(conversation));
    assert.deepEqual(idCipher.keyOf(id), keyOf(conversation));
    assert.equal(again.idOf(keyOf(conversation)), id);
  }
});

test('the longest conversation id that there is has an id that a path may hold', () => {
  const idCipher = new ConversationIdCipher('s');
  const id = idCipher.idOf(keyOf('\u0001'.repeat(1_024)));
  assert.ok(id.length <= sealedCharactersMax, String(id.length));
});

test('ids of one length are of one length of many, and of different secrets differ', () => {
  const idCipher = new ConversationIdCipher('s');
  const lengths = ['1', '123456789', '-1001234567'].map((one) => idCipher.idOf(keyOf(one)).length);
  assert.equal(new Set(lengths).size, 1);
  assert.notEqual(idCipher.idOf(keyOf('1')), new ConversationIdCipher('t').idOf(keyOf('1')));
});

test('what was changed, cut or made by another secret is no id', () => {
  const idCipher = new ConversationIdCipher('s');
  const id = idCipher.idOf(keyOf('123456789'));
  assert.equal(new ConversationIdCipher('t').keyOf(id), null);
  for (let at = 0; at < id.length; at++) {
    const changed = id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1);
    assert.equal(idCipher.keyOf(changed), null, changed);
    assert.equal(idCipher.keyOf(id.slice(0, at)), null);
    assert.equal(idCipher.keyOf(`${id.slice(0, at)}=${id.slice(at)}`), null);
  }
});
