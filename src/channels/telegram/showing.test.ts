/** Messages that Telegram shows before a reply, after it and instead of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startShowing } from '../../../test/fake/showing-telegram.ts';
import { refuse, type TelegramCall } from '../../../test/fake/telegram/wire.ts';

const long = 'An answer of some **length** that goes on for a while, and';

test('a reply grows by edits, and the last edit is the reply, with its formatting', async () => {
  await using it = await startShowing();
  const { preview, made } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  const [sent] = await it.telegram.waitForSent(1);
  assert.equal(sent?.text, 'An answer of some length that goes on for a while, and …');
  assert.deepEqual(sent?.message.entities, [{ type: 'bold', offset: 18, length: 6 }]);
  preview.show(`${long} ends.`);
  await it.telegram.waitForCall('editMessageText');
  await preview.end();
  assert.deepEqual(it.texts(), ['An answer of some length that goes on for a while, and ends. …']);
  const choices = [{ label: 'Again', says: '/retry' }];
  const reply = { text: `${long} ends so.`, replaces: made[0]!, choices };
  assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
  assert.deepEqual(it.texts(), ['An answer of some length that goes on for a while, and ends so.']);
  assert.ok('reply_markup' in it.telegram.shown(sent.message)!);
  const last = it.telegram.callsOf('editMessageText').at(-1);
  assert.deepEqual(last?.params['link_preview_options'], { is_disabled: true });
});

test('in a group it answers the question in its topic, and after a crash it goes on', async () => {
  await using it = await startShowing();
  const group = it.telegram.forum('Team');
  const topic = it.telegram.openTopic(group, 'Plans');
  const question = it.telegram.say(group, 'svc?', { topic });
  const target = [group.id, topic, question.message_id];
  const { preview, made } = it.preview(target);
  preview.show(long);
  const [sent] = await it.telegram.waitForSent(1);
  assert.equal(sent?.message.reply_to_message?.message_id, question.message_id);
  assert.equal(sent?.message.message_thread_id, topic);
  await preview.end();
  const again = it.preview(target, made[0]);
  again.preview.show(`${long} after the crash`);
  await it.telegram.waitForCall('editMessageText');
  await again.preview.end();
  assert.deepEqual([it.telegram.sent.length, again.made], [1, []]);
});

test('what is longer than a message waits for the reply', async () => {
  await using it = await startShowing();
  const { preview } = it.preview([it.ann.id, null, null]);
  preview.show('many words '.repeat(1_000));
  const [sent] = await it.telegram.waitForSent(1);
  assert.ok(sent!.text.length <= 4_096 && sent!.text.length > 3_000);
  await preview.end();
});

test('a limit silences it, and the reply comes all the same', async () => {
  await using it = await startShowing();
  it.telegram.fail('sendMessage', { kind: 'rate-limit', retryAfterSeconds: 1 });
  const { preview, made } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  await it.telegram.waitForCall('sendMessage');
  await preview.end();
  assert.deepEqual([it.telegram.sent.length, made], [0, []]);
  assert.deepEqual(await it.deliver({ text: 'four' }), { kind: 'delivered' });
});

test('a message that may have been made and is not known is not made twice', async () => {
  await using it = await startShowing();
  it.telegram.fail('sendMessage', { kind: 'reset', done: true });
  const { preview } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  await it.telegram.waitForSent(1);
  await preview.end();
  preview.show(`${long} more`);
  assert.equal(it.telegram.callsOf('sendMessage').length, 1);
});

test('it takes nothing of the allowance that a reply needs', async () => {
  await using it = await startShowing();
  for (const text of ['one', 'two', 'three']) await it.deliver({ text });
  const { preview } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  await preview.end();
  assert.equal(it.telegram.callsOf('sendMessage').length, 3);
});

test('without streaming there is no preview', async () => {
  await using it = await startShowing({ streaming: false });
  assert.equal(Reflect.get(it.channel, 'preview'), undefined);
});

test('an edit that changes nothing is a success, and an unknown end is tried again', async () => {
  await using it = await startShowing();
  await it.deliver({ text: 'four' });
  const { message_id: number } = it.telegram.sent[0]!.message;
  const reply = { text: 'five', replaces: JSON.stringify([it.ann.id, number]) };
  it.telegram.fail('editMessageText', { kind: 'reset', done: true });
  const lost = await it.deliver(reply);
  assert.ok(lost.kind === 'retry' && !lost.mayHaveArrived);
  assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
  assert.deepEqual(it.texts(), ['five']);
});

test('where the message is gone, or is none of its own in that chat, one is sent', async () => {
  await using it = await startShowing();
  const person = it.telegram.say(it.ann, 'mine');
  const other = it.telegram.privateChat(it.telegram.person('Bo'));
  for (const replaces of [
    JSON.stringify([it.ann.id, 99_999]),
    JSON.stringify([it.ann.id, person.message_id]),
    JSON.stringify([other.id, 1]),
    'nonsense',
  ]) {
    const before = it.telegram.sent.length;
    assert.deepEqual(await it.deliver({ text: 'four', replaces }), { kind: 'delivered' });
    assert.equal(it.telegram.sent.length, before + 1);
  }
});

for (const answer of [
  refuse(400, 'Bad Request: MESSAGE_EDIT_TIME_EXPIRED'),
  refuse(400, "Bad Request: message can't be edited"),
  refuse(403, 'Forbidden: MESSAGE_AUTHOR_REQUIRED'),
  refuse(404, 'Not Found: method not found'),
]) {
  test(`where an edit is refused (${answer.description}) one is sent in its place`, async () => {
    await using it = await startShowing();
    await it.deliver({ text: 'the beginning …' });
    const { message } = it.telegram.sent[0]!;
    const replaces = JSON.stringify([it.ann.id, message.message_id]);
    it.telegram.fail('editMessageText', { kind: 'refuse', answer });
    assert.deepEqual(await it.deliver({ text: 'four', replaces }), { kind: 'delivered' });
    await it.telegram.until(() => it.telegram.shown(message) === undefined || undefined, 'gone');
    assert.deepEqual(it.texts(), ['four']);
  });
}

test('what is refused as an edit for its content is dead when sent anew', async () => {
  await using it = await startShowing();
  await it.deliver({ text: 'the beginning …' });
  const replaces = JSON.stringify([it.ann.id, it.telegram.sent[0]!.message.message_id]);
  for (const method of ['editMessageText', 'sendMessage'] as const) {
    const answer = refuse(400, 'Bad Request: text must be nice');
    it.telegram.fail(method, { kind: 'refuse', answer });
  }
  const outcome = await it.deliver({ text: 'four', replaces });
  assert.ok(outcome.kind === 'dead');
  assert.match(outcome.failure.said ?? '', /must be nice/);
});

test('an edit that a relay answers is made again by the schedule, and is no repeat', async () => {
  await using it = await startShowing();
  await it.deliver({ text: 'the beginning …' });
  const replaces = JSON.stringify([it.ann.id, it.telegram.sent[0]!.message.message_id]);
  it.telegram.fail('editMessageText', { kind: 'html', status: 502 });
  const outcome = await it.deliver({ text: 'four', replaces });
  assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived);
  assert.equal(outcome.failure.retryAfterMs ?? null, null);
});

test('a reply stands, also where an edit before it is carried out after it', async () => {
  // Ten times as fast, except for the time that a reply may take.
  await using it = await startShowing({}, Date.now, 10);
  const { preview, made } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  await it.telegram.waitForSent(1);
  const [begun, carriedOut] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  it.telegram.onCall = async ({ method }) => {
    if (method !== 'editMessageText') return;
    it.telegram.onCall = null;
    begun.resolve();
    await carriedOut.promise;
  };
  preview.show(`${long} goes on`);
  await begun.promise;
  await preview.end();
  assert.equal(made.length, 2);
  const reply = { text: `${long} ends.`, replaces: made[1]! };
  it.telegram.fail('deleteMessage', { kind: 'reset', done: true });
  const lost = await it.deliver(reply);
  assert.ok(lost.kind === 'retry' && !lost.mayHaveArrived);
  assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
  carriedOut.resolve();
  const edited = ({ method, over }: TelegramCall) => over && method === 'editMessageText';
  await it.telegram.until(() => it.telegram.calls.find(edited), 'the late edit');
  assert.deepEqual(it.texts(), ['An answer of some length that goes on for a while, and ends.']);
  assert.equal(it.telegram.sent.length, 2);
});

test('what cannot be taken away before its reply is edited', async () => {
  await using it = await startShowing();
  await it.deliver({ text: 'the beginning …' });
  const { message } = it.telegram.sent[0]!;
  const replaces = JSON.stringify([it.ann.id, message.message_id, 'unsure']);
  const answer = refuse(400, "Bad Request: message can't be deleted");
  it.telegram.fail('deleteMessage', { kind: 'refuse', answer });
  assert.deepEqual(await it.deliver({ text: 'four', replaces }), { kind: 'delivered' });
  assert.deepEqual([it.texts(), it.telegram.sent.length], [['four'], 1]);
});

test('what a reply made needless is taken away, although the first try fails', async () => {
  await using it = await startShowing({}, Date.now, 10);
  await it.deliver({ text: 'the beginning …' });
  const { message } = it.telegram.sent[0]!;
  const replaces = JSON.stringify([it.ann.id, message.message_id]);
  it.telegram.fail('deleteMessage', { kind: 'html', status: 502 });
  await it.deliver({ text: 'let a;', file: { name: 'code.js' }, replaces });
  await it.telegram.until(() => it.telegram.shown(message) === undefined || undefined, 'gone');
});

test('what a reply made needless is taken away, although the channel ends meanwhile', async () => {
  await using it = await startShowing({}, Date.now, 10);
  await it.deliver({ text: 'the beginning …' });
  const { message } = it.telegram.sent[0]!;
  const replaces = JSON.stringify([it.ann.id, message.message_id]);
  it.telegram.fail('deleteMessage', { kind: 'html', status: 502 });
  await it.deliver({ text: 'let a;', file: { name: 'code.js' }, replaces });
  await it.telegram.waitForCall('deleteMessage');
  await it.channel[Symbol.asyncDispose]();
  await it.telegram.until(() => it.telegram.shown(message) === undefined || undefined, 'gone');
});

test('"typing" goes on after a bad gateway', async () => {
  await using it = await startShowing({}, Date.now, 20);
  const calls = () => it.telegram.callsOf('sendChatAction').length;
  const ending = new AbortController();
  it.telegram.fail('sendChatAction', { kind: 'html', status: 502 });
  it.channel.showWorking?.(it.addressOf([it.ann.id, null, null]), ending.signal);
  await it.until(() => calls() >= 2);
  ending.abort();
});

test('long code goes as a file, with its name, its reply and its buttons', async () => {
  await using it = await startShowing();
  const text = 'let ü = "😀";\n'.repeat(300);
  const group = it.telegram.supergroup('Team');
  const question = it.telegram.say(group, 'code?');
  const choices = [{ label: 'Again', says: '/retry' }];
  const reply = { text, file: { name: 'code.js' }, choices };
  const target = [group.id, null, question.message_id];
  assert.deepEqual(await it.deliver(reply, target), { kind: 'delivered' });
  const [sent] = it.telegram.sent;
  assert.deepEqual([sent?.file?.name, sent?.file?.text], ['code.js', text]);
  assert.equal(sent?.message.reply_to_message?.message_id, question.message_id);
  assert.ok('reply_markup' in sent.message);
});

test('a file whose end was not seen is as uncertain as a text', async () => {
  await using it = await startShowing();
  it.telegram.fail('sendDocument', { kind: 'reset', done: true });
  const lost = await it.deliver({ text: 'let a;', file: { name: 'code.js' } });
  assert.ok(lost.kind === 'retry' && lost.mayHaveArrived);
});

for (const answer of [
  refuse(413, 'Request Entity Too Large'),
  refuse(400, 'Bad Request: not enough rights to send documents to the chat'),
]) {
  test(`a file that is refused (${answer.error_code}) goes as text or its beginning`, async () => {
    await using it = await startShowing();
    it.telegram.fail('sendDocument', { kind: 'refuse', answer });
    const file = { name: 'code.js' };
    assert.deepEqual(await it.deliver({ text: 'let a;\n', file }), { kind: 'delivered' });
    it.telegram.fail('sendDocument', { kind: 'refuse', answer });
    await it.deliver({ text: 'let a;\n'.repeat(1_000), file });
    const [whole, begun] = it.telegram.sent;
    assert.equal(whole?.text, 'let a;');
    assert.equal(whole?.message.entities?.[0]?.type, 'pre');
    assert.match(begun!.text, /could not be sent as a file; this is how it begins\.$/);
  });
}

test('a preview whose reply is a file is taken away', async () => {
  await using it = await startShowing();
  await it.deliver({ text: 'the beginning …' });
  const { message } = it.telegram.sent[0]!;
  const replaces = JSON.stringify([it.ann.id, message.message_id]);
  await it.deliver({ text: 'let a;', file: { name: 'code.js' }, replaces });
  await it.telegram.until(() => it.telegram.shown(message) === undefined || undefined, 'gone');
});
