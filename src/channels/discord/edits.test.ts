/** Edited questions, and the messages that replace their answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageId } from '../../domain/ids.ts';
import type { Reply } from '../../domain/reply.ts';
import { long, startShowing } from '../../../test/fake/showing-discord.ts';

test('an answer in the place of one that began with a file has no file', async () => {
  await using it = await startShowing({ edits: true });
  await it.run();
  const said = it.fake.say(it.chat, 'show me');
  await it.asked(1);
  const code = { text: 'let a;', file: { name: 'code.js' }, inReplyTo: said.id as MessageId };
  await it.deliver({ ...code, address: it.ledger.messages[0]!.address });
  const message = () => it.fake.shown(it.fake.sent[0]!.message);
  const files = () => message()?.['attachments'] as unknown[];
  assert.equal(files().length, 1);
  const target = it.ledger.messages[0]!.address.target;
  it.fake.edit(it.chat, said, 'two and two?');
  await it.asked(2);
  const { preview, made } = it.preview(it.ledger.messages[1]!.address.target);
  preview.show(long);
  await preview.end();
  assert.deepEqual([made, files().length], [[], 1], 'until there is another one it stays');
  const id = '01kz8c4h9e2q7x5t0m3vbs' as Reply['id'];
  await it.deliver({ id, text: 'four', replaces: `${it.chat.id}/${message()!.id}` }, target);
  assert.deepEqual([it.texts(), files()], [['four'], []]);
});

test('an edit is asked once, and its answer edits the former one', async () => {
  await using it = await startShowing({ edits: true });
  await it.run();
  const said = it.fake.say(it.chat, 'two and two?');
  await it.asked(1);
  const [question] = it.ledger.messages;
  await it.answer(question!, 'four', '01kz8c4h9e2q7x5t0m3v00-00');
  await it.answer(question!, 'and more', '01kz8c4h9e2q7x5t0m3v00-01');
  const edited = it.fake.edit(it.chat, said, 'three and three?');
  await it.asked(2);
  const edit = it.ledger.messages[1]!;
  assert.deepEqual(
    [edit.text, edit.dedupeKey, edit.apart, question!.apart],
    ['three and three?', `edit:${said.id}`, 'edit', undefined],
  );
  await it.answer(edit, 'six', '01kz8c4h9e2q7x5t0m3v01');
  await it.fake.until(() => it.texts().length === 1 || undefined, 'what is left over is gone');
  assert.deepEqual([it.texts(), it.fake.sent.length], [['six'], 2]);
  it.fake.edit(it.chat, edited, 'four and four?');
  it.fake.say(it.chat, 'the next');
  await it.asked(3);
  assert.equal(it.ledger.messages[2]?.text, 'the next');
});

test('links that unfold, and edits where they are off are not asked', async () => {
  for (const edits of [true, false]) {
    await using it = await startShowing({ edits });
    await it.run();
    const said = it.fake.say(it.chat, 'see https://svc.example');
    await it.asked(1);
    const unfolded = { ...said, embeds: [{ type: 'link' }], channel_type: 1 };
    it.fake.gateway.dispatch('MESSAGE_UPDATE', 0, () => unfolded);
    if (!edits) it.fake.edit(it.chat, said, 'another text');
    it.fake.say(it.chat, 'the last');
    await it.asked(2);
    assert.equal(it.ledger.messages[1]?.text, 'the last');
  }
});

test('in a group who was not heard is not heard with an edit', async () => {
  await using it = await startShowing({ edits: true });
  const place = it.fake.textChannel(it.fake.guild('House'), 'general');
  await it.run();
  const overheard = it.fake.say(place, 'to others', { author: it.ada });
  const heard = it.fake.say(place, `<@${it.fake.bot.id}> one`, { author: it.ada });
  await it.asked(1);
  it.fake.edit(place, overheard, `<@${it.fake.bot.id}> to others`);
  it.fake.edit(place, heard, `<@${it.fake.bot.id}> two`);
  await it.asked(2);
  assert.deepEqual(it.ledger.texts, ['one', 'two']);
  assert.equal(it.ledger.messages[1]?.address.target, `${place.id}/${heard.id}/${heard.id}`);
});
