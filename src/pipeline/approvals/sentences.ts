/** The sentences for people about calls that wait for approval. */
import { isMessengerType, channelName } from '../../channels/registry.ts';
import type { Approval, ApprovalState } from '../../domain/approval.ts';
import { channelTypeOf, registeredNameOf } from '../../domain/ids.ts';
import { plural } from '../../domain/plural.ts';
import type { Choice } from '../../domain/reply.ts';
import { outcomeWords, type ToolOutcome } from '../../domain/tool-use.ts';

/** Longer arguments are cut: then only the operator, who sees them whole, may approve. */
const argumentsCharactersMax = 1_000;
/** At most so many arguments are shown. */
const argumentsMax = 40;
const nameCharactersMax = 60;

/** One sentence for everybody who may not decide, and for codes that do not exist. */
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

/** svc's answer when the turn cannot continue with the call. */
export const followingSentences = {
  gone: 'Something waited for a yes here, but what it was is not kept any more. Nothing was run.',
  waits: ({ tool }: Approval): string => `${tool} still waits for a yes.`,
  settled: ({ tool }: Approval): string => `${tool} was decided and settled before.`,
  changed: ({ tool, state }: Approval): string =>
    `${tool} was ${state}, but it is not available here any more. Nothing was run.`,
} as const;

/** The text that the turn remembers in the place of a person's message. */
export function describeFollowed({ state, tool }: Approval): string {
  return `(${state}: ${tool})`;
}

/** Whether a remembered text was made by `describeFollowed`, not written by a person. */
export function isFollowUpText(text: string): boolean {
  return followedPattern.test(text);
}

const followedPattern = /^\((?:approved|refused|expired): [\w.-]+\)$/;

/** Stands before an apology: it says what happened to the call when no model can say so. */
export function describeOutcome({ tool }: Approval, outcome: ToolOutcome | null): string {
  return outcome === null ? `${tool} was not run.` : `${tool}: ${outcomeWords[outcome]}.`;
}

/**
 * The question, in the conversation that asks for the call.
 * @param here whether people on this channel may decide
 * @param elsewhere whether people on other channels may decide
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

/**
 * The question in a chat of a person who may decide: on a messenger, wherever the call was asked
 * for.
 */
export function describeQuestionTo(approval: Approval): string {
  const { brain, sender, channel } = approval;
  const who = escaped((sender.name ?? sender.id).slice(0, nameCharactersMax).toWellFormed());
  return [
    `${escaped(brain)} needs a yes for: ${describeCall(approval, true)}`,
    `It was asked by \`${who}\` on ${channelName(registeredNameOf(channel))}.`,
    `Write ${describeCommands([approval])}. ${describeUntil(approval)}`,
  ].join('\n');
}

/** The same for `approval_text: "notice"`: without the tool and its arguments. */
export function describeNoticeTo(approval: Approval): string {
  return [
    `${escaped(approval.brain)} needs a yes. What it asks for is not shown in this chat.`,
    'See it on the page Approvals (/ui) or with svc approvals show, and decide it there. ' +
      'Both show a code: with it /approve and /refuse work here, too.',
    describeUntil(approval),
  ].join('\n');
}

/** Whether the question shows the whole call: nobody approves a call that they did not see. */
export function isShownWhole({ arguments: text }: Pick<Approval, 'arguments'>): boolean {
  return escaped(text).length <= argumentsCharactersMax;
}

/** The buttons for each call, as far as its answers may be given here. */
export function choicesOf(approvals: readonly Approval[]): readonly Choice[] {
  return approvals.flatMap((approval, at) => {
    const { code } = approval;
    const suffix = approvals.length === 1 ? '' : ` ${at + 1}`;
    const refuse = { label: `Refuse${suffix}`, says: `/refuse ${code}` };
    if (!isShownWhole(approval)) return [refuse];
    return [{ label: `Approve${suffix}`, says: `/approve ${code}` }, refuse];
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

/** @param isCode set on messengers: inside code, platforms read no markup */
function describeCall({ tool, arguments: text }: Approval, isCode: boolean): string {
  const { beginning, left } = beginningOf(text);
  const call = `${tool} ${beginning}`;
  const shownCall = isCode ? `\`${call}\`` : call;
  const rest =
    `(${plural(left, 'character')} more: the person who runs this service can see them, and ` +
    'approve it)';
  return left === 0 ? shownCall : `${shownCall} ${rest}`;
}

/**
 * Cuts each argument by itself, so that a long one hides no other: the order of arguments says
 * nothing about their importance.
 */
function beginningOf(text: string): { readonly beginning: string; readonly left: number } {
  const whole = escaped(text);
  if (whole.length <= argumentsCharactersMax) return { beginning: whole, left: 0 };
  const args = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const each = Object.entries(args).map(([name, value]) =>
    escaped(`${JSON.stringify(name)}:${JSON.stringify(value)}`),
  );
  const first = each.slice(0, argumentsMax);
  const most = fairShareMax(first.map(({ length }) => length));
  const parts = first.map((one) =>
    one.length <= most ? one : `${one.slice(0, most).toWellFormed()}…`,
  );
  if (first.length < each.length) parts.push('…');
  const seen = first.reduce((sum, { length }) => sum + Math.min(length, most), 0);
  const left = each.reduce((sum, { length }) => sum + length, 0) - seen;
  return { beginning: `{${parts.join(',')}}`, left };
}

/** How many characters each argument may have, when short ones leave their room to the others. */
function fairShareMax(lengths: readonly number[]): number {
  let room = argumentsCharactersMax;
  for (const [at, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(room / (lengths.length - at));
    if (length > share) return share;
    room -= length;
  }
  return argumentsCharactersMax;
}

/** Invisible and direction-changing characters, and every blank that is not ASCII. */
const hidden =
  /(?! )[`\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{FFF9}-\u{FFFB}]/gu;

/** Writes each hidden character as its number. */
function escaped(text: string): string {
  return text.replace(hidden, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
