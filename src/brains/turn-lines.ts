import {
  linesOf,
  type HistoryLine,
  type QuotedBlock,
  type TurnRow,
} from '../domain/conversation.ts';
import {
  lineOfAttachment,
  withLines,
  withMediaLines,
  withSpeaker,
  withQuote,
} from '../domain/surroundings.ts';
import type { EarlierPictures, Turn, TurnContext } from './brain.ts';
import type { Decision } from '../domain/decision.ts';
import type { ModelName } from '../domain/ids.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import { unlessStopped } from '../lib/stop.ts';
import type { Sees } from './models/model.ts';
import type { Candidate } from './model-call.ts';

/** A line as the model is shown it. `row`: whose line it is; null: the newest one. */
export type Reworded = (line: HistoryLine, row: TurnRow | null) => Omit<HistoryLine, 'role'>;

/**
 * The history, and last what the person said, with what came with it below, and what it replies to.
 * The newest line is byte for byte what the next turn has of it in its history, so that a provider
 * need not read all before it again. Two lines differ: that of a long file, of which later turns
 * have the beginning, and that of a picture that the model is not shown.
 * @param quoted as far as the model may be shown it
 * @param pictured of the history; null: the model sees none, and is told that there are some
 * @param reworded absent: each line has its own text
 */
export function linesOfTurn(
  turn: Pick<Turn, 'message' | 'text' | 'attachments'>,
  history: readonly TurnRow[],
  pictured: EarlierPictures | null = null,
  quoted: QuotedBlock | null = null,
  reworded?: Reworded,
): readonly HistoryLine[] {
  const before =
    pictured === null && reworded === undefined
      ? linesOf(history)
      : history.flatMap((row) => linesWith(row, pictured, reworded));
  const newest = newestLine(turn, pictured !== null, quoted);
  return [...before, reworded === undefined ? newest : { ...newest, ...reworded(newest, null) }];
}

function newestLine(
  { message, text, attachments }: Pick<Turn, 'message' | 'text' | 'attachments'>,
  sees: boolean,
  quoted: QuotedBlock | null,
): HistoryLine {
  const said =
    attachments === undefined
      ? withMediaLines(message, text)
      : withLines(
          text,
          attachments.map((one) => lineOfAttachment(one, sees)),
        );
  const line = { role: 'user', text: withQuote(withSpeaker(message, said), quoted) } as const;
  const pictures = (attachments ?? []).flatMap((one) =>
    one.kind === 'picture' && sees ? [one.picture] : [],
  );
  return pictures.length === 0 ? line : { ...line, pictures };
}

function linesWith(
  row: TurnRow,
  pictured: EarlierPictures | null,
  reworded: Reworded | undefined,
): readonly HistoryLine[] {
  const pictures = pictured?.get(row);
  return linesOf([row]).map((line) => {
    const told = reworded === undefined ? line : { ...line, ...reworded(line, row) };
    return pictures !== undefined && line.role === 'user' ? { ...told, pictures } : told;
  });
}

// Which models a turn with pictures is for: those that see, where there are any.

/** Who is shown pictures if they see, and which of those of the history. */
export type Seers = ReadonlyMap<ModelName, EarlierPictures>;

export type Sighted = {
  /** Who may be asked. */
  readonly members: readonly Candidate[];
  readonly seers: Seers;
};

const nobody: Seers = new Map();
const noPictures: EarlierPictures = new Map();

/** Who is asked for a reply: all at once, or one after the other as long as one fails. */
type Order = 'fanout' | 'sequential';

/**
 * At once where there is no picture.
 * @param members whom the shield lets be asked, in the order in which they are
 * @param sensitivity of the turn: a private one is told to near providers alone
 * @returns a decision where there is nothing but pictures, and nobody sees them
 */
export function sighted(
  turn: Turn,
  members: readonly Candidate[],
  order: Order,
  sensitivity: Sensitivity,
  turnContext: TurnContext,
): Sighted | Promise<Sighted | Decision> {
  const hasPictures = turn.attachments?.some(({ kind }) => kind === 'picture') === true;
  if (!hasPictures && turn.pictured === undefined) return { members, seers: nobody };
  return whoSees(turn, members, order, sensitivity, turnContext);
}

async function whoSees(
  turn: Turn,
  members: readonly Candidate[],
  order: Order,
  sensitivity: Sensitivity,
  turnContext: TurnContext,
): Promise<Sighted | Decision> {
  const asking = order === 'fanout' ? askAll : askInOrder;
  const sees = await unlessStopped(asking(members, sensitivity, turnContext), turnContext.stop);
  // Of a turn that is given up nobody is asked anything.
  if (sees === null) return { members, seers: nobody };
  const blind = members.filter((_, index) => sees[index] === false || sees[index] === 'unreached');
  const others = members.filter((one) => !blind.includes(one));
  const pictured = others.length === 0 ? undefined : await turn.pictured?.();
  const seers = new Map(others.map(({ model }) => [model.name, pictured ?? noPictures]));
  // Those who do not see are told that there was a picture, and answer as before.
  if (turn.attachments?.some(({ kind }) => kind === 'picture') !== true) return { members, seers };
  if (blind.length > 0) {
    const names = blind.map(({ model }) => model.name);
    turnContext.addStep({ kind: 'sight', blind: names, seeing: others.length });
  }
  if (others.length > 0) return { members: others, seers };
  // Where nobody knows, the failure of the model itself says what is wrong.
  if (sees.includes('unreached')) return { members, seers };
  if (turn.text.trim() === '' && turn.attachments?.every(({ kind }) => kind === 'picture')) {
    return { kind: 'apology', apology: 'unseen', why: 'none of its models sees pictures' };
  }
  return { members, seers };
}

type Ask = (
  members: readonly Candidate[],
  sensitivity: Sensitivity,
  turnContext: Pick<TurnContext, 'deadlineAt' | 'stop'>,
) => Promise<readonly Sees[]>;

const askAll: Ask = (members, sensitivity, { deadlineAt }) =>
  Promise.all(members.map(({ model }) => model.sees(sensitivity, deadlineAt)));

/**
 * Up to the first that sees: the provider of one behind it is asked nothing before that one failed,
 * and then by the model itself.
 */
const askInOrder: Ask = async (members, sensitivity, { deadlineAt, stop }) => {
  const told: Sees[] = [];
  for (const { model } of members) {
    if (stop.stopped || told.includes(true)) break;
    told.push(await model.sees(sensitivity, deadlineAt));
  }
  return told;
};
