/** The shared configuration in PostgreSQL. Who changes it holds a lock, one after the other. */
import type { Client } from 'pg';
import {
  ConfigsFailed,
  type ClosedWhy,
  type ConfigsSeen,
  type Decided,
  type KeptRow,
  type Proposal,
  type Proposed,
  type SharedConfig,
  type SharedConfigs,
  type VoteRefusal,
  type WrittenConfig,
} from '../../../cluster/shared-configs.ts';
import type { Ask } from '../read/ask.ts';
import { fromText } from '../server/text.ts';
import { behindIn, endOf, openIn } from './probe.ts';
import { insertConfig, listKept, newest, newestNumber } from './texts.ts';
import { Transactions, type TransactionLimits } from './transactions.ts';
import { count, settle } from './votes.ts';

export type ConfigsOptions = Partial<TransactionLimits> & {
  /** This instance's number. */
  readonly instance: number;
  /** Silence for so long counts as no. */
  readonly silentMs?: number;
};

const silentMsUsual = 10_000;
/** So much later than silence counts, who proposed counts as gone. */
const orphanMs = 5_000;
/** "svc1" in ASCII, and the configuration: the advisory lock of those who change it. */
const lock = 'SELECT pg_advisory_xact_lock(1937138481, 3)';

/** @param connect opens a connection; it is called when one is needed */
export function createPostgresConfigs(
  connect: () => Promise<Client>,
  options: ConfigsOptions,
): SharedConfigs & AsyncDisposable {
  return new PostgresConfigs(connect, options);
}

class PostgresConfigs implements SharedConfigs, AsyncDisposable {
  readonly instance: number;
  readonly #silentMs: number;
  readonly #transactions: Transactions;

  constructor(connect: () => Promise<Client>, options: ConfigsOptions) {
    this.instance = options.instance;
    this.#silentMs = options.silentMs ?? silentMsUsual;
    this.#transactions = new Transactions(connect, options);
  }

  begin(first: WrittenConfig): Promise<SharedConfig> {
    return this.#change(async (ask) => {
      await this.#fence(ask);
      if ((await newestNumber(ask)) === null) await insertConfig(ask, first);
      const current = (await newest(ask))!;
      if (current.revision === first.revision) await this.#set(ask, current.n);
      return current;
    });
  }

  async current(): Promise<SharedConfig> {
    const found = await this.#transactions.do(newest);
    if (found === null) throw new Error('no configuration is in use in the database');
    return found;
  }

  look(proposal: number | null): Promise<ConfigsSeen> {
    return this.#transactions.do(async (ask) => {
      // An end is read before what is in use: one that came into use is seen there, too.
      const end = proposal === null ? null : await endOf(ask, proposal);
      const open = await openIn(ask, this.#silentMs + orphanMs);
      return { end, open, ...(await behindIn(ask, this.instance)) };
    });
  }

  uses(n: number | null): Promise<void> {
    return this.#transactions.do((ask) => this.#set(ask, n));
  }

  propose(base: number, { revision, by, text }: WrittenConfig): Promise<Proposed> {
    return this.#change(async (ask): Promise<Proposed> => {
      if ((await newestNumber(ask)) !== base) return { kind: 'moved' };
      await this.#fence(ask);
      const [row] = await ask<{ n: number }>(
        'INSERT INTO svc.proposal (base, instance, revision, by, text) ' +
          'VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING n',
        base,
        this.instance,
        revision,
        by,
        text,
      );
      if (row === undefined) return { kind: 'busy' };
      await ask('INSERT INTO svc.vote (proposal, instance) VALUES ($1, $2)', row.n, this.instance);
      return { kind: 'proposed', n: row.n };
    });
  }

  proposal(n: number): Promise<Proposal | null> {
    return this.#transactions.do(async (ask) => {
      const [row] = await ask<Proposal>(
        'SELECT n, revision, by, text FROM svc.proposal WHERE n = $1',
        n,
      );
      return row === undefined ? null : { ...row, text: fromText(row.text) };
    });
  }

  vote(proposal: number, refusal: VoteRefusal | null): Promise<void> {
    return this.#transactions.do(async (ask) => {
      await this.#fence(ask);
      await ask(
        'INSERT INTO svc.vote (proposal, instance, refusal) VALUES ($1, $2, $3) ' +
          'ON CONFLICT DO NOTHING',
        proposal,
        this.instance,
        refusal === null ? null : JSON.stringify(refusal),
      );
    });
  }

  decide(proposal: number): Promise<Decided> {
    return this.#change(async (ask) => {
      const decided = await count(ask, proposal, this.#silentMs);
      if (decided.kind !== 'ripe') return decided;
      await this.#fence(ask);
      return settle(ask, proposal, decided.outcome);
    });
  }

  close(proposal: number, why: ClosedWhy): Promise<void> {
    return this.#change(async (ask) => {
      await this.#fence(ask);
      const closed = JSON.stringify({ kind: 'closed', why });
      await ask(
        'UPDATE svc.proposal SET outcome = $2 WHERE n = $1 AND outcome IS NULL',
        proposal,
        closed,
      );
    });
  }

  replace(written: WrittenConfig): Promise<string | null> {
    return this.#change(async (ask) => {
      await this.#fence(ask);
      const before = (await newest(ask))?.revision ?? null;
      if (before !== written.revision) await insertConfig(ask, written);
      return before;
    });
  }

  history(): Promise<readonly KeptRow[]> {
    return this.#transactions.do(listKept);
  }

  kept(revision: string): Promise<SharedConfig | null> {
    return this.#transactions.do((ask) => newest(ask, revision));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#transactions.close();
  }

  #change<T>(act: (ask: Ask) => Promise<T>): Promise<T> {
    return this.#transactions.do(async (ask) => {
      await ask(lock);
      return act(ask);
    });
  }

  async #set(ask: Ask, n: number | null): Promise<void> {
    const set = 'UPDATE svc.instance SET config = $2 WHERE id = $1 AND NOT dead RETURNING id';
    if ((await ask(set, this.instance, n)).length === 0) throw dead();
  }

  /** Holds up whoever would declare this instance dead until what it does here is done. */
  async #fence(ask: Ask): Promise<void> {
    const alive = 'SELECT id FROM svc.instance WHERE id = $1 AND NOT dead FOR SHARE';
    if ((await ask(alive, this.instance)).length === 0) throw dead();
  }
}

function dead(): ConfigsFailed {
  return new ConfigsFailed('dead', 'This svc counts as dead: another took its work over.');
}
