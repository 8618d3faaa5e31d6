/** What people are told of calls that wait for a yes. */
import { isMessengerType, channelName } from '../../channels/registry.ts';
import type { Approval, ApprovalState } from '../../domain/approval.ts';
import { channelTypeOf } from '../../domain/ids.ts';
import { plural } from '../../domain/plural.ts';
import type { Choice } from '../../domain/reply.ts';
import { outcomeWords, type ToolOutcome } from '../../domain/tool-use.ts';

/** Of longer arguments the beginning is shown: only the operator, who sees the whole, says yes. */
const argumentsCharactersMax = 1_000;
/** Of so many at most. */
const argumentsMax = 40;
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
  tooLong: (tool: string): string =>
    `${tool} is asked with more than can be shown here, so only the person who runs this ` +
    'service can approve it.',
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
export function describeFollowed({ state, tool }: Approval): string {
  return `(${state}: ${tool})`;
}

/** Whether a turn remembers that, and nothing that a person wrote. */
export function isFollowed(text: string): boolean {
  return followedShape.test(text);
}

const followedShape = /^\((?:approved|refused|expired): [\w.-]+\)$/;

/** Before an apology: the person knows what the yes came to, though no model tells it. */
export function describeOutcome({ tool }: Approval, outcome: ToolOutcome | null): string {
  return outcome === null ? `${tool} was not run.` : `${tool}: ${outcomeWords[outcome]}.`;
}

/**
 * The question where it was asked for.
 * @param here those who may decide are on this channel
 * @param elsewhere there are some on others
 */
export function describeQuestion(
  approvals: readonly Approval[],
  here: boolean,
  elsewhere: boolean,
): string {
  const [first] = approvals;
  if (first === undefined) return '';
  const isOne = approvals.length === 1;
  const isCode = isMessengerType(channelTypeOf(first.channel));
  const calls = approvals.map(
    (one, at) => `${isOne ? '' : `${at + 1}. `}${describeCall(one, isCode)}`,
  );
  return [
    isOne ? `I need a yes for: ${calls[0]!}` : ['I need a yes for each of:', ...calls].join('\n'),
    ...(here ? [`Who may decide writes ${describeCommands(approvals)}.`] : []),
    `${describeWho(here, elsewhere)} ${describeUntil(first)}`,
  ].join('\n');
}

/** The question in a chat of somebody who may decide: on a messenger, wherever it was asked. */
export function describeQuestionTo(approval: Approval): string {
  const { brain, sender, channel } = approval;
  const who = shown((sender.name ?? sender.id).slice(0, nameCharactersMax).toWellFormed());
  return [
    `${shown(brain)} needs a yes for: ${describeCall(approval, true)}`,
    `It was asked by \`${who}\` on ${channelName(channelTypeOf(channel))}.`,
    `Write ${describeCommands([approval])}. ${describeUntil(approval)}`,
  ].join('\n');
}

/** The same for `approval_text: "notice"`: without the tool and its arguments. */
export function describeNoticeTo(approval: Approval): string {
  return [
    `${shown(approval.brain)} needs a yes. What it asks for is not shown in this chat.`,
    'See it on the page Approvals (/ui) or with svc approvals show, and decide it there. ' +
      'Both show a code: with it /approve and /refuse work here, too.',
    describeUntil(approval),
  ].join('\n');
}

/** Whether the question shows all that is asked for: nobody approves what they did not see. */
export function isShownWhole({ arguments: text }: Pick<Approval, 'arguments'>): boolean {
  return shown(text).length <= argumentsCharactersMax;
}

/** For each call a press for either answer, as far as it may be given here. */
export function choicesOf(approvals: readonly Approval[]): readonly Choice[] {
  return approvals.flatMap((approval, at) => {
    const { code } = approval;
    const which = approvals.length === 1 ? '' : ` ${at + 1}`;
    const refuse = { label: `Refuse${which}`, says: `/refuse ${code}` };
    if (!isShownWhole(approval)) return [refuse];
    return [{ label: `Approve${which}`, says: `/approve ${code}` }, refuse];
  });
}

function describeCommands(approvals: readonly Approval[]): string {
  const each = approvals.map((approval) => {
    const refuse = `/refuse ${approval.code}`;
    return isShownWhole(approval) ? `/approve ${approval.code} or ${refuse}` : refuse;
  });
  return each.join('; ');
}

function describeWho(here: boolean, elsewhere: boolean): string {
  const others = elsewhere ? ' or somebody who was asked elsewhere' : '';
  return here
    ? `The person who runs this service${others} can decide, too.`
    : `The person who runs this service${others} can decide.`;
}

function describeUntil({ expiresAt }: Approval): string {
  const until = new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ');
  return `It waits until ${until} UTC.`;
}

/** @param isCode on messengers: in code nothing is read as markup */
function describeCall({ tool, arguments: text }: Approval, isCode: boolean): string {
  const { beginning, left } = beginningOf(text);
  const call = `${tool} ${beginning}`;
  const told = isCode ? `\`${call}\`` : call;
  const rest =
    `(${plural(left, 'character')} more: the person who runs this service can see them, and ` +
    'approve it)';
  return left === 0 ? told : `${told} ${rest}`;
}

/**
 * Each argument by itself, so that a long one hides no other: which of them comes first says
 * nothing of which matters.
 */
function beginningOf(text: string): { readonly beginning: string; readonly left: number } {
  const whole = shown(text);
  if (whole.length <= argumentsCharactersMax) return { beginning: whole, left: 0 };
  const given = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const each = Object.entries(given).map(([name, value]) =>
    shown(`${JSON.stringify(name)}:${JSON.stringify(value)}`),
  );
  const first = each.slice(0, argumentsMax);
  const most = fairShare(first.map(({ length }) => length));
  const parts = first.map((one) =>
    one.length <= most ? one : `${one.slice(0, most).toWellFormed()}…`,
  );
  if (first.length < each.length) parts.push('…');
  const seen = first.reduce((sum, { length }) => sum + Math.min(length, most), 0);
  const left = each.reduce((sum, { length }) => sum + length, 0) - seen;
  return { beginning: `{${parts.join(',')}}`, left };
}

/** How many characters of each there is room for, where the short ones leave theirs to others. */
function fairShare(lengths: readonly number[]): number {
  let room = argumentsCharactersMax;
  for (const [at, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(room / (lengths.length - at));
    if (length > share) return share;
    room -= length;
  }
  return argumentsCharactersMax;
}

/** What cannot be seen or turns others around, and every blank that is none of ASCII. */
const hidden =
  /(?! )[`\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{FFF9}-\u{FFFB}]/gu;

/** What could hide is written as its number. */
function shown(text: string): string {
  return text.replace(hidden, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
