/** The whole program on a fake Telegram: new answers to edits, and code as files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durable, echo, openTelegram } from './program.ts';

for (const [form, more] of [
  ['memory', {}],
  ['storage', durable],
] as const) {
  test(`${form}: an edit is answered where the question was, and after a restart not`, async () => {
    await using it = await openTelegram(echo, { channel: { edits: true }, more });
    const { telegram, ann } = it;
    const said = telegram.say(ann, 'two and two');
    const [sent] = await (async () => {
      await using program = it.start();
      const all = await telegram.waitForSent(1);
      telegram.edit(ann, said.message_id, 'three and three');
      const isEdited = () => telegram.shown(all[0]!.message)?.text === 'three and three';
      await telegram.until(() => isEdited() || undefined, 'the answer is edited');
      assert.equal(await program.stop(), 0, program.log());
      return all;
    })();
    await telegram.until(() => telegram.pending === 0 || undefined, 'all are confirmed');
    await using program = it.start();
    telegram.edit(ann, said.message_id, 'four and four');
    telegram.say(ann, 'the last');
    const all = await telegram.waitForSent(2);
    assert.equal(all[1]?.text, 'the last');
    assert.equal(telegram.shown(sent!.message)?.text, 'three and three');
    await program.saw('is up');
  });
}

test('an edit is no part of a burst, and no command', async () => {
  const session = { triggers: ['anew'] };
  const channel = { edits: true, gather_ms: 200 };
  await using it = await openTelegram(echo, { channel, more: { ...durable, session } });
  await using program = it.start();
  await program.saw('is up');
  const { telegram, ann } = it;
  const first = telegram.say(ann, 'one');
  const [one] = await telegram.waitForSent(1);
  const second = telegram.together(() => {
    telegram.edit(ann, first.message_id, 'one, edited');
    return telegram.say(ann, 'two');
  });
  const edited = () => telegram.shown(one!.message)?.text === 'one, edited' || undefined;
  await telegram.until(edited, 'the answer is edited');
  const [, two] = await telegram.waitForSent(2);
  assert.equal(two!.text, 'two');
  telegram.edit(ann, second.message_id, 'anew');
  telegram.say(ann, 'three');
  assert.equal((await telegram.waitForSent(3))[2]!.text, 'three');
  assert.equal(telegram.shown(two!.message)?.text, 'two');
});

test('an edit of what was merged is not asked', async () => {
  const channel = { edits: true, gather_ms: 200 };
  await using it = await openTelegram(echo, { channel, more: durable });
  const { telegram, ann } = it;
  const first = telegram.say(ann, 'one');
  const second = telegram.say(ann, 'two');
  await using program = it.start();
  const [both] = await telegram.waitForSent(1);
  telegram.edit(ann, first.message_id, 'one, edited');
  telegram.edit(ann, second.message_id, 'two, edited');
  telegram.say(ann, 'three');
  assert.equal((await telegram.waitForSent(2))[1]!.text, 'three');
  assert.equal(telegram.shown(both!.message)?.text, 'one\ntwo');
  await program.saw('is up');
});

test('long code comes as a file between the text before and behind it', async () => {
  const code = 'print("a line of a program")\n'.repeat(150);
  const answer = `Here it is:\n\n\`\`\`python\n${code}\`\`\`\n\nRun it.`;
  await using it = await openTelegram(() => ({ answer }), { more: durable });
  await using program = it.start();
  it.telegram.say(it.ann, 'write me a program');
  const sent = await it.telegram.waitForSent(3);
  assert.deepEqual(
    sent.map(({ text, file }) => [text, file?.name, file?.text]),
    [
      ['Here it is:', undefined, undefined],
      ['', 'code.py', code],
      ['Run it.', undefined, undefined],
    ],
  );
  await program.saw('is up');
});
