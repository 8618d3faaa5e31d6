/** What a kept release left is there, and goes on, in the svc that runs on it now. */
import assert from 'node:assert/strict';
import type { DeliveryRow, MessageRow } from '../../src/domain/records.ts';
import { answerTo, messenger, shownTo, webhook, type Expected } from './said.ts';
import type { World } from './world.ts';

type Turn = { readonly text: string; readonly reply: string | null };
type Paired = { readonly sender: string; readonly name: string; readonly state: string };
type Letter = { readonly id: string; readonly reason: string; readonly conversation: string };
type Use = { readonly conversation: string; readonly tool: string };

/**
 * Looks for everything in a running svc: what waited is answered, what was due is delivered, and
 * the rest is told as it was. Then people go on with their conversations.
 * @param world whose svc has begun, and has been told nothing by anybody
 */
export async function assertAllGoesOn(world: World, expected: Expected): Promise<void> {
  await assertSettled(world, expected);
  await assertKept(world, expected);
  await assertRecalled(world, expected);
  await assertStillPaired(world, expected);
}

/** Everything that was on its way has arrived, each once. */
async function assertSettled({ receiver }: World, expected: Expected): Promise<void> {
  const { waiting, due, parked } = expected;
  const answers = waiting.map(({ conversation, text }) => ({ conversation, text: answerTo(text) }));
  const wanted = [...answers, ...due, ...parked];
  const received = (await receiver.waitFor(wanted.length)).map(({ body }) => ({
    conversation: String(body['conversation_id']),
    text: String(body['text']),
  }));
  const of = (conversation: string) => (one: { readonly conversation: string }) =>
    one.conversation === conversation;
  for (const conversation of new Set(wanted.map((one) => one.conversation))) {
    const [came, asked] = [received, wanted].map((all) => all.filter(of(conversation)));
    assert.deepEqual(came, asked, `in their order, to ${conversation}`);
  }
  assert.equal(received.length, wanted.length, 'and nothing else');
}

/** What is told of what was. */
async function assertKept(world: World, expected: Expected): Promise<void> {
  await world.until<DeliveryRow>('nothing is on its way', 'deliveries?state=deferred', isEmpty);
  await world.until<DeliveryRow>('nothing waits', 'deliveries?state=waiting', isEmpty);
  const answered = expected.waiting.map(({ conversation, text }) => ({
    channel: webhook,
    conversation,
    sessions: 1,
    turns: [[text, answerTo(text)]] as const,
  }));
  const cy = answered.map((one) => one.turns[0]!);
  const history = [...expected.history, { ...answered[0]!, turns: cy }];
  for (const { channel, conversation, sessions, turns } of history) {
    const key = await keyOf(world, channel);
    const exported = await world.svc('conversations', 'export', key, conversation);
    assert.equal(exported.code, 0, exported.err);
    const kept = exported.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Turn & { readonly session: number });
    assert.deepEqual(
      kept.map(({ text, reply }) => [text, reply]),
      turns,
      `the turns of ${conversation}`,
    );
    assert.equal(new Set(kept.map(({ session }) => session)).size, sessions);
  }
  const messages = await world.rows<MessageRow>('messages?limit=100');
  assert.equal(messages.length, expected.messages);
  const letters = await world.rows<Letter>('dead-letters');
  assert.deepEqual(
    letters.map(({ reason, conversation }) => ({ reason, conversation })),
    expected.deadLetters.map(({ reason, conversation }) => ({ reason, conversation })),
  );
  const shown = await world.svc('dead-letters', 'show', letters[0]!.id);
  assert.ok(shown.out.includes(expected.deadLetters[0]!.text), shown.out + shown.err);
  const uses = await world.rows<Use>('tool-uses');
  assert.deepEqual(
    uses.map(({ conversation, tool }) => ({ conversation, tool })),
    expected.toolUses,
  );
  for (const { conversation, text } of expected.notes) {
    const notes = await world.rows<{ text: string }>(`notes/${webhook}/${conversation}`);
    assert.deepEqual(
      notes.map((one) => one.text),
      [text],
    );
  }
  const paired = await world.rows<Paired>('pairings');
  const admitted = paired.filter(({ state }) => state === 'admitted');
  assert.deepEqual(
    admitted.map(({ sender, name }) => ({ sender, name })),
    expected.paired,
  );
}

const isEmpty = (rows: readonly unknown[]): boolean => rows.length === 0;

/** A messenger's conversations are those of one bot. */
async function keyOf(world: World, channel: string): Promise<string> {
  return channel === webhook ? webhook : `${messenger}:${world.telegram.bot.id}`;
}

/** The next turn of each conversation shows the model what was said in its last session. */
async function assertRecalled(world: World, { history, notes }: Expected): Promise<void> {
  for (const { channel, conversation, sessions, turns } of history) {
    if (channel !== webhook) continue;
    const [replies, asked] = [world.receiver.received.length, world.model.calls.length];
    const text = `And now, ${conversation}?`;
    await world.say(conversation, text);
    assert.equal(await world.reply(replies + 1), answerTo(text));
    const shown = shownTo(await world.model.call(asked));
    // Bob's first session is cut off.
    const recalled = sessions === 1 ? turns : turns.slice(1);
    assert.deepEqual(
      shown.filter(({ role }) => role !== 'system').map(({ content }) => content),
      [...recalled.flat(), text],
      `what is recalled of ${conversation}`,
    );
    const own = notes.filter((one) => one.conversation === conversation);
    const system = shown.filter(({ role }) => role === 'system').map(({ content }) => content);
    for (const note of own) assert.ok(system.join('\n').includes(note.text), 'and the note');
  }
}

/** Who was let in is answered, without a code. */
async function assertStillPaired({ telegram }: World, { paired }: Expected): Promise<void> {
  for (const { sender, name } of paired) {
    const from = telegram.person(name, { id: Number(sender) });
    const sent = telegram.sent.length;
    const text = `It is ${name} again.`;
    telegram.say(telegram.privateChat(from), text, { from });
    const all = await telegram.waitForSent(sent + 1);
    assert.equal(all[sent]!.message.text, answerTo(text));
  }
}
