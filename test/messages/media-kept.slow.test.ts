/** The ledger keeps the extracted content of attachments with messages: no run reads it twice. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Script } from '../fake/model-server.ts';
import { jpegOf } from '../fake/pictures.ts';
import { openTelegram } from '../telegram/program.ts';

type Asked = { messages: { role: string; content: string; images?: string[] }[] };

const saysWhatItSees: Script = ({ body }) => {
  const { messages } = body as Asked;
  const told = messages.filter(({ role }) => role === 'user');
  return { answer: told.map(({ images = [] }) => images.length).join(', ') };
};

async function stage(capabilities: readonly string[] = ['completion', 'vision'], channel = {}) {
  const more = { storage: { path: 'svc.db' } };
  const it = await openTelegram(saysWhatItSees, { channel, more, capabilities });
  const { telegram, ann } = it;
  return {
    ...it,
    say: (text: string) => telegram.say(ann, text),
    show(caption: string, path = 'photos/file_1.jpg') {
      const bytes = Buffer.from(jpegOf(64, 32));
      const file_id = telegram.storeFile(path, bytes);
      const size = { width: 64, height: 32, file_size: bytes.length };
      telegram.post(ann, { caption, photo: [{ file_id, file_unique_id: 'l', ...size }] });
    },
    async sent(n: number): Promise<readonly string[]> {
      return (await telegram.waitForSent(n)).map(({ text }) => text);
    },
  };
}

test('killed in the midst of a download, it reads the photo anew and answers once', async () => {
  await using it = await stage();
  const { downloads } = it.telegram;
  downloads.stalled = true;
  {
    await using program = it.spawn();
    it.show('what is it?');
    await it.telegram.until(() => downloads.asked.length > 0 || undefined, 'a download');
    program.child.kill('SIGKILL');
    await program.ended;
  }
  downloads.stalled = false;
  await using _program = it.start();
  assert.deepEqual(await it.sent(1), ['1']);
  it.say('still there?');
  await it.sent(2);
  assert.equal(it.model.calls.length, 2, 'nothing is asked twice');
});

test('killed while its model thinks, it asks again with the photo that it has', async () => {
  await using it = await stage();
  const never = Promise.withResolvers<void>();
  await it.model.script({ answer: 'too late', after: never.promise });
  {
    await using program = it.spawn();
    it.show('what is it?');
    await it.model.call(0);
    program.child.kill('SIGKILL');
    await program.ended;
  }
  await it.model.script(saysWhatItSees);
  await using _program = it.start();
  assert.deepEqual(await it.sent(1), ['1']);
  assert.equal(it.telegram.downloads.asked.length, 1);
});

for (const [what, first, answers] of [
  ['words', 'look', ['0', '0, 1']],
  ['a photo', 'photo', ['1', '1, 1']],
] as const) {
  test(`what was joined with ${what} is kept with its own message when that is alone`, async () => {
    await using it = await stage(undefined, { gather_ms: 300 });
    const never = Promise.withResolvers<void>();
    await it.model.script({ answer: 'too late', after: never.promise });
    for (const killed of [0, 1]) {
      await using program = it.spawn();
      if (killed === 0) {
        if (first === 'photo') it.show('one', 'photos/file_0.jpg');
        else it.say(first);
        it.show('two');
      }
      await it.model.call(killed);
      program.child.kill('SIGKILL');
      await program.ended;
    }
    await it.model.script(saysWhatItSees);
    await using program = it.start();
    assert.deepEqual(await it.sent(2), answers);
    await program.stop();
    using db = new DatabaseSync(join(it.folder, 'svc.db'), { readOnly: true });
    const kept = db.prepare('SELECT message_id FROM attachments').all();
    assert.equal(kept.length, new Set(kept.map((row) => row['message_id'])).size);
    assert.equal(kept.length, first === 'photo' ? 2 : 1);
  });
}

test('later turns are shown the newest four pictures of their window', async () => {
  await using it = await stage();
  await using _program = it.start();
  it.show('one');
  await it.sent(1);
  it.say('and now?');
  assert.equal((await it.sent(2))[1], '1, 0');
  for (const n of [2, 3, 4, 5]) {
    it.show(`${n}`, `photos/file_${n}.jpg`);
    await it.sent(n + 1);
  }
  it.say('and all of them?');
  assert.equal((await it.sent(7))[6], '0, 0, 1, 1, 1, 1, 0');
  assert.equal(it.telegram.downloads.asked.length, 5);
});

test('what is asked again is asked with its picture, which stays with it', async () => {
  await using it = await stage();
  await using _program = it.start();
  await it.model.script({ fail: '401' });
  it.show('what is it?');
  assert.match((await it.sent(1))[0]!, /no answer/);
  await it.model.script(saysWhatItSees);
  it.say('/retry');
  assert.equal((await it.sent(2))[1], '1');
  it.say('and now?');
  assert.equal((await it.sent(3))[2], '1, 0');
});

test('who saw no picture has no button to be asked again', async () => {
  await using it = await stage(['completion']);
  await using _program = it.start();
  it.show('');
  const [sent] = await it.telegram.waitForSent(1);
  assert.match(sent!.text, /cannot see pictures/);
  assert.equal(sent!.message['reply_markup'], undefined);
});

test('a model that sees nothing answers later turns as ever', async () => {
  await using it = await stage(['completion']);
  await using _program = it.start();
  it.show('one');
  await it.sent(1);
  it.say('and now?');
  assert.equal((await it.sent(2))[1], '0, 0');
  const { messages } = it.model.calls.at(-1)!.body as Asked;
  assert.match(messages.map(({ content }) => content).join('\n'), /one\n\[picture: photo\]/);
});
