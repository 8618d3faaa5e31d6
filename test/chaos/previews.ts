/**
 * Kills the program while a messenger shows replies that are still being written: when such a
 * message is new and not stored, when it was edited, when the reply has replaced it and svc does
 * not know it yet. Before each kill a call fails, or a person deletes the preview: a failed preview
 * costs no reply.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { lastOf } from '../agents/stage.ts';
import type { Script } from '../fake/model-server.ts';
import type { Program } from '../support/program.ts';
import { leftIn } from './audit.ts';
import { stopAsAsked } from './outside.ts';
import { answersIn, answerTo } from './previews/answers.ts';
import { audit } from './previews/audit.ts';
import { goesOn, type Deed, type Messenger, type OpenMessenger } from './previews/messenger.ts';
import { openOnDiscord } from './previews/on-discord.ts';
import { openOnTelegram } from './previews/on-telegram.ts';
import { seeded, together, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';
import { Talk } from './talk.ts';

const waitingMax = 8;
const moments = ['start', 'made', 'edited', 'replaced', 'running'] as const;
/** Before one kill in so many a person deletes a preview. */
const removals = 5;
const pauseMs = 200;
/** The longest delays of a kill after its moment. */
const [startMs, runningMs, laterMs] = [400, 3_000, 8];

const sizes = { change: 5, nightly: 150 } as const;
/** Only at the largest size the machine does nothing else. */
const keptMs = 1_500;

export const previews: Proof = {
  name: 'previews',
  title:
    'SIGKILL while Telegram, and Discord, show replies that grow by edits, some sends and edits ' +
    'refused, some beginnings deleted: every question has its whole reply, in order, in the ' +
    'message that showed it before the kill',
  unit: 'kills on each',
  sizes,
  async run(count, seed, say) {
    const figures: Record<string, number> = {};
    const on = (open: OpenMessenger) => () => attack(open, count, seeded(seed), say);
    for (const found of await together([on(openOnTelegram), on(openOnDiscord)])) {
      for (const [name, n] of Object.entries(found)) figures[name] = (figures[name] ?? 0) + n;
    }
    return { kind: 'proved', figures };
  },
};

async function attack(
  open: OpenMessenger,
  count: number,
  random: () => number,
  say: (line: string) => void,
): Promise<Readonly<Record<string, number>>> {
  await using messenger = await open(scriptOf(random), random);
  const { name, database } = messenger;
  const answers = () => [...answersIn(messenger.made()).values()];
  const talk = new Talk(messenger.places, random, {
    pauseMs,
    isEnough: ({ said, answered }) => said.length - answered >= waitingMax,
    say: (place, text) => messenger.say(place, text),
    answerTo,
    answers,
  });
  const [kills, removed]: [number[], Set<string>] = [[], new Set()];
  for (let killed = 0; killed < count; killed++) {
    await using program = await spawnPast(database, () => messenger.spawn());
    if (killed === 0) {
      // svc can make up for a lost session only in known chats.
      await messenger.connected();
      talk.everywhere();
      await talk.untilAnswered();
    }
    await talk.until(strikeAt(messenger, program, removed, random));
    program.child.kill('SIGKILL');
    kills.push(Date.now());
    await program.ended;
    // Reads everything that this process sent, before the next one begins.
    await messenger.unconnected();
    if (killed % 25 === 24) say(`${name}: ${killed + 1} kills, ${talk.said.length} messages`);
  }
  await using program = messenger.spawn();
  await talk.untilAnswered();
  await stopAsAsked(program);
  const { faults, seen } = audit(talk.said, messenger, removed, {
    kills,
    keptMs: count >= sizes.nightly ? keptMs : Infinity,
  });
  const none = Object.fromEntries(Object.keys(faults).map((fault) => [fault, 0]));
  const left = { buried: 0, unsettled: 0 };
  assert.deepEqual({ ...faults, ...leftIn(database) }, { ...none, ...left }, name);
  return { messages: talk.said.length, ...faults, ...seen };
}

/** Answers take a few seconds, with any number of words. */
function scriptOf(random: () => number): Script {
  return (call) => {
    // In a group the speaker's name stands before the text.
    const [question = ''] = /\d+$/.exec(lastOf(call).content) ?? [];
    const answer = answerTo(question);
    const msMax = Math.min(60, 6_000 / answer.split(' ').length);
    return { answer, between: () => pause((0.2 + 0.8 * random()) * msMax) };
  };
}

/** Resolves at a random moment, or when the program has ended by itself. */
async function strikeAt(
  messenger: Messenger,
  program: Program,
  removed: Set<string>,
  random: () => number,
): Promise<void> {
  const moment = moments[Math.floor(random() * moments.length)]!;
  const after = random();
  if (moment === 'start') return pause(after * startMs);
  await program.saw('is up');
  // The preview of the next reply does not overtake a reply that waits for a retry.
  if (random() < 0.5) messenger.spoil();
  if (random() < 1 / removals) await Promise.race([removal(messenger, removed), program.ended]);
  if (moment === 'running') {
    await Promise.race([pause(after * runningMs), program.ended]);
    return;
  }
  const since = messenger.deeds().length;
  const happens = { made: isMaking, edited: isEditing, replaced: isReplacing }[moment];
  const event = messenger.until(
    () => messenger.deeds().slice(since).some(happens) || undefined,
    `a message that is ${moment}`,
  );
  await Promise.race([event.then(() => pause(after * laterMs)), program.ended]);
}

const isMaking = ({ kind, text }: Deed): boolean => kind === 'make' && text.endsWith(goesOn);
const isEditing = ({ kind, text }: Deed): boolean => kind === 'edit' && text.endsWith(goesOn);
const isReplacing = ({ kind, text }: Deed): boolean => kind === 'edit' && !text.endsWith(goesOn);

/** A person deletes the next preview. */
async function removal(messenger: Messenger, removed: Set<string>): Promise<void> {
  const before = new Set(messenger.made().map(({ message }) => message));
  const made = await messenger.until(
    () =>
      messenger.made().find(({ text, message }) => text?.endsWith(goesOn) && !before.has(message)),
    'a beginning',
  );
  removed.add(made.message);
  messenger.remove(made);
}
