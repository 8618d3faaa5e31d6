/**
 * Publishes the commands that a platform shows: those of the last offer, beside the commands of
 * others. It begins when the channel runs here. If the platform is away, the menu publishes when
 * the channel is up again. A failed try is repeated when the platform answers something, after
 * longer and longer pauses. A refused menu waits for the next offer.
 *
 * svc recognises its own commands by their descriptions. The commands of routes have descriptions
 * of the operator. So a cursor of the channel keeps these commands, from before svc publishes one
 * until the platform no longer has it. Platforms take descriptions of 1 to 256 characters
 * (https://core.telegram.org/bots/api#botcommand) or 1 to 100
 * (https://discord.com/developers/docs/interactions/application-commands).
 */
import { hourMs } from '../../lib/durations.ts';
import type { Events } from '../../domain/event.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import { listOf, parseJson } from '../../lib/json.ts';
import type { CommandNotice, OfferedCommands, Receive } from '../channel.ts';

/** `message`: what the platform refused, and what a person can do about it. */
export type MenuOutcome =
  | { readonly kind: 'there' }
  | { readonly kind: 'away'; readonly retryAfterMs: number | null }
  | { readonly kind: 'refused'; readonly message: string };

type MenuEntry = Pick<CommandNotice, 'word' | 'description'>;

/** The commands that a platform is to show, beside those of others. */
export type Menu = {
  readonly commands: readonly CommandNotice[];
  /** Whether a command of the platform is svc's, so that svc may change or remove it. */
  isOwn(shown: MenuEntry): boolean;
  /**
   * Call it before the first change, with all commands that svc will have on the platform.
   * @returns false: they could not be stored, so change nothing; the outcome is `away`
   */
  keep(ours: readonly MenuEntry[]): Promise<boolean>;
};

export type CommandMenuDeps = {
  /** Never rejects. */
  readonly publish: (menu: Menu, signal: AbortSignal) => Promise<MenuOutcome>;
  readonly events: Pick<Events, 'warned'>;
  readonly steady: () => SteadyTime;
};

/** The pause between two tries while the platform answers. */
const pause = { baseMs: 5_000, capMs: hourMs } as const;

export class CommandMenu {
  readonly #deps: CommandMenuDeps;
  readonly #ended = new AbortController();
  /** The commands that the platform has, as JSON; null: unknown. */
  #published: string | null = null;
  /** Null: the channel does not run here. */
  #kept: KeptCommands | null = null;
  #offered: OfferedCommands | null = null;
  #isPublishing = false;
  #failures = 0;
  #notBefore: SteadyTime;

  constructor(deps: CommandMenuDeps) {
    this.#deps = deps;
    this.#notBefore = deps.steady();
  }

  offer(offered: OfferedCommands): void {
    this.#offered = offered;
    this.#startPublishing();
  }

  /** The channel runs here from now on. */
  begin(receive: Receive): void {
    this.#kept = new KeptCommands(receive);
    this.#startPublishing();
  }

  /** The channel no longer runs here. */
  pause(): void {
    this.#kept = null;
  }

  /** The channel has come up. */
  up(): void {
    this.#failures = 0;
    this.#startPublishing();
  }

  /** The platform answered something. */
  platformAnswered(): void {
    if (this.#deps.steady() >= this.#notBefore) this.#startPublishing();
  }

  end(): void {
    this.#ended.abort();
  }

  #startPublishing(): void {
    if (this.#isPublishing || this.#offered === null || this.#kept === null) return;
    void this.#publish();
  }

  /** Publishes one offer at a time; an offer that arrives meanwhile follows it. */
  async #publish(): Promise<void> {
    const { signal } = this.#ended;
    this.#isPublishing = true;
    for (let next = this.#offered; next !== null && !signal.aborted;) {
      const text = JSON.stringify(next.commands);
      const outcome = text === this.#published ? there : await this.#try(next, signal);
      this.#published = outcome.kind === 'there' ? text : null;
      if (outcome.kind === 'refused') this.#refused(outcome.message);
      const isNewest = this.#offered === next;
      if (outcome.kind === 'away') this.#failed(outcome.retryAfterMs);
      else if (isNewest) this.#offered = null;
      next = isNewest ? null : this.#offered;
    }
    this.#isPublishing = false;
  }

  async #try({ commands, own }: OfferedCommands, signal: AbortSignal): Promise<MenuOutcome> {
    const kept = this.#kept;
    if (kept === null || !(await kept.load())) return away;
    // A command that is there word for word counts as svc's, even if svc has lost its storage.
    const wanted = new Set(commands.map(keyOf));
    let ours: readonly string[] | null = null;
    const menu: Menu = {
      commands,
      isOwn: (shown) => {
        const key = keyOf(shown);
        return own.has(shown.description) || wanted.has(key) || kept.keys.has(key);
      },
      keep: (entries) => {
        ours = entries.filter(({ description }) => !own.has(description)).map(keyOf);
        return kept.store([...kept.keys, ...ours]);
      },
    };
    const outcome = await this.#deps.publish(menu, signal);
    if (outcome.kind === 'there' && ours !== null) await kept.store(ours);
    return outcome;
  }

  #refused(message: string): void {
    this.#deps.events.warned({ code: 'commands_refused', message });
  }

  /**
   * A platform that names a time has a limit, and does not fail. Discord takes five new commands in
   * 20 s (MatteZ02/discord-interactions#21).
   */
  #failed(askedMs: number | null): void {
    const pauseMs = Math.min(pause.capMs, pause.baseMs * 2 ** this.#failures);
    if (askedMs === null) this.#failures++;
    this.#notBefore = later(this.#deps.steady(), Math.max(askedMs ?? 0, pauseMs));
  }
}

const there: MenuOutcome = { kind: 'there' };
const away: MenuOutcome = { kind: 'away', retryAfterMs: null };

const cursorName = 'commands';

/** The commands of routes that svc has on the platform, or may have. */
class KeptCommands {
  readonly #receive: Receive;
  #keys: ReadonlySet<string> | null = null;

  constructor(receive: Receive) {
    this.#receive = receive;
  }

  /** Call `load` first. */
  get keys(): ReadonlySet<string> {
    return this.#keys ?? new Set();
  }

  /** @returns false: the storage does not answer */
  async load(): Promise<boolean> {
    if (this.#keys !== null) return true;
    try {
      const stored = listOf(parseJson((await this.#receive.cursor(cursorName)) ?? ''));
      this.#keys = new Set(stored.filter((one) => typeof one === 'string'));
      return true;
    } catch {
      return false;
    }
  }

  /** @returns false: the storage refused */
  async store(keys: readonly string[]): Promise<boolean> {
    const next = new Set(keys);
    if (next.size === this.keys.size && next.isSubsetOf(this.keys)) return true;
    try {
      const cursor = { name: cursorName, value: JSON.stringify([...next]) };
      if ((await this.#receive([], cursor)).kind !== 'accepted') return false;
    } catch {
      return false;
    }
    this.#keys = next;
    return true;
  }
}

/** Platforms may change the white space of a description. */
function keyOf({ word, description }: MenuEntry): string {
  return `${word} ${description.trim().replace(/\s+/g, ' ')}`;
}
