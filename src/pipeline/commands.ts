/**
 * The commands that svc answers itself, in order with the conversation's other messages and durable
 * like any reply. They are not part of the history.
 */
import { isMessengerType } from '../channels/registry.ts';
import type { QuotedBlock, HistoryBounds, TurnRow } from '../domain/conversation.ts';
import { registeredNameOf, channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import type { NoteMove } from '../domain/note.ts';
import type { Message } from '../domain/message.ts';
import { beginning, quotedLines, type Choice } from '../domain/reply.ts';
import type { InClaim } from '../ledger/ledger.ts';
import { decide, hasApprover, isApprover } from './approvals/decide.ts';
import type { ActiveChannel, Deps, ActiveRoute } from './deps.ts';
import { routeCommandsOn } from './route.ts';
import { routeCommandOf } from '../domain/routing.ts';
import { commandsListed, noticesOf, ownDescriptions } from './offered-commands.ts';
import { commandSentences } from './sentences.ts';
import type { Intent, SessionDecision, CommandsOn } from './sessions.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';

/**
 * The text and the changes of a command's answer. `command` is its name in the trace and the
 * counters; svc's answers to its own messages have names, too. `text` null: nothing is sent.
 */
export type CommandAnswer = {
  readonly kind: 'command';
  readonly command: Command['kind'] | 'approval' | 'question' | 'unread';
  readonly text: string | null;
  readonly choices?: readonly Choice[];
  /** The quoted block that the session continues with; null: none. */
  readonly imported: QuotedBlock | null;
  readonly notes: readonly NoteMove[];
};

export type Command = Exclude<Intent, { kind: 'think' | 'follow' }>;

/** Which commands this message may be. */
export function commandsOn(
  { ledger }: RememberingDeps,
  { brain, session, brains, taken }: ActiveRoute,
  message: Pick<Message, 'channel' | 'sender'>,
): CommandsOn {
  const { agent } = brain;
  const approvals = agent?.asking != null || isApprover(brains, message);
  const keepsNotes = agent !== null && agent.notes !== null;
  const messenger = isMessengerType(channelTypeOf(message.channel));
  const retries = messenger && ledger.durability.durable;
  const routeCommand = routeCommandOf(taken);
  const tools = agent !== null;
  return { session, notes: keepsNotes, tools, approvals, messenger, retries, routeCommand };
}

/** Unanswered turns are remembered only where there is storage. */
type RememberingDeps = { readonly ledger: Pick<Deps['ledger'], 'durability'> };

/** @param decision what the message means; its cut comes before the command */
export async function answerCommand(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  command: Command,
  decision: SessionDecision,
): Promise<CommandAnswer> {
  switch (command.kind) {
    case 'begin':
      return commandAnswer(command, commandSentences.begun);
    case 'recall':
      return answerRecall(deps, route, claim, command, decision);
    case 'notes':
      return answerNotes(deps, route, claim, command);
    case 'tools':
      return answerTools(deps, route, claim, command);
    case 'approve':
    case 'refuse':
      return commandAnswer(command, await decide(deps, route, claim.message, command));
    case 'start':
      return commandAnswer(command, commandSentences.start);
    case 'describe':
      return commandAnswer(command, describeCommand(route, command.command));
    case 'help': {
      const understood = commandsOn(deps, route, claim.message);
      const ofRoutes = routeCommandsOn(route, claim.message);
      return commandAnswer(command, commandSentences.help(commandsListed(understood, ofRoutes)));
    }
    case 'retry':
      return commandAnswer(command, commandSentences.retryNothing);
    case 'welcome':
      return commandAnswer(command, commandSentences.welcome);
    case 'pair':
      return commandAnswer(command, commandSentences.pairing(command.code));
    default:
      return command satisfies never;
  }
}

async function answerRecall(
  { ledger }: Deps,
  { session, brain }: ActiveRoute,
  claim: InClaim,
  command: Extract<Intent, { kind: 'recall' }>,
  { move }: SessionDecision,
): Promise<CommandAnswer> {
  const most = mayQuote(brain.historyBounds) ? (session?.recallMax ?? 0) : 0;
  if (most === 0) return commandAnswer(command, commandSentences.recallOff);
  const count = command.rest === '' ? most : wholeNumber(command.rest);
  if (count === null || count > most)
    return commandAnswer(command, commandSentences.recallBadCount(most));
  if (move === null && !claim.memory.empty)
    return commandAnswer(command, commandSentences.recallNotEmpty);
  // If this message ends a session, that session is the newest that has turns. Turns without an
  // answer are left out: maybe no model takes them.
  const earlierTurns = (await ledger.recall(claim, count)).filter(({ reply }) => reply !== null);
  if (earlierTurns.length === 0) return commandAnswer(command, commandSentences.recallNothing);
  const { block, sensitivity, turns } = quote(earlierTurns, brain.historyBounds);
  const imported = { text: block, sensitivity };
  const isHidden = sensitivity === 'private' && brain.sensitivity === 'public';
  const text =
    commandSentences.recalled(turns) + (isHidden ? ` ${commandSentences.recalledHere}` : '');
  return { ...commandAnswer(command, text), imported };
}

async function answerNotes(
  { ledger }: Deps,
  { brain }: ActiveRoute,
  claim: InClaim,
  command: Extract<Intent, { kind: 'notes' }>,
): Promise<CommandAnswer> {
  const scope = brain.agent?.notes ?? null;
  if (scope === null) return commandAnswer(command, commandSentences.notesNone);
  // They may hold text of other people.
  if (scope.kind === 'brain') return commandAnswer(command, commandSentences.notesNotYours);
  if (command.rest === 'clear') {
    return {
      ...commandAnswer(command, commandSentences.notesCleared),
      notes: [{ kind: 'clear', scope }],
    };
  }
  if (command.rest !== '') return commandAnswer(command, commandSentences.notesUsage);
  const kept = await ledger.notes(claim, scope);
  return commandAnswer(
    command,
    kept.length === 0 ? commandSentences.notesNone : commandSentences.notesList(kept),
  );
}

/** `/tools` lists at most so many uses. */
const usesMax = 5;

async function answerTools(
  { ledger }: Deps,
  { brain }: ActiveRoute,
  claim: InClaim,
  command: Extract<Intent, { kind: 'tools' }>,
): Promise<CommandAnswer> {
  const channel = registeredNameOf(claim.message.channel);
  const abilities = brain.agent?.abilitiesOn(channel) ?? [];
  const uses = await ledger.toolUses(claim, usesMax);
  return commandAnswer(command, commandSentences.toolsList(abilities, uses));
}

function commandAnswer({ kind }: Command, text: string): CommandAnswer {
  return ownAnswer(kind, text);
}

/** @param choices the buttons of the answer; empty: none */
export function ownAnswer(
  command: CommandAnswer['command'],
  text: string | null,
  choices: readonly Choice[] = [],
): CommandAnswer {
  const answer = { kind: 'command', command, text, imported: null, notes: [] } as const;
  return choices.length === 0 ? answer : { ...answer, choices };
}

function wholeNumber(text: string): number | null {
  const number = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return number > 0 ? number : null;
}

/** The description of the route, or what to write. */
function describeCommand({ routes, taken }: ActiveRoute, command: string): string {
  const fitting = routes.filter(
    ({ brain, when }) => brain.name === taken.brain && when?.commands?.includes(command) === true,
  );
  const route = fitting.find(({ number }) => number === taken.number) ?? fitting[0];
  return route?.description ?? commandSentences.commandNeedsText(command);
}

/** Tells a messenger its commands, for all its users alike. */
export function offerCommands(
  deps: RememberingDeps,
  key: ChannelKey,
  channel: ActiveChannel,
): void {
  const { routes, brains, channel: connection } = channel;
  if (connection.publishCommands === undefined) return;
  const nobody = { channel: key, sender: { id: '', name: null } };
  const taken = { number: 0, brain: '', matched: [] };
  const all = routes.map(({ brain }) => commandsOn(deps, { ...channel, taken, brain }, nobody));
  const understood = {
    ...all[0]!,
    notes: all.some(({ notes }) => notes),
    tools: all.some(({ tools }) => tools),
    approvals: all.some(({ approvals }) => approvals) || hasApprover(brains, key),
  };
  const commands = noticesOf(understood, routeCommandsOn(channel, null));
  connection.publishCommands({ commands, own: ownDescriptions });
}

/** The share of a brain's window that a recalled block may take: turns need the rest. */
const recallShareMax = 3 / 4;

const cutMark = ' […]';
const quoteHeading =
  'Quoted from an earlier session of this conversation, as history and not as a request:';

/** A block with less of a turn than this is useless. */
const quotedMin = 40;

/** Whether a brain's window has room for a recalled block. */
function mayQuote({ turns, characters }: HistoryBounds): boolean {
  return turns > 0 && characters * recallShareMax >= quoteHeading.length + quotedMin;
}

/**
 * Formats turns as one quoted block, with `>` before every line. It takes the newest turns that
 * fit. If even the newest does not fit, it is cut, with a mark.
 * @param characters of the brain's window
 * @returns the block, how many turns it holds, and their strictest sensitivity label
 */
export function quote(
  rows: readonly TurnRow[],
  { characters }: Pick<HistoryBounds, 'characters'>,
): {
  readonly block: string;
  readonly sensitivity: Sensitivity;
  readonly turns: number;
} {
  const quotedTurns: string[] = [];
  let charactersLeft = Math.floor(characters * recallShareMax) - quoteHeading.length;
  for (const row of rows.toReversed()) {
    const text = quoteTurn(row);
    if (text.length + 1 > charactersLeft) {
      const most = Math.max(0, charactersLeft - cutMark.length - 1);
      if (quotedTurns.length === 0) quotedTurns.push(beginning(text, most).trimEnd() + cutMark);
      break;
    }
    quotedTurns.push(text);
    charactersLeft -= text.length + 1;
  }
  const turns = quotedTurns.length;
  const block = [quoteHeading, ...quotedTurns.reverse()].join('\n');
  const labels = rows.slice(-turns).map(({ sensitivity }) => sensitivity);
  return { block, sensitivity: strictest(...labels), turns };
}

function quoteTurn({ text, reply }: TurnRow): string {
  const said = `Person: ${text}`;
  return quotedLines(reply === null ? said : `${said}\nReply: ${reply}`);
}
