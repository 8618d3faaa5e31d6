/** Asserts that the present svc finds all data of a kept release, and goes on with it. */
import assert from 'node:assert/strict';
import { answerTo, shownTo, webhook, type Expected, type Line } from './said.ts';
import type { World } from './world.ts';
import { until } from '../support/waiting.ts';

type Turn = { readonly text: string; readonly reply: string; readonly session: number };
type Paired = { readonly sender: string; readonly name: string; readonly state: string };
type Letter = Line & { readonly failure: { readonly kind: string } };
type Use = { readonly conversation: string; readonly tool: string };

/**
 * Asserts that a running svc answers the waiting messages, delivers the due replies, and reports
 * the rest unchanged. Then people go on with their conversations.
 * @param world whose svc is up and got no message yet
 */
export async function assertAllGoesOn(world: World, expected: Expected): Promise<void> {
  await assertArrived(world, expected);
  await assertKept(world, expected);
  await assertRecalled(world, expected);
  await assertStillPaired(world, expected);
}

/** Asserts that every unfinished message and reply has arrived once. */
export async function assertArrived({ receiver }: World, expected: Expected): Promise<void> {
  const { waiting, due, parked } = expected;
  const answers = waiting.map(({ conversation, text }) => ({ conversation, text: answerTo(text) }));
  const wanted = [...answers, ...due, ...parked];
  const all = (): boolean => receiver.received.length >= wanted.length;
  await until('all that was on its way has arrived', all);
  const received = receiver.received.map(({ body }) => ({
    conversation: String(body['conversation_id']),
    text: String(body['text']),
  }));
  const of = (conversation: string) => (one: { readonly conversation: string }) =>
    one.conversation === conversation;
  for (const conversation of new Set(wanted.map((one) => one.conversation))) {
    const [came, asked] = [received, wanted].map((both) => both.filter(of(conversation)));
    assert.deepEqual(came, asked, `in their order, to ${conversation}`);
  }
  assert.equal(received.length, wanted.length, 'and nothing else');
}

/** Asserts that svc reports the former state. */
async function assertKept(world: World, expected: Expected): Promise<void> {
  await world.untilLeft('nothing is deferred', 'deliveries?state=deferred', 0);
  await world.untilLeft('nothing waits', 'deliveries?state=waiting', 0);
  assert.equal((await world.rows('messages?limit=100')).length, expected.messages);
  await assertHistory(world, expected);
  await assertLetters(world, expected);
  await assertOfAgents(world, expected);
  const paired = await world.rows<Paired>('pairings');
  const admitted = paired.filter(({ state }) => state === 'admitted');
  assert.deepEqual(
    admitted.map(({ sender, name }) => ({ sender, name })),
    expected.paired,
  );
}

/** svc has answered the waiting messages meanwhile. */
async function assertHistory(world: World, { history, waiting }: Expected): Promise<void> {
  const [{ conversation }] = waiting as readonly [Line];
  const turns = waiting.map(({ text }): readonly [string, string] => [text, answerTo(text)]);
  for (const one of [...history, { channel: webhook, conversation, sessions: 1, turns }]) {
    const exported = await world.svc(
      'conversations',
      'export',
      keyOf(world, one.channel),
      one.conversation,
    );
    assert.equal(exported.code, 0, exported.err);
    const lines = exported.out.trim().split('\n');
    const kept = lines.map((line) => JSON.parse(line) as Turn);
    assert.deepEqual(
      kept.map(({ text, reply }) => [text, reply]),
      one.turns,
      `the turns of ${one.conversation}`,
    );
    assert.equal(new Set(kept.map(({ session }) => session)).size, one.sessions);
  }
}

/** All of a messenger's conversations belong to one bot. */
function keyOf({ telegram }: World, channel: string): string {
  return channel === webhook ? webhook : `${channel}:${telegram.bot.id}`;
}

/** Asserts that each dead letter can be read, and is delivered after a replay. */
async function assertLetters(world: World, { deadLetters }: Expected): Promise<void> {
  const letters = await world.rows<{ id: string }>('dead-letters');
  assert.equal(letters.length, deadLetters.length);
  for (const [at, { id }] of letters.entries()) {
    const letter = (await world.ask(`dead-letters/${id}`)) as Letter;
    const { conversation, text, failure } = letter;
    assert.deepEqual({ conversation, text, reason: failure.kind }, deadLetters[at]);
    const received = world.receiver.received.length;
    await world.ask(`dead-letters/${id}/replay`, 'POST');
    assert.equal(await world.reply(received + 1), text);
  }
}

async function assertOfAgents(world: World, { toolUses, notes }: Expected): Promise<void> {
  const uses = await world.rows<{ key: string; tool: string }>('tool-uses');
  const asked = uses.map(({ key }) => world.ask(`tool-uses/${key}`));
  assert.deepEqual(
    ((await Promise.all(asked)) as readonly Use[]).map(({ conversation, tool }) => ({
      conversation,
      tool,
    })),
    toolUses,
  );
  for (const { conversation, text } of notes) {
    const rows = await world.rows<{ text: string }>(`notes/${webhook}/${conversation}`);
    assert.deepEqual(
      rows.map((one) => one.text),
      [text],
    );
  }
}

/** Leaves out the notes, which stand behind the message that follows them. */
function withoutNotes(text: string): string {
  return text.split('\n\n[data ')[0]!;
}

/** Asserts that each conversation's next turn shows the model the texts of its last session. */
async function assertRecalled(world: World, { history, notes }: Expected): Promise<void> {
  for (const { channel, conversation, sessions, turns } of history) {
    if (channel !== webhook) continue;
    const [replies, asked] = [world.receiver.received.length, world.model.calls.length];
    const text = `And now, ${conversation}?`;
    await world.say(conversation, text);
    assert.equal(await world.reply(replies + 1), answerTo(text));
    const shown = shownTo(await world.model.call(asked));
    // Bob began a second session, so svc shows nothing of the first.
    const recalled = sessions === 1 ? turns : turns.slice(1);
    assert.deepEqual(
      shown.filter(({ role }) => role !== 'system').map(({ content }) => withoutNotes(content)),
      [...recalled.flat(), text],
      `what is recalled of ${conversation}`,
    );
    const own = notes.filter((one) => one.conversation === conversation);
    const all = shown.map(({ content }) => content).join('\n');
    for (const note of own) assert.ok(all.includes(`\n- ${note.text}\n`), 'and the note');
  }
}

/** Asserts that svc answers a paired person without a code. */
async function assertStillPaired({ telegram }: World, { paired }: Expected): Promise<void> {
  for (const { sender, name } of paired) {
    const from = telegram.person(name, { id: Number(sender) });
    const sent = telegram.sent.length;
    const text = `It is ${name} again.`;
    // A number tells new messages from those of the kept release.
    const fields = { message_id: 900_000 + sent };
    telegram.say(telegram.privateChat(from), text, { from, fields });
    const all = await telegram.waitForSent(sent + 1);
    assert.equal(all[sent]!.message.text, answerTo(text));
  }
}
