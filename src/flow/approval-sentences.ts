/** What people are told of calls that wait for a yes. */
import { isMessengerType, sayChannel } from '../channel/kinds.ts';
import type { Approval, ApprovalState } from '../domain/approval.ts';
import { channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import { plural } from '../domain/plural.ts';
import type { Choice } from '../domain/reply.ts';
import type { ToolOutcome } from '../domain/tool-use.ts';
import { outcomeWords } from '../domain/tool-words.ts';

/** Of longer arguments the beginning is shown; whoever decides is told where the whole is. */
const argumentsCharactersMax = 1_000;
const nameCharactersMax = 60;

/** One sentence for all who may not decide it, and for codes that there are not. */
const nothingForYou = 'There is nothing under this code that you may decide.';

export const decisionSentences = {
  usage: (verb: 'approve' | 'refuse'): string => `Write /${verb} and the code that was told.`,
  nothingForYou,
  approved: (tool: string): string =>
    `Approved: ${tool} runs now, and what comes of it is told there.`,
  refused: (tool: string): string => `Refused: ${tool} is not run.`,
  over: (state: ApprovalState): string =>
    state === 'expired'
      ? 'It is too late: the time for a yes is over, and it was not run.'
      : `That was decided before: it was ${state}.`,
  failed: 'That could not be written down, so nothing was decided. Please try again.',
} as const;

/** What svc says in the place of a turn that cannot follow. */
export const followingSentences = {
  gone: 'Something waited for a yes here, but what it was is not kept any more. Nothing was run.',
  waits: ({ tool }: Approval): string => `${tool} still waits for a yes.`,
  settled: ({ tool }: Approval): string => `${tool} was decided and settled before.`,
  changed: ({ tool, state }: Approval): string =>
    `${tool} was ${state}, but it is not available here any more. Nothing was run.`,
} as const;

/** What the turn remembers in the place of what a person said. */
export function sayFollowed({ state, tool }: Approval): string {
  return `(${state}: ${tool})`;
}

/** Before an apology: the person knows what the yes came to, though no model tells it. */
export function sayOutcome({ tool }: Approval, outcome: ToolOutcome | null): string {
  return outcome === null ? `${tool} was not run.` : `${tool}: ${outcomeWords[outcome]}.`;
}

/**
 * The question where it was asked for.
 * @param here those who may decide are on this channel
 * @param elsewhere there are some on others
 */
export function sayQuestion(
  approvals: readonly Approval[],
  here: boolean,
  elsewhere: boolean,
): string {
  const [first] = approvals;
  if (first === undefined) return '';
  const isOne = approvals.length === 1;
  const calls = approvals.map((one, at) => `${isOne ? '' : `${at + 1}. `}${sayCall(one)}`);
  const codes = approvals.map(({ code }) => code);
  return [
    isOne ? `I need a yes for: ${calls[0]!}` : ['I need a yes for each of:', ...calls].join('\n'),
    ...(here ? [`Who may decide writes ${sayCommands(codes)}.`] : []),
    `${sayWho(here, elsewhere)} ${sayUntil(first)}`,
  ].join('\n');
}

/** The question in a chat of somebody who may decide. */
export function sayQuestionTo(approval: Approval): string {
  const { brain, sender, channel, code } = approval;
  const who = shown((sender.name ?? sender.id).slice(0, nameCharactersMax).toWellFormed());
  return [
    `${shown(brain)} needs a yes for: ${sayCall(approval)}`,
    `It was asked by ${who} on ${sayChannel(channelTypeOf(channel))}.`,
    `Write ${sayCommands([code])}. ${sayUntil(approval)}`,
  ].join('\n');
}

/** For each call a press for either answer. */
export function choicesOf(approvals: readonly Approval[]): readonly Choice[] {
  return approvals.flatMap(({ code }, at) => {
    const which = approvals.length === 1 ? '' : ` ${at + 1}`;
    return [
      { label: `Approve${which}`, says: `/approve ${code}` },
      { label: `Refuse${which}`, says: `/refuse ${code}` },
    ];
  });
}

function sayCommands(codes: readonly string[]): string {
  const each = codes.map((code) => `/approve ${code} or /refuse ${code}`);
  return each.join('; ');
}

function sayWho(here: boolean, elsewhere: boolean): string {
  const others = elsewhere ? ' or somebody who was asked elsewhere' : '';
  return here
    ? `The person who runs this service${others} can decide, too.`
    : `The person who runs this service${others} can decide.`;
}

function sayUntil({ expiresAt }: Approval): string {
  const until = new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ');
  return `It waits until ${until} UTC.`;
}

/** On messengers as code: there nothing in it is read as markup. */
function sayCall({ tool, arguments: text, channel }: Approval): string {
  const visible = shown(text);
  const beginning = visible.slice(0, argumentsCharactersMax).toWellFormed();
  const left = visible.length - beginning.length;
  const call = `${tool} ${beginning}${left === 0 ? '' : '…'}`;
  const told = isOnMessenger(channel) ? `\`${call}\`` : call;
  const rest = `(${plural(left, 'character')} more: whoever runs this service can see them)`;
  return left === 0 ? told : `${told} ${rest}`;
}

function isOnMessenger(channel: ChannelKey): boolean {
  return isMessengerType(channelTypeOf(channel));
}

/** What could hide or turn around other characters is written as its number. */
function shown(text: string): string {
  return text.replace(/[`\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
