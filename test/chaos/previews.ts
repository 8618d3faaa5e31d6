/**
 * Kills the program while Telegram shows replies that are still being written: when such a message
 * was just made and nothing of it is kept, when it was edited, when the reply took its place and
 * svc does not know it yet.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { lastOf } from '../agent-stage.ts';
import type { Script } from '../fake/model-server.ts';
import type { FakeTelegram } from '../fake/telegram.ts';
import { refuse } from '../fake/telegram/wire.ts';
import type { Program } from '../program.ts';
import { openTelegram } from '../telegram-program.ts';
import { leftIn } from './audit.ts';
import { stopAsAsked } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';
import { Talk, type Saying } from './talk.ts';

const waitingMax = 8;
const moments = ['start', 'made', 'edited', 'replaced', 'running'] as const;
/** What stands behind a text that goes on. */
const goesOn = ' …';
/** A message that is shown for so long has been edited, or was kept. */
const keptMs = 1_500;
const failed = refuse(500, 'Internal Server Error');

export const previews: Proof = {
  name: 'previews',
  title:
    'SIGKILL while Telegram shows replies that grow by edits, some sends refused: every question ' +
    'has its whole reply, in order, in the message that showed it before the kill',
  unit: 'kills',
  sizes: { test: 3, change: 20, nightly: 300 },
  async run(count, seed, say) {
    const random = seeded(seed);
    const script: Script = (call) => {
      const between = () => pause(10 + random() * 50);
      return { answer: answerTo(lastOf(call).content), between };
    };
    const more = { storage: { path: 'svc.db' } };
    await using stage = await openTelegram(script, { channel: { streaming: true }, more, random });
    const { telegram } = stage;
    const database = join(stage.folder, 'svc.db');
    const talk = new Talk(telegram, random, {
      people: 4,
      pauseMs: 200,
      isEnough: ({ said, answered }) => said.length - answered >= waitingMax,
      answerTo,
      answers: () => standing(telegram),
    });
    const kills: number[] = [];
    for (let killed = 0; killed < count; killed++) {
      await using program = await spawnPast(database, stage.spawn);
      await talk.until(strikeAt(telegram, program, random));
      program.child.kill('SIGKILL');
      kills.push(Date.now());
      await program.ended;
      // What it had sent is read before the next one begins, and so not taken for that one's.
      await telegram.unconnected();
      if (killed % 25 === 24) say(`${killed + 1} kills, ${talk.said.length} messages`);
    }
    await using program = stage.spawn();
    await talk.untilAnswered();
    await stopAsAsked(program);
    const { faults, seen } = audit(talk.said, telegram, kills);
    const none = Object.fromEntries(Object.keys(faults).map((name) => [name, 0]));
    const left = { buried: 0, unsettled: 0 };
    assert.deepEqual({ ...faults, ...leftIn(database) }, { ...none, ...left });
    return { kind: 'proved', figures: { messages: talk.said.length, ...faults, ...seen } };
  },
};

/** Every fourth is too short to be shown before it is whole. */
function answerTo(text: string): string {
  const number = Number(text);
  const words = number % 4 === 3 ? 0 : 20 + (number % 7) * 10;
  return [`re: ${text};`, ...Array.from({ length: words }, (_, at) => `word${at}`)].join(' ');
}

/** Resolves at a moment chosen by chance, or when the program has ended by itself. */
async function strikeAt(
  telegram: FakeTelegram,
  program: Program,
  random: () => number,
): Promise<void> {
  const moment = moments[Math.floor(random() * moments.length)]!;
  const after = random();
  if (moment === 'start') return pause(after * 400);
  await program.saw('is up');
  // A reply that is tried again later is not overtaken by what shows the next one.
  if (random() < 0.5) telegram.fail('sendMessage', { kind: 'refuse', answer: failed });
  if (moment === 'running') {
    await Promise.race([pause(after * 3_000), program.ended]);
    return;
  }
  const since = telegram.calls.length;
  const happens = { made: isMaking, edited: isEditing, replaced: isReplacing }[moment];
  const event = telegram.until(
    () => telegram.calls.slice(since).some(happens) || undefined,
    `a message that is ${moment}`,
    60_000,
  );
  await Promise.race([event.then(() => pause(after * 8)), program.ended]);
}

type Call = FakeTelegram['calls'][number];
const goesOnIn = ({ params: { text } }: Pick<Call, 'params'>): boolean =>
  typeof text === 'string' && text.endsWith(goesOn);
const isEdit = ({ method }: Call): boolean => method === 'editMessageText';
const isMaking = (call: Call): boolean => call.method === 'sendMessage' && goesOnIn(call);
const isEditing = (call: Call): boolean => isEdit(call) && goesOnIn(call);
const isReplacing = (call: Call): boolean => isEdit(call) && !goesOnIn(call);

/** A message of the bot's as it stands in its chat now. */
type Standing = { readonly chat: number; readonly number: number; readonly text: string } & {
  readonly begunAt: number;
  /** It showed a beginning first. */
  readonly grew: boolean;
};

function standing(telegram: FakeTelegram): readonly Standing[] {
  return telegram.sent.flatMap(({ message, params, at: begunAt, chatId: chat }) => {
    const text = telegram.shown(message)?.text;
    if (text === undefined) return [];
    const grew = goesOnIn({ params });
    return [{ chat, number: message.message_id, text, begunAt, grew }];
  });
}

/**
 * Each message has one whole answer. A beginning is left standing only where a kill came before svc
 * had kept it, and only a reply that nothing showed before may come again after a kill.
 */
function audit(said: readonly Saying[], telegram: FakeTelegram, kills: readonly number[]) {
  const all = standing(telegram);
  const edits = telegram.calls.filter(isEdit);
  const wasEdited = ({ chat, number }: Standing): boolean =>
    edits.some(({ params }) => params['chat_id'] === chat && params['message_id'] === number);
  const struck = ({ begunAt }: Standing): boolean =>
    kills.some((at) => at >= begunAt && at - begunAt <= keptMs);
  let [lost, doubled, disordered, repeats] = [0, 0, 0, 0];
  const newest = new Map<number, number>();
  for (const { chat, text } of said) {
    const whole = all.filter((one) => one.chat === chat && one.text === answerTo(text));
    const [first] = whole;
    if (first === undefined) {
      lost++;
      continue;
    }
    repeats += whole.length - 1;
    if (whole.length > 1 && whole.some(({ grew }) => grew)) doubled++;
    if (first.number < (newest.get(chat) ?? 0)) disordered++;
    newest.set(chat, first.number);
  }
  const beginnings = all.filter(({ text }) => text.endsWith(goesOn));
  return {
    faults: {
      lost,
      doubled,
      'out of order': disordered,
      'left unfinished': beginnings.filter((one) => wasEdited(one) || !struck(one)).length,
    },
    seen: {
      shown: all.filter(({ grew }) => grew).length,
      edits: edits.length,
      'shown on after a kill': all.filter((one) => survived(one, edits, kills)).length,
      'killed before it was kept': beginnings.length,
      repeats,
    },
  };
}

/** A process after the one that made it has edited it. */
function survived(
  { chat, number, begunAt, grew }: Standing,
  edits: readonly Call[],
  kills: readonly number[],
): boolean {
  const own = edits.filter(({ params }) => {
    return params['chat_id'] === chat && params['message_id'] === number;
  });
  return grew && own.some((edit) => kills.some((at) => at > begunAt && at < edit.at));
}
