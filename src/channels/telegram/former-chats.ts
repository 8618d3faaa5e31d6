/**
 * The ids that groups had before they became supergroups, since routes may still name them.
 *
 * A group that becomes a supergroup gets a new id. A bot in it receives two service messages, also
 * in privacy mode: `migrate_to_chat_id` in the group, and `migrate_from_chat_id` in the supergroup
 * (https://core.telegram.org/bots/api#message). Their order is not fixed (TelegramBots/Telegram.Bot
 * #171), and the server skips messages that are a day old. Then only the refusal of a message to
 * the former id tells the new one
 * (https://core.telegram.org/bots/api#responseparameters, `migrate_to_chat_id`).
 *
 * A cursor of the channel keeps the pairs, so they outlive the process if the ledger has storage.
 */
import { listOf, parseJson } from '../../lib/json.ts';
import type { Cursor, Receive } from '../channel.ts';
import { setNewest } from '../../lib/cache.ts';

/** A group that became a supergroup. */
export type Migration = { readonly from: number; readonly to: number };

const cursorName = 'former_chats';
/** The oldest ones are forgotten. */
const pairsMax = 2_000;

export class FormerChats {
  /** The former id of each supergroup, the oldest pair first. */
  readonly #formerOf = new Map<number, number>();
  /** Where the pairs are stored; null: the channel does not run here. */
  #receive: Receive | null = null;
  #isStored = true;

  /** Reads the stored pairs. A pair that was learned meanwhile is stored with the next one. */
  async open(receive: Receive): Promise<void> {
    const learned = [...this.#formerOf];
    for (const pair of listOf(parseJson((await receive.cursor(cursorName)) ?? ''))) {
      const [to, from] = listOf(pair);
      if (typeof to === 'number' && typeof from === 'number')
        setNewest(this.#formerOf, to, from, pairsMax);
    }
    for (const [to, from] of learned) setNewest(this.#formerOf, to, from, pairsMax);
    this.#receive = receive;
  }

  close(): void {
    this.#receive = null;
  }

  /** The ids that a route may name beside the id of the chat. */
  aliasesOf(chat: number): { readonly chatAliases?: readonly string[] } {
    const former = this.#formerOf.get(chat);
    return former === undefined ? {} : { chatAliases: [String(former)] };
  }

  /** Learns a pair of an update. `unstored` has it for the commit of the update's batch. */
  learn({ from, to }: Migration): void {
    if (this.#formerOf.get(to) === from) return;
    setNewest(this.#formerOf, to, from, pairsMax);
    this.#isStored = false;
  }

  /** Learns a pair from the refusal of a message, and stores it at once. */
  learnNow(migration: Migration): void {
    this.learn(migration);
    const receive = this.#receive;
    const cursor = this.unstored;
    if (receive === null || cursor === undefined) return;
    // After a failure the next batch stores it.
    void receive([], cursor).then(
      ({ kind }) => kind === 'accepted' && this.stored(cursor),
      () => {},
    );
  }

  /** The cursor that stores all pairs; undefined: they are stored. */
  get unstored(): Cursor | undefined {
    if (this.#isStored) return undefined;
    return { name: cursorName, value: this.#text };
  }

  /** Call it when the ledger has the cursor. */
  stored(cursor: Cursor | undefined): void {
    if (cursor?.value === this.#text) this.#isStored = true;
  }

  get #text(): string {
    return JSON.stringify([...this.#formerOf]);
  }
}
