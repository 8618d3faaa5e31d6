/** Albums and bursts of messages on a fake Telegram: one turn and one answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import type { FakeModel, Script } from '../fake/model-server.ts';
import { Album, postAlbum } from '../fake/telegram/albums.ts';
import { durable, openTelegram } from './program.ts';

const answers: Script = (call) => ({ answer: `re: ${lastOf(call).content}` });

const stage = (setup?: Parameters<typeof openTelegram>[1]) => openTelegram(answers, setup);

/** All parts come within it, however slow the machine; a command after them ends it. */
const longMs = 10_000;

/** The last message of each request. */
function asked(model: FakeModel): readonly string[] {
  return model.calls.map((call) => lastOf(call).content);
}

for (const [form, more] of [
  ['memory', {}],
  ['storage', durable],
] as const) {
  test(`${form}: an album is one question, with one answer`, async () => {
    await using it = await stage({ more });
    await using program = it.start();
    await program.saw('is up');
    postAlbum(it.telegram, it.ann, 4, 'what is this?');
    await it.telegram.waitForSent(1);
    it.telegram.say(it.ann, 'and now?');
    const sent = await it.telegram.waitForSent(2);
    assert.equal(asked(it.model).length, 2);
    assert.match(asked(it.model)[0]!, /what is this\?/);
    assert.match(sent[1]!.text, /and now\?/);
    await it.telegram.until(() => it.telegram.pending === 0 || undefined, 'all are confirmed');
  });
}

test('the parts may come with several answers, and the last one too late', async () => {
  await using it = await stage({ more: durable });
  await using program = it.start();
  await program.saw('is up');
  const { telegram } = it;
  const album = new Album(telegram, it.ann);
  for (let pieces = 1; pieces <= 3; pieces++) {
    album.photo(pieces === 2 ? 'what is this?' : '');
    const confirmed = (): true | undefined => telegram.confirmed.length === pieces || undefined;
    await telegram.until(confirmed, `${pieces} confirmed`);
  }
  await telegram.waitForSent(1);
  assert.equal(asked(it.model).length, 1);
  album.photo('and this?');
  await telegram.waitForSent(2);
  assert.match(asked(it.model)[1]!, /and this\?/);
});

test('in a group a caption says for whom all its album is', async () => {
  await using it = await stage({ more: durable, channel: { access: { groups: 'mention' } } });
  await using program = it.start();
  await program.saw('is up');
  const { telegram } = it;
  const from = telegram.person('Ann');
  const team = telegram.supergroup('Team');
  postAlbum(telegram, team, 2, 'for somebody else', { from });
  const album = postAlbum(telegram, team, 3, `@${telegram.bot.username} what is this?`, { from });
  const [sent] = await telegram.waitForSent(1);
  assert.equal(sent?.message.reply_to_message?.message_id, album.pieces[0]!.message_id);
  telegram.say(team, `@${telegram.bot.username} done?`, { from });
  await telegram.waitForSent(2);
  assert.equal(asked(it.model).length, 2);
  const log = program.log();
  assert.equal(log.split('"turned_away"').length - 1 <= 2, true, log);
});

test('a start in the midst of an album in a group knows for whom the rest is', async () => {
  await using it = await stage({ more: durable, channel: { access: { groups: 'mention' } } });
  const { telegram } = it;
  const [from, team] = [telegram.person('Ann'), telegram.supergroup('Team')];
  const album = new Album(telegram, team, { from });
  const polls = (): number => telegram.callsOf('getUpdates').length;
  {
    await using program = it.start();
    await program.saw('is up');
    await telegram.until(() => telegram.isPolled || undefined, 'it asks');
    const before = polls();
    // No later poll confirms it, however late it comes.
    telegram.fail('getUpdates', { kind: 'html', status: 502 }, 100);
    album.photo(`@${telegram.bot.username} what is this?`);
    await telegram.until(() => polls() > before || undefined, 'the first is taken');
    assert.equal(await program.stop(), 0);
  }
  telegram.heal();
  album.photo('');
  await using program = it.start();
  telegram.say(team, `@${telegram.bot.username} done?`, { from });
  const done = (): true | undefined => /done/.test(telegram.sent.at(-1)?.text ?? '') || undefined;
  await telegram.until(done, 'an answer to what came last');
  await program.saw('is up');
  // If the start takes longer than an album may, the rest is a separate question. It has no text,
  // so svc answers it itself.
  const own = telegram.sent.flatMap(({ text }) => (text.startsWith('re: ') ? [] : [text]));
  const heard = [...asked(it.model), ...own].join('\n');
  assert.equal(heard.match(/\[attachment: photo|^I could not get the file/gm)?.length, 2, heard);
});

test('what is said in a burst is one question, and a command never waits', async () => {
  const more = { ...durable, session: { triggers: ['/new', 'anew'] } };
  await using it = await stage({ more, channel: { gather_ms: longMs } });
  await using program = it.start();
  await program.saw('is up');
  const { telegram } = it;
  says(it, 'one', 'two', '/help');
  await telegram.waitForSent(2);
  assert.deepEqual(asked(it.model), ['one\ntwo']);
  says(it, 'three', '/new', 'anew four', '/recall');
  await telegram.waitForSent(6);
  assert.deepEqual(asked(it.model).slice(1), ['three', 'four']);
});

test('what was said apart and comes at once after an outage is no one question', async () => {
  await using it = await stage({ more: durable, channel: { gather_ms: 200 } });
  const { telegram } = it;
  const now = Math.floor(Date.now() / 1_000);
  telegram.say(it.ann, 'who wrote Faust?', { fields: { date: now - 1_200 } });
  telegram.say(it.ann, 'never mind', { fields: { date: now - 600 } });
  telegram.say(it.ann, 'who wrote Emma?', { fields: { date: now - 599 } });
  await using program = it.start();
  await telegram.waitForSent(2);
  assert.deepEqual(asked(it.model), ['who wrote Faust?', 'never mind\nwho wrote Emma?']);
  await program.saw('is up');
});

test('without storage, too, what comes within gather_ms is merged', async () => {
  await using it = await stage({ channel: { gather_ms: longMs } });
  await using program = it.start();
  await program.saw('is up');
  const { telegram } = it;
  await telegram.until(() => telegram.isPolled || undefined, 'it asks');
  telegram.say(it.ann, 'one');
  await telegram.until(() => !telegram.isPolled || undefined, 'it is told');
  says(it, 'two', '/help');
  await telegram.waitForSent(2);
  assert.deepEqual(asked(it.model), ['one\ntwo']);
});

test('without gather_ms each message is a question of its own', async () => {
  await using it = await stage({ more: durable });
  says(it, 'one', 'two');
  await using program = it.start();
  await it.telegram.waitForSent(2);
  assert.deepEqual(asked(it.model), ['one', 'two']);
  await program.saw('is up');
});

function says(it: Awaited<ReturnType<typeof stage>>, ...texts: readonly string[]): void {
  for (const text of texts) it.telegram.say(it.ann, text);
}
