/**
 * Which brain answers a message. svc decides it when it accepts the message, and keeps the decision
 * with the message. A change of the routes moves no message that was accepted.
 */
import type { Receipt } from '../channels/channel.ts';
import { kindOf, kindTypeOf } from '../channels/registry.ts';
import type { ChannelKey } from '../domain/ids.ts';
import { apartMs, type Inbound, type Message, type PlatformTime } from '../domain/message.ts';
import {
  chooseRoute,
  leadingCommand,
  matchesOf,
  routeCommandOf,
  type RouteFacts,
  type RouteTaken,
} from '../domain/routing.ts';
import type { TurnRow } from '../domain/conversation.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { InClaim, Ledger } from '../ledger/ledger.ts';
import type { ActiveChannel, ActiveRoute, BrainRoute } from './deps.ts';
import { isPublicSince, publicSinceOf } from './public-since.ts';
import { setNewest } from '../lib/cache.ts';

type RoutedMessage = Pick<
  Message,
  'channel' | 'conversation' | 'sender' | 'text' | 'chatAliases' | 'route'
>;

/** The route that the message takes by the configuration in use. */
export function routeOf(channel: ActiveChannel, message: RoutedMessage): RouteTaken {
  const chosen = chooseRoute(channel.routes, () => factsOf(channel, message));
  if (chosen === null) throw new Error(`${channel.name} has no route for every other message`);
  const { route, matched } = chosen;
  return { number: route.number, brain: route.brain.name, matched };
}

/**
 * The channel with the brain of the message's route. A message from an older release, or one whose
 * brain is gone, takes a route now. Its label stays.
 */
export function activeRouteOf(channel: ActiveChannel, message: RoutedMessage): ActiveRoute {
  const kept = message.route;
  const isKept = kept !== undefined && channel.brains.has(kept.brain);
  const taken = isKept ? kept : routeOf(channel, message);
  return { ...channel, taken, brain: channel.brains.get(taken.brain)! };
}

/**
 * The route of the turn's own brain, whatever route the command has taken. The command's route if
 * nobody knows the brain any more, or it does not run.
 * @returns null: the storage cannot be read now
 */
export async function routeOfRepeated(
  ledger: Pick<Ledger, 'brainOfTurn'>,
  route: ActiveRoute,
  claim: InClaim,
  { at }: TurnRow,
): Promise<ActiveRoute | null> {
  let name: string | null;
  try {
    name = await ledger.brainOfTurn(claim, at);
  } catch {
    return null;
  }
  const brain = name === null ? undefined : route.brains.get(name);
  if (brain === undefined || brain.name === route.brain.name) return route;
  return { ...route, brain, taken: { number: 0, brain: brain.name, matched: [] } };
}

/** Private as soon as the brain of one route is private. */
export function strictestOf({ routes }: Pick<ActiveChannel, 'routes'>): Sensitivity {
  return strictest(...routes.map(({ brain }) => brain.sensitivity));
}

/** The trace step; none where every message of the channel takes the same route. */
export function traceRoute({ taken, routes }: ActiveRoute): readonly TraceStep[] {
  const { number, matched } = taken;
  const isChoice = routes.length > 1 || matched.length > 0;
  return isChoice && number > 0 ? [{ kind: 'route', number, matched }] : [];
}

/** A command of a route as a person writes it, and the text of its entry in the menu. */
export type RouteCommand = { readonly writes: string; readonly description: string };

/**
 * The commands of the channel's routes.
 * @param message leaves out the commands that its sender, chat or topic may not use; null: all
 */
export function routeCommandsOn(
  channel: Pick<ActiveChannel, 'routes' | 'session'>,
  message: RoutedMessage | null,
): readonly RouteCommand[] {
  const facts = message && factsOf(channel, message);
  const commands = new Map<string, string>();
  for (const { when, brain, description } of channel.routes) {
    if (when?.commands == null) continue;
    if (facts !== null && matchesOf({ ...when, commands: null }, facts) === null) continue;
    for (const writes of when.commands) {
      if (!commands.has(writes)) commands.set(writes, description ?? `Ask ${brain.name}`);
    }
  }
  return Array.from(commands, ([writes, description]) => ({ writes, description }));
}

function factsOf({ session }: Pick<ActiveChannel, 'session'>, message: RoutedMessage): RouteFacts {
  const { conversation, sender, text, chatAliases = [] } = message;
  const { chat, topic } = kindOf(kindTypeOf(message.channel)).placeOf(conversation);
  const command = leadingCommand(text, session?.triggers ?? [])?.command ?? null;
  return { sender: sender.id, chats: [chat, ...chatAliases], topic, command };
}

// The route of each message of a batch, and what it takes from messages before it.

/**
 * The parts of one message have times this close. A client sends them one after the other, the
 * comment before what it forwards (openclaw#9619), and a platform may date in whole seconds.
 */
const partMsMax = 2_000;
/**
 * Some clients cut a text that is longer than 4,096 characters. One for desktops looks for the best
 * place in the second half (tdesktop: `CutPart`), one for phones in the last 300 characters.
 */
const splitCharactersMin = 2_048;

/** Chooses the route of new messages by one revision of the configuration. */
export class Routing {
  readonly #channel: ActiveChannel;
  readonly #recent: RecentMessages;
  /** What every message takes; null: the channel has several routes. */
  readonly #only: RouteTaken | null;
  /** Whether a route names chats. */
  readonly asksForChats: boolean;

  constructor(channel: ActiveChannel, recent: RecentMessages) {
    const { routes } = channel;
    const [{ number, brain, when }] = routes as readonly [BrainRoute];
    this.#channel = channel;
    this.#recent = recent;
    const isOnly = routes.length === 1 && when === null;
    this.#only = isOnly ? { number, brain: brain.name, matched: [] } : null;
    this.asksForChats = routes.some((route) => route.when?.chats != null);
  }

  /** Whether the text begins with a command of a route that the message may take. */
  hasCommand(message: RoutedMessage): boolean {
    return this.#only === null && routeCommandOf(routeOf(this.#channel, message)) !== null;
  }

  /**
   * Gives each message its route, and the label of the route's brain unless the message has a
   * stricter one. An edit takes the route of its message.
   */
  route(batch: readonly Inbound[]): readonly Inbound[] {
    const routes = this.#only === null ? this.#routesOf(batch) : null;
    return batch.map((message, at) => {
      const route = routes?.[at] ?? this.#ownRoute(message);
      const label = this.#channel.brains.get(route.brain)!.sensitivity;
      return { ...message, route, sensitivity: strictest(label, message.sensitivity ?? label) };
    });
  }

  /** Call it with each message of `route` when the ledger has it. */
  accepted(routed: Inbound, { duplicate }: Receipt): void {
    // A duplicate is ignored: the original may have another route and label.
    if (!duplicate) this.#recent.remember(routed);
  }

  #routesOf(batch: readonly Inbound[]): readonly RouteTaken[] {
    const own = batch.map((message) => this.#ownRoute(message));
    const lastOfBatch = new Map<string, LastMessage>();
    return batch.map((message, at) => {
      const author = authorOf(message);
      const last = lastOfBatch.get(author) ?? this.#recent.lastOf(message);
      const inherited = last !== null && isPartOf(last, message) ? last.route : null;
      const ofAlbum = own.filter((_, other) => isOfAlbum(batch[other]!, message));
      const candidates = ofAlbum.length > 0 ? ofAlbum : [own[at]!];
      const route = routeOfParts(message, inherited, candidates);
      if (message.apart !== 'edit') {
        lastOfBatch.set(author, lastMessageOf(message, route));
      }
      return this.#channel.brains.has(route.brain) ? route : own[at]!;
    });
  }

  #ownRoute(message: Inbound): RouteTaken {
    const kept = message.route ?? this.#recent.routeOfEdited(message);
    return kept !== null && this.#channel.brains.has(kept.brain)
      ? kept
      : (this.#only ?? routeOf(this.#channel, message));
  }
}

/**
 * The route of the part with the command, else of the first part.
 * @param inherited the route of the message before it, whose part it is; null: it is no part
 * @param own the routes of its album in this batch, or its own route alone
 */
function routeOfParts(
  message: Inbound,
  inherited: RouteTaken | null,
  own: readonly RouteTaken[],
): RouteTaken {
  const command = own.find((route) => routeCommandOf(route) !== null);
  const first = inherited ?? own[0]!;
  if (command === undefined) return first;
  // What looks like the rest of a cut text may be a new command.
  const isPart = albumOf(message) !== null || isForwarded(message);
  return isPart && routeCommandOf(first) !== null ? first : command;
}

/**
 * Whether the message is a part of the one before it: of its album, forwarded behind its comment,
 * or the rest of a text that the client has cut.
 */
function isPartOf({ album, saidAt, characters }: LastMessage, message: Inbound): boolean {
  if (message.apart === 'edit') return false;
  if (album !== null && albumOf(message) === album) return true;
  if (saidAt === null || message.saidAt === undefined) return false;
  if (apartMs(saidAt, message.saidAt) > partMsMax) return false;
  return isForwarded(message) || (characters >= splitCharactersMin && message.media === null);
}

function isOfAlbum(one: Inbound, other: Inbound): boolean {
  const album = albumOf(one);
  return album !== null && album === albumOf(other) && authorOf(one) === authorOf(other);
}

function albumOf({ gather }: Pick<Inbound, 'gather'>): string | null {
  return gather?.kind === 'album' ? gather.key : null;
}

function isForwarded({ context }: Pick<Inbound, 'context'>): boolean {
  return context?.forwardedFrom !== undefined;
}

function authorOf({ channel, conversation, sender }: Omit<Inbound, 'gather'>): string {
  return `${channel} ${conversation} ${sender.id}`;
}

// What later messages take from messages that this process accepted.

/** More than the channels remember of the messages that a person may edit. */
const editableMax = 5_000;
const authorsMax = 5_000;

type Remembered = { readonly route: RouteTaken; readonly sensitivity: Sensitivity };

/**
 * `album` null: it is in no album. `saidAt` null: the platform does not tell. `characters`: of a
 * text that the author wrote.
 */
type LastMessage = {
  readonly route: RouteTaken;
  readonly album: string | null;
  readonly saidAt: PlatformTime | null;
  readonly characters: number;
};

/** It outlives every running configuration. */
export class RecentMessages {
  readonly #ledger: Pick<Ledger, 'cursor'>;
  /** By channel and key, the oldest first. */
  readonly #editable = new Map<string, Remembered>();
  /** The last message of each author in each conversation, the oldest first. */
  readonly #last = new Map<string, LastMessage>();

  constructor(ledger: Pick<Ledger, 'cursor'>) {
    this.#ledger = ledger;
  }

  /**
   * Labels each edit of the batch. An edit is public only if its message is known to be public:
   * this process accepted the message as public, or the channel was public when it was said.
   */
  async labelEdits(channel: ChannelKey, batch: readonly Inbound[]): Promise<readonly Inbound[]> {
    if (batch.every(({ edits }) => edits === undefined)) return batch;
    const since = await publicSinceOf(this.#ledger, channel);
    return batch.map((message): Inbound => {
      const { edits, saidAt } = message;
      if (edits === undefined) return message;
      const wasPublic = saidAt !== undefined && isPublicSince(since, saidAt.at);
      const isPublic = wasPublic || this.#edited(message)?.sensitivity === 'public';
      return { ...message, sensitivity: isPublic ? 'public' : 'private' };
    });
  }

  /** The route of the message that this one edits; null: it is no edit, or nobody knows. */
  routeOfEdited(message: Inbound): RouteTaken | null {
    return this.#edited(message)?.route ?? null;
  }

  #edited({ channel, edits }: Inbound): Remembered | null {
    return edits === undefined ? null : (this.#editable.get(keyOf(channel, edits)) ?? null);
  }

  /** The last message of the author in that conversation; null: none is remembered. */
  lastOf(message: Inbound): LastMessage | null {
    return this.#last.get(authorOf(message)) ?? null;
  }

  /** Only messengers have edits, and parts of a message. */
  remember(message: Inbound): void {
    const { channel, dedupeKey, edits, route, sensitivity, setting } = message;
    if (setting === undefined || route === undefined || sensitivity === undefined) return;
    if (edits !== undefined) return;
    setNewest(this.#last, authorOf(message), lastMessageOf(message, route), authorsMax);
    if (dedupeKey === null) return;
    setNewest(this.#editable, keyOf(channel, dedupeKey), { route, sensitivity }, editableMax);
  }
}

function lastMessageOf(message: Inbound, route: RouteTaken): LastMessage {
  const { saidAt = null, text } = message;
  const characters = isForwarded(message) ? 0 : text.length;
  return { route, album: albumOf(message), saidAt, characters };
}

function keyOf(channel: ChannelKey, key: string): string {
  return `${channel} ${key}`;
}
