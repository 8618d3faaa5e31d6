/** Edited questions: svc asks them again once, and the new answer replaces the first one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Inbound } from '../../domain/message.ts';
import type { MessageId } from '../../domain/ids.ts';
import { startShowing } from '../../../test/fake/showing-telegram.ts';

const asks = (it: Awaited<ReturnType<typeof startShowing>>, n: number): Promise<void> =>
  it.until(() => it.ledger.messages.length === n);

const answer = (
  it: Awaited<ReturnType<typeof startShowing>>,
  { dedupeKey, address }: Inbound,
  text: string,
  id = 'r1',
) => it.deliverTo({ id, text, address, inReplyTo: dedupeKey as MessageId } as never);

test('an edit is asked for only where edits are on', async () => {
  for (const edits of [false, true]) {
    await using it = await startShowing({ edits });
    it.run();
    const { params } = await it.telegram.waitForCall('getUpdates', 0);
    const types = params['allowed_updates'] as string[];
    assert.equal(types.includes('edited_message'), edits);
  }
});

test('an edit is a message of its own, once, and its answer edits the former one', async () => {
  await using it = await startShowing({ edits: true });
  it.run();
  const said = it.telegram.say(it.ann, 'two and two?');
  await asks(it, 1);
  await answer(it, it.ledger.messages[0]!, 'four', 'r1-00');
  await answer(it, it.ledger.messages[0]!, 'and more', 'r1-01');
  it.telegram.edit(it.ann, said.message_id, 'three and three?');
  await asks(it, 2);
  const edit = it.ledger.messages[1]!;
  assert.deepEqual(
    [edit.text, edit.dedupeKey, edit.conversation, edit.apart],
    ['three and three?', `edit:${it.ann.id}:${said.message_id}`, String(it.ann.id), 'edit'],
  );
  assert.deepEqual(await answer(it, edit, 'six', 'r2'), { kind: 'delivered' });
  await it.telegram.waitForCall('deleteMessage');
  await it.telegram.until(() => it.texts().length === 1 || undefined, 'what is left over is gone');
  assert.deepEqual([it.texts(), it.telegram.sent.length], [['six'], 2]);
  it.telegram.edit(it.ann, said.message_id, 'four and four?');
  it.telegram.say(it.ann, 'the next');
  await asks(it, 3);
  assert.equal(it.ledger.messages[2]?.text, 'the next');
});

test('until there is another one the answer stays, and an apology comes beside it', async () => {
  await using it = await startShowing({ edits: true });
  it.run();
  const said = it.telegram.say(it.ann, 'two and two?');
  await asks(it, 1);
  await answer(it, it.ledger.messages[0]!, 'four');
  it.telegram.edit(it.ann, said.message_id, 'three and three?');
  await asks(it, 2);
  const { address, dedupeKey } = it.ledger.messages[1]!;
  const shown = { address, question: 'q2' as MessageId, replaces: null };
  const preview = it.channel.preview!({ ...shown, made: () => assert.fail() });
  preview.show('What three and three come to is not hard to say: six');
  await preview.end();
  assert.deepEqual(it.texts(), ['four']);
  const sorry = { id: 'r2', inReplyTo: dedupeKey, address, text: 'Sorry.', isApology: true };
  assert.deepEqual(await it.deliverTo(sorry as never), { kind: 'delivered' });
  assert.deepEqual(it.texts(), ['four', 'Sorry.']);
  assert.equal(it.telegram.callsOf('deleteMessage').length, 0);
});

test('the same text, what is late and what nobody remembers are not asked', async () => {
  let ahead = 0;
  await using it = await startShowing({ edits: true }, () => Date.now() + ahead);
  const unknown = it.telegram.say(it.ann, 'said to a former process');
  it.telegram.push('message', unknown);
  it.run();
  const said = it.telegram.say(it.ann, 'one');
  await asks(it, 2);
  it.telegram.edit(it.ann, said.message_id, 'one');
  const later = it.telegram.say(it.ann, 'two');
  await asks(it, 3);
  ahead = 125_000;
  it.telegram.edit(it.ann, later.message_id, 'two, changed');
  const forgotten = it.telegram.post(it.ann, { text: 'x', date: Math.floor(Date.now() / 1_000) });
  await asks(it, 4);
  const never = { ...forgotten, message_id: 9_999, text: 'never said', edit_date: forgotten.date };
  it.telegram.push('edited_message', never);
  it.telegram.say(it.ann, 'the last');
  await asks(it, 5);
  assert.ok(it.ledger.messages.every(({ dedupeKey }) => !dedupeKey!.startsWith('edit:')));
});

test('who was turned away is turned away with an edit, too', async () => {
  await using it = await startShowing({ edits: true });
  it.ledger.strangers = [String(it.ann.id)];
  it.run();
  const said = it.telegram.say(it.ann, 'let me in');
  it.telegram.edit(it.ann, said.message_id, 'please let me in');
  await it.telegram.until(() => it.telegram.pending === 0 || undefined, 'both are confirmed');
  assert.deepEqual(it.ledger.messages, []);
});

test('where an answer stands already, a new one is not shown while it grows', async () => {
  await using it = await startShowing({ edits: true });
  it.run();
  const said = it.telegram.say(it.ann, 'two and two?');
  await asks(it, 1);
  await answer(it, it.ledger.messages[0]!, 'four');
  it.telegram.edit(it.ann, said.message_id, 'three and three?');
  await asks(it, 2);
  const { address } = it.ledger.messages[1]!;
  const shown = { address, question: 'q2' as MessageId, replaces: null };
  const preview = it.channel.preview!({ ...shown, made: () => {} });
  preview.show('What three and three come to is not hard to say: six');
  // Previews go in the order of asking, so one for that answer would come before this one.
  const bo = it.telegram.privateChat(it.telegram.person('Bo'));
  const next = it.preview([bo.id, null, null]);
  next.preview.show('What comes in another chat is shown while it grows');
  await it.telegram.waitForSent(2);
  await Promise.all([preview.end(), next.preview.end()]);
  assert.deepEqual(it.texts(), ['four', 'What comes in another chat is shown while it grows …']);
});
