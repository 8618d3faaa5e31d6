/** The rows of several svc on one database, read on a connection of its own. */
import type { Client } from 'pg';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { faultOf } from '../../../src/ledger/postgres/server/errors.ts';
import type { Left } from '../audit.ts';
import { until } from '../../support/waiting.ts';

/** A conversation's unsettled rows in one of the boxes. */
type Unsettled = {
  readonly owner: number | null;
  readonly isAlive: boolean;
  readonly waits: number;
  readonly isHeld: boolean;
  /** Time until the first of its replies is due; null: none waits for its time. */
  readonly dueInMs: number | null;
};

const posts = 'SELECT name, owner FROM svc.post';
const now = 'extract(epoch FROM clock_timestamp()) * 1000';
const ofQueue = 'channel = lane.channel AND conversation = lane.conversation';
const box = (table: string, tried: string, due: string): string => `
SELECT '${table}' AS box, channel, conversation, count(*) AS rows, owner, waits,
  ${tried}, (min(${due}) - ${now})::bigint AS "dueInMs",
  EXISTS (SELECT FROM svc.instance WHERE id = lane.owner AND NOT dead) AS "isAlive",
  EXISTS (SELECT FROM svc.hold WHERE ${ofQueue} AND until_at > ${now}) AS "isHeld"
FROM svc.${table} LEFT JOIN svc.lane AS lane USING (channel, conversation)
GROUP BY channel, conversation, lane.channel, lane.conversation, owner, waits`;
const unsettled = `
${box('inbox', 'max(attempts) AS attempts, max(alone) AS alone', 'NULL::bigint')}
UNION ALL ${box('outbox', 'max(attempts), NULL', 'due_at')}`;

function waitsFor({ owner, isAlive, waits, isHeld, dueInMs }: Unsettled): string {
  if (isHeld) return 'its operator';
  if (dueInMs !== null && dueInMs > 0) return 'its time';
  if (owner !== null) return isAlive ? `instance ${owner}` : `the burial of instance ${owner}`;
  if (waits >= 3) return 'who tries suspects';
  return waits === 2 ? 'who has room for it' : 'who finds what is lost';
}

export class Rows {
  readonly #url: () => string;

  /** @param url of the database, on the servers of that moment */
  constructor(url: () => string) {
    this.#url = url;
  }

  /** The number of this process's start; null: it has none yet. */
  async instanceOf(pid: number): Promise<number | null> {
    const rows = await this.#ask<{ id: number }>(
      "SELECT id FROM svc.instance WHERE (process::json->>'pid')::integer = $1 " +
        'ORDER BY id DESC LIMIT 1',
      [pid],
    );
    return rows[0]?.id ?? null;
  }

  async isDead(instance: number): Promise<boolean> {
    const rows = await this.#ask<{ dead: boolean }>('SELECT dead FROM svc.instance WHERE id = $1', [
      instance,
    ]);
    return rows[0]?.dead ?? true;
  }

  /** Whether a message must run alone, because a process died during its run. */
  async ranAlone(): Promise<boolean> {
    return (await this.#count('SELECT count(*) AS n FROM svc.inbox WHERE alone > 0')) > 0;
  }

  /** Brings the deadline of every waiting call closer by this time. */
  async hurryApprovals(ms: number): Promise<void> {
    const text = "UPDATE svc.approval SET expires_at = expires_at - $1 WHERE state = 'waiting'";
    await this.#ask(text, [ms]);
  }

  /** Conversations that an instance works, with the number of unanswered messages in each. */
  async queuesOf(instance: number): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#ask<{ conversation: string; n: number }>(
      'SELECT conversation, count(*) AS n FROM svc.lane ' +
        'JOIN svc.inbox USING (channel, conversation) WHERE owner = $1 GROUP BY conversation',
      [instance],
    );
    return new Map(rows.map(({ conversation, n }) => [conversation, n]));
  }

  async left(): Promise<Left> {
    const count = (table: string, which: string): Promise<number> =>
      this.#count(`SELECT count(*) AS n FROM svc.${table} WHERE ${which}`);
    const dead = 'failure IS NOT NULL';
    return {
      buried: (await count('message', dead)) + (await count('sent', dead)),
      unsettled: (await count('inbox', 'true')) + (await count('outbox', 'true')),
    };
  }

  /** Every unsettled conversation's wait, and the owners, for the report of a failure. */
  async told(): Promise<string> {
    const queues = (await this.#ask<Unsettled>(unsettled)).map((queue) => {
      return { ...queue, waitsFor: waitsFor(queue) };
    });
    const instances = 'SELECT id, dead, buried, ended FROM svc.instance ORDER BY id DESC LIMIT 12';
    const others = [...(await this.#ask(instances)), ...(await this.#ask(posts))];
    return [...queues, ...others].map((row) => JSON.stringify(row)).join('\n');
  }

  /** The instance that holds a lease. */
  async holderOf(post: string): Promise<number | null> {
    const text = 'SELECT owner FROM svc.post WHERE name = $1';
    return (await this.#ask<{ owner: number | null }>(text, [post]))[0]?.owner ?? null;
  }

  /** Leases with a holder. */
  async posts(): Promise<readonly string[]> {
    const text = 'SELECT name FROM svc.post WHERE owner IS NOT NULL ORDER BY name';
    return (await this.#ask<{ name: string }>(text)).map(({ name }) => name);
  }

  async #count(text: string): Promise<number> {
    return (await this.#ask<{ n: number }>(text))[0]!.n;
  }

  /** Waits while the server is away. */
  #ask<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return until(`an answer to ${text}`, async () => {
      try {
        return await this.#askOnce<Row>(text, values);
      } catch (error) {
        if (faultOf(error) !== 'away') throw error;
        return null;
      }
    });
  }

  async #askOnce<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client: Client = await connect(this.#url());
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }
}
