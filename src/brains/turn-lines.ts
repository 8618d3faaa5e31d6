/** The lines of a turn as a model sees them, and which models see its pictures. */
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
import { picturesOn, type RequestLine, type Vision } from './models/model.ts';
import type { Candidate } from './model-call.ts';

/** Changes the text of a line. `row`: the turn of the line; null: it has none in svc's memory. */
export type RewordLine = (line: HistoryLine, row: TurnRow | null) => Omit<HistoryLine, 'role'>;

/**
 * The lines of the history, then the newest message with its attachments and its quotation. The
 * lines that an API client brought along stand around the newest message.
 *
 * The next turn has the newest line in its history with the same bytes, so that a provider can use
 * its prompt cache. There are two exceptions. Later turns have only the beginning of a long file.
 * The line of a picture differs for a model that does not see the picture.
 * @param quoted the part of the quotation that the model may see
 * @param pictured the pictures of the history; null: the model sees only that there are some
 * @param reword absent: each line keeps its text
 */
export function linesOfTurn(
  turn: Pick<Turn, 'message' | 'text' | 'attachments' | 'given'>,
  history: readonly TurnRow[],
  pictured: EarlierPictures | null = null,
  quoted: QuotedBlock | null = null,
  reword?: RewordLine,
): readonly RequestLine[] {
  const { before: linesBefore = [], after: linesAfter = [] } = turn.given ?? {};
  const given = (line: RequestLine): RequestLine => givenLine(line, pictured !== null, reword);
  const before =
    pictured === null && reword === undefined
      ? linesOf(history)
      : history.flatMap((row) => linesWith(row, pictured, reword));
  const newest = newestLine(turn, pictured !== null, quoted);
  return [
    ...before,
    ...linesBefore.map(given),
    reword === undefined ? newest : { ...newest, ...reword(newest, null) },
    ...linesAfter.map(given),
  ];
}

/**
 * The index of the first line that no model may lose: the newest message. A client's calls and
 * their results stay, too, because a result without its call is refused.
 */
export function keptFromIn(turn: Pick<Turn, 'given'>, lines: readonly RequestLine[]): number {
  const newest = lines.length - 1 - (turn.given?.after.length ?? 0);
  const firstCall = lines.findIndex(({ role }) => role === 'calls' || role === 'result');
  return firstCall < 0 ? newest : Math.min(newest, firstCall);
}

/** The line has the form that it had as the newest one, so that prompt caches work. */
function givenLine(line: RequestLine, sees: boolean, reword: RewordLine | undefined): RequestLine {
  if (line.role === 'calls' || line.role === 'result') return line;
  const { pictures = [], ...plain } = line;
  const notices = pictures.map((picture) =>
    lineOfAttachment({ kind: 'picture', name: givenPictureName, picture }, sees),
  );
  const worded = notices.length === 0 ? plain : { ...plain, text: withLines(line.text, notices) };
  const changed = reword === undefined ? worded : { ...worded, ...reword(worded, null) };
  return sees && pictures.length > 0 ? { ...changed, pictures } : changed;
}

/** The completions API has no names of files. */
const givenPictureName = 'picture';

function newestLine(
  { message, text, attachments }: Pick<Turn, 'message' | 'text' | 'attachments'>,
  sees: boolean,
  quoted: QuotedBlock | null,
): HistoryLine {
  const textWithMedia =
    attachments === undefined
      ? withMediaLines(message, text)
      : withLines(
          text,
          attachments.map((one) => lineOfAttachment(one, sees)),
        );
  const line = {
    role: 'user',
    text: withQuote(withSpeaker(message, textWithMedia), quoted),
  } as const;
  const pictures = (attachments ?? []).flatMap((one) =>
    one.kind === 'picture' && sees ? [one.picture] : [],
  );
  return pictures.length === 0 ? line : { ...line, pictures };
}

function linesWith(
  row: TurnRow,
  pictured: EarlierPictures | null,
  reword: RewordLine | undefined,
): readonly HistoryLine[] {
  const pictures = pictured?.get(row);
  return linesOf([row]).map((line) => {
    const changed = reword === undefined ? line : { ...line, ...reword(line, row) };
    return pictures !== undefined && line.role === 'user' ? { ...changed, pictures } : changed;
  });
}

// A turn with pictures goes to the models with vision, if there are any.

/** The models that get pictures, each with the pictures of the history. */
export type VisionModels = ReadonlyMap<ModelName, EarlierPictures>;

export type VisionSelection = {
  /** The models that may be asked. */
  readonly members: readonly Candidate[];
  readonly visionModels: VisionModels;
};

const noModels: VisionModels = new Map();
const noPictures: EarlierPictures = new Map();

type Order = 'fanout' | 'sequential';

/**
 * Selects the models for a turn with pictures; returns no promise if there is no picture.
 * @param members the models that passed the privacy filter, in the order of the requests
 * @param sensitivity the turn's own; for a private turn only near addresses are asked about vision
 * @returns a decision if the message has only pictures, and no model sees pictures
 */
export function selectByVision(
  turn: Turn,
  members: readonly Candidate[],
  order: Order,
  sensitivity: Sensitivity,
  turnContext: TurnContext,
): VisionSelection | Promise<VisionSelection | Decision> {
  const hasPictures = turn.attachments?.some(({ kind }) => kind === 'picture') === true;
  const isPictured =
    turn.pictured !== undefined || turn.given?.before.some((line) => picturesOn(line).length > 0);
  if (!hasPictures && isPictured !== true) return { members, visionModels: noModels };
  return visionSelectionOf(turn, members, order, sensitivity, turnContext);
}

async function visionSelectionOf(
  turn: Turn,
  members: readonly Candidate[],
  order: Order,
  sensitivity: Sensitivity,
  turnContext: TurnContext,
): Promise<VisionSelection | Decision> {
  const askAboutVision = order === 'fanout' ? askAllAboutVision : askInOrderAboutVision;
  const sees = await unlessStopped(
    askAboutVision(members, sensitivity, turnContext),
    turnContext.stop,
  );
  // The turn was stopped, so no model is asked.
  if (sees === null) return { members, visionModels: noModels };
  const blind = members.filter((_, index) => sees[index] === false || sees[index] === 'unreached');
  const others = members.filter((one) => !blind.includes(one));
  const pictured = others.length === 0 ? undefined : await turn.pictured?.();
  const visionModels = new Map(others.map(({ model }) => [model.name, pictured ?? noPictures]));
  // For pictures of the history alone, models without vision answer, too: they see a notice.
  if (turn.attachments?.some(({ kind }) => kind === 'picture') !== true)
    return { members, visionModels };
  if (blind.length > 0) {
    const names = blind.map(({ model }) => model.name);
    turnContext.addStep({ kind: 'sight', blind: names, seeing: others.length });
  }
  if (others.length > 0) return { members: others, visionModels };
  // If vision is unknown, the failure of the model itself is more useful than an apology.
  if (sees.includes('unreached')) return { members, visionModels };
  if (turn.text.trim() === '' && turn.attachments?.every(({ kind }) => kind === 'picture')) {
    return { kind: 'apology', apology: 'unseen', why: 'none of its models sees pictures' };
  }
  return { members, visionModels };
}

type AskAboutVision = (
  members: readonly Candidate[],
  sensitivity: Sensitivity,
  turnContext: Pick<TurnContext, 'deadlineAt' | 'stop'>,
) => Promise<readonly Vision[]>;

const askAllAboutVision: AskAboutVision = (members, sensitivity, { deadlineAt }) =>
  Promise.all(members.map(({ model }) => model.sees(sensitivity, deadlineAt)));

/**
 * Asks up to the first model with vision. A later model is asked about vision only if the models
 * before it fail, and then by the model itself.
 */
const askInOrderAboutVision: AskAboutVision = async (
  members,
  sensitivity,
  { deadlineAt, stop },
) => {
  const answers: Vision[] = [];
  for (const { model } of members) {
    if (stop.stopped || answers.includes(true)) break;
    answers.push(await model.sees(sensitivity, deadlineAt));
  }
  return answers;
};
