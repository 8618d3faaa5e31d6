/** Every sentence that svc itself sends to people, except those of approvals. */
import type { Apology, ApologyFacts } from '../domain/decision.ts';
import type { Media } from '../domain/message.ts';
import type { Note } from '../domain/note.ts';
import type { Ability, GrantMode, ToolUse } from '../domain/tool-use.ts';
import { localDay, localTime, nextMidnight } from '../lib/local-day.ts';
import type { ListedCommand } from './offered-commands.ts';

/**
 * The sentences that a sender gets when there is no model's answer. They name no provider and no
 * internal reason: the trace has the reason. They are sent, but are not part of the history.
 */
export const sentences: Readonly<Record<Apology, string>> = {
  no_consensus:
    'I found more than one answer to this and they do not agree, so I would rather not guess. ' +
    'Asking in other words may help.',
  busy: 'I am busy or still starting up. Please try again in a little while.',
  no_answer:
    'Sorry, I have no answer right now. ' +
    'If this keeps happening, please tell the person who runs this service.',
  over_budget: 'This would take more than I may use for one message. A shorter message may help.',
  unfinished:
    'I did not come to the end of this within the steps that I may take. ' +
    'A smaller question may help.',
  too_long: 'This is longer than I can read at once. Please send it in shorter pieces.',
  unseen: 'I cannot see pictures here. Please write what it is about.',
  fault: 'Sorry, something went wrong here. Please send your message again.',
};

/**
 * The sentence for an apology.
 * @param now milliseconds since 1970; the sentence gives times in the time zone of this machine
 */
export function sentenceOf(sorry: ApologyFacts, now: number): string {
  if (sorry.apology !== 'over_budget' || sorry.opensAt === null) return sentences[sorry.apology];
  const when = describeWhen(sorry.opensAt, now);
  return `I have used what I may use for one day. I can answer again ${when}.`;
}

/** `tomorrow at 00:00` */
function describeWhen(at: number, now: number): string {
  const [day, time] = [localDay(at), localTime(at)];
  if (day === localDay(nextMidnight(now))) return `tomorrow at ${time}`;
  return day === localDay(now) ? `today at ${time}` : `on ${day} at ${time}`;
}

/** Added where a person can begin a new session: an earlier message may be the cause. */
const newSessionHints: Partial<Readonly<Record<Apology, (trigger: string) => string>>> = {
  no_answer: (trigger) => `${trigger} begins a new conversation, which may help.`,
  busy: (trigger) => `If it stays so, ${trigger} begins a new conversation, which may help.`,
  over_budget: (trigger) => `${trigger} begins a new conversation, which is shorter.`,
  fault: (trigger) => `If it happens again, ${trigger} begins a new conversation.`,
};

/** @returns null: a new session would not help */
export function newSessionHint(sorry: ApologyFacts, trigger: string): string | null {
  if (sorry.apology === 'over_budget' && sorry.opensAt !== null) return null;
  return newSessionHints[sorry.apology]?.(trigger) ?? null;
}

/** svc's answers to its own commands. */
export const commandSentences = {
  begun: 'A new session begins. What was said before is no longer in view.',
  recallOff: 'There is no /recall here: the person who runs this service has not switched it on.',
  recallBadCount: (most: number): string =>
    most === 1
      ? 'Write /recall alone.'
      : `Write /recall, or /recall and a number from 1 to ${most}.`,
  recallNotEmpty: 'This session has begun already. Send /recall as the first thing of a new one.',
  recallNothing: 'There is nothing to recall: no earlier session has anything in it.',
  recalled: (turns: number): string =>
    turns === 1
      ? 'The last exchange of the session before is in view again.'
      : `The last ${turns} exchanges of the session before are in view again.`,
  recalledHere: 'What was private in it is shown to models on this machine alone.',
  pairing: (code: string): string =>
    `I do not know you yet. Give this code to the person who runs this service: ${code}. ` +
    'It is good for an hour. Once you are let in, write again: what you wrote was not kept.',
  start: 'Hello! Write to me and I answer; /help says what else can be written here.',
  help: (commands: readonly ListedCommand[]): string =>
    [
      'You can write:',
      ...commands.map(({ writes, description }) => `${writes}: ${description}.`),
      'Everything else is a message to me.',
    ].join('\n'),
  commandNeedsText: (command: string): string => `Write what you want to ask behind ${command}.`,
  retryNothing:
    'There is nothing to ask again: what was asked has its answer, or is no longer in view.',
  welcome: 'You are in: write to me and I answer.',
  notesNone: 'There are no notes.',
  notesCleared: 'The notes are gone.',
  notesNotYours:
    'The notes here belong to all conversations: only the person who runs this service sees and ' +
    'clears them.',
  notesUsage: 'Write /notes to see the notes, or /notes clear to delete them.',
  notesList: (notes: readonly Note[]): string =>
    ['Notes:', ...notes.map(({ text }, at) => `${at + 1}. ${text}`)].join('\n'),
  toolsList: (abilities: readonly Ability[], uses: readonly ToolUse[]): string =>
    [
      'Tools here:',
      ...abilities.map(
        ({ tool, mode, cage }) =>
          `- ${tool}: ${describeMode(mode)}${cage === null ? '' : `, ${cage}`}`,
      ),
      ...(uses.length === 0 ? [] : ['Last uses:', ...uses.map(describeUse)]),
    ].join('\n'),
} as const;

const describeMode = (mode: GrantMode): string => (mode === 'ask' ? 'ask, only after a yes' : mode);

function describeUse({ at, tool, outcome }: ToolUse): string {
  return `- ${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC ${tool}: ${outcome}`;
}

/** The sentences about an attachment that svc cannot read. */
export const unreadSentences = {
  notFetched: 'I could not get the file that you sent. Please send it again.',
  notHandedOut:
    'I cannot get files here. Please write it, and tell the person who runs this service.',
  notListened: 'I do not listen to voice messages here. Please write it.',
  notUnderstood: 'I could not understand the voice message. Please write it.',
  notHeard: 'I cannot listen to voice messages just now. Please write it, or send it again later.',
  notInTime:
    'It takes me too long to write down this voice message. Please send shorter ones, or write it.',
  tooMany: 'These are more files than I look at in one message. Please send the rest again.',
  tooManyPixels: 'That picture is too large to look at. Please send a smaller one.',
  tooLarge: (bytes: number): string => {
    const size = bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`;
    return `That file is larger than the ${size} that I read. Please send a smaller one.`;
  },
  notUtf8: 'I cannot read the text of this file. Please save it as UTF-8 and send it again.',
  unknown: ({ type, reference }: Media): string =>
    `I cannot read this (${plain(type ?? reference)}). I read text, and where I am set up for ` +
    'it, pictures and voice messages.',
} as const;

function plain(name: string): string {
  return name
    .replace(/[^\p{L}\p{N} ./_-]+/gu, ' ')
    .trim()
    .slice(0, 60)
    .toWellFormed();
}

/** The line before the first reply of a session that began without a command. */
export function sessionNotice(started: 'daily' | 'idle', recall: boolean): string {
  const why = started === 'daily' ? 'a new day' : 'it was quiet for a while';
  return `(New session: ${why}.${recall ? ' /recall brings the last exchanges back.' : ''})`;
}

const sessionNotices = (['daily', 'idle'] as const).flatMap((started) =>
  [true, false].map((recall) => sessionNotice(started, recall)),
);

/** A reply as the brain gave it, without the session notice that may stand before it. */
export function withoutNotice(text: string): string {
  const notice = sessionNotices.find((one) => text.startsWith(one));
  return notice === undefined ? text : text.slice(notice.length);
}
