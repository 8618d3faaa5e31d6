/**
 * The shared configuration in PostgreSQL: proposals, votes, and the configurations that are or were
 * in use. A change runs under an advisory lock, so that changes come one after the other.
 */
import { fieldsOf, parseJson, type Fields } from '../../../lib/json.ts';
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
  type InstanceRefusal,
  type ProposalEnd,
  type NamedInstance,
  type OpenProposal,
} from '../../../cluster/backend.ts';
import { wireValue, type Ask } from '../read/lists.ts';
import { fromText } from '../server/text.ts';
import { OneAtATime } from '../../../lib/one-at-a-time.ts';
import { cut } from '../server/connect.ts';
import { codeOf, faultOf } from '../server/errors.ts';
import type { StoreProblem } from '../../ledger.ts';
import { onServer } from '../server/inspection.ts';

export type ConfigsOptions = Partial<TransactionLimits> & {
  /** This instance's number. */
  readonly instance: number;
  /** An instance that has not voted after this long counts as refusing. */
  readonly silentMs?: number;
};

const silentMsUsual = 10_000;
/** The proposer counts as gone this long after the votes are due. */
const orphanDelayMs = 5_000;
/** "svc1" in ASCII, and 3 for the configuration: the advisory lock of a change. */
const lock = 'SELECT pg_advisory_xact_lock(1937138481, 3)';

export class PostgresConfigs implements SharedConfigs, AsyncDisposable {
  readonly instance: number;
  readonly #silentMs: number;
  readonly #transactions: Transactions;

  /** @param connect opens a connection; called when one is needed */
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
      if (current.revision === first.revision) await this.#setConfig(ask, current.n);
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
      // Reads the outcome before the current configuration, so that a proposal that came into use
      // shows in both.
      const end = proposal === null ? null : await endOf(ask, proposal);
      const open = await openIn(ask, this.#silentMs + orphanDelayMs);
      return { end, open, ...(await behindIn(ask, this.instance)) };
    });
  }

  uses(n: number | null): Promise<void> {
    return this.#transactions.do((ask) => this.#setConfig(ask, n));
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
      const decided = await countVotes(ask, proposal, this.#silentMs);
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

  async #setConfig(ask: Ask, n: number | null): Promise<void> {
    const set = 'UPDATE svc.instance SET config = $2 WHERE id = $1 AND NOT dead RETURNING id';
    if ((await ask(set, this.instance, n)).length === 0) throw dead();
  }

  /** Locks this instance's row, so that nobody declares it dead before this transaction ends. */
  async #fence(ask: Ask): Promise<void> {
    const alive = 'SELECT id FROM svc.instance WHERE id = $1 AND NOT dead FOR SHARE';
    if ((await ask(alive, this.instance)).length === 0) throw dead();
  }
}

function dead(): ConfigsFailed {
  return new ConfigsFailed('dead', 'This svc counts as dead: another took its work over.');
}

type TransactionLimits = {
  /** How long a transaction may take, with the opening of the connection. */
  readonly withinMs: number;
};

const limitsUsual: TransactionLimits = { withinMs: 8_000 };
/** How long a server may take to end a connection in order. */
const endMs = 1_000;

/** These limits go before those of a role or a database, so that every wait ends. */
const beginStatement =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '5s'; " +
  "SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '3s'";

/**
 * The connection that reads and writes the shared configuration. It opens at first use, stays open,
 * and opens again when it is lost. It runs one short transaction at a time, so that a process that
 * stops in the middle holds up nobody for long.
 */
class Transactions {
  readonly #connect: () => Promise<Client>;
  readonly #limits: TransactionLimits;
  readonly #order = new OneAtATime();
  #client: Client | null = null;
  #closed = false;

  /** @param connect opens a connection, which this class ends */
  constructor(connect: () => Promise<Client>, limits: Partial<TransactionLimits> = {}) {
    this.#connect = connect;
    this.#limits = { ...limitsUsual, ...limits };
  }

  /**
   * Commits the writes of `act`, or none of them when it throws. When the answer to the commit is
   * lost, the commit may have happened all the same.
   * @param act may send statements without waiting; it runs once
   * @throws ConfigsFailed, or an error of `act` itself
   */
  do<T>(act: (ask: Ask) => Promise<T>): Promise<T> {
    return this.#order.do(async () => {
      if (this.#closed) throw serviceClosed();
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(away('it took too long')), this.#limits.withinMs);
      const done = this.#run(act);
      try {
        return await Promise.race([done, late.promise]);
      } catch (error) {
        if (error instanceof ConfigsFailed && error.reason === 'away') this.#drop();
        await done.catch(() => {});
        throw error;
      } finally {
        clearTimeout(timer);
      }
    });
  }

  /** Waits for the transaction that is under way. */
  async close(): Promise<void> {
    await this.#order.do(async () => {
      this.#closed = true;
      const client = this.#client;
      this.#client = null;
      if (client === null) return;
      const timer = setTimeout(() => cut(client), endMs);
      await client.end().catch(() => {});
      clearTimeout(timer);
    });
  }

  async #run<T>(act: (ask: Ask) => Promise<T>): Promise<T> {
    const client = await this.#begin();
    const ask: Ask = async (text, ...values) => {
      const { rows } = await client.query(text, values.map(wireValue));
      return rows as never;
    };
    try {
      const result = await act(ask);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      if (codeOf(error) === '' && faultOf(error) !== 'away') {
        await client.query('ROLLBACK').catch(() => {});
        throw error;
      }
      throw away(codeOf(error), error);
    }
  }

  /**
   * A connection that was lost while idle fails here, before the caller has sent anything; a new
   * one takes its place.
   */
  async #begin(): Promise<Client> {
    const open = this.#client;
    if (open !== null) {
      try {
        await open.query(beginStatement);
        return open;
      } catch {
        this.#drop();
      }
    }
    try {
      const client = await this.#connect();
      const lose = (): void => void (this.#client === client && (this.#client = null));
      client.on('error', lose);
      client.on('end', lose);
      this.#client = client;
      await client.query(beginStatement);
      return client;
    } catch (error) {
      throw away(codeOf(error), error);
    }
  }

  #drop(): void {
    if (this.#client !== null) cut(this.#client);
    this.#client = null;
  }
}

function away(why: string, cause?: unknown): ConfigsFailed {
  const because = why === '' ? '' : ` (${why})`;
  const message = `The database server does not answer as it should${because}.`;
  return Object.assign(new ConfigsFailed('away', message), cause === undefined ? {} : { cause });
}

function serviceClosed(): ConfigsFailed {
  return new ConfigsFailed('closed', 'The service is stopping.');
}

// Counting: the votes on a proposal, and its outcome.

/** The database has the last 20 proposals, for an instance that waits for the outcome of one. */
const proposalsKept = 20;

/** The proposal can be settled. */
type Ripe = { readonly kind: 'ripe'; readonly outcome: Outcome };
type Outcome = Exclude<ProposalEnd, { readonly kind: 'used' }> | { readonly kind: 'agreed' };

type VoterRow = {
  readonly id: number;
  readonly version: string;
  readonly process: string;
  readonly voted: boolean;
  readonly refusal: string | null;
};

/** @param silentMs after this long an instance that has not voted counts as refusing */
async function countVotes(ask: Ask, proposal: number, silentMs: number): Promise<Decided | Ripe> {
  const end = await endOf(ask, proposal);
  if (end !== null) return end;
  const [row] = await ask<{ base: number; late: boolean }>(
    "SELECT base, clock_timestamp() - at > $2 * interval '1 millisecond' AS late " +
      'FROM svc.proposal WHERE n = $1',
    proposal,
    silentMs,
  );
  if (row!.base !== (await newestNumber(ask))) {
    return { kind: 'ripe', outcome: { kind: 'closed', why: 'moved' } };
  }
  const voters = await ask<VoterRow>(
    'SELECT id, version, process, proposal IS NOT NULL AS voted, refusal FROM svc.instance ' +
      'LEFT JOIN svc.vote ON instance = id AND proposal = $1 ' +
      'WHERE NOT dead AND config IS NOT NULL ORDER BY id',
    proposal,
  );
  const refusals = voters.flatMap((voter) => refusalOf(voter) ?? []);
  const missing = voters.filter(({ voted }) => !voted).map(namedInstance);
  if (refusals.length > 0) return { kind: 'ripe', outcome: { kind: 'refused', refusals } };
  if (missing.length === 0) return { kind: 'ripe', outcome: { kind: 'agreed' } };
  if (!row!.late) return { kind: 'open', missing };
  const seconds = Math.round(silentMs / 1_000);
  const silent = missing.map((instance): InstanceRefusal => {
    return { instance, code: 'silent', detail: `It has not answered within ${seconds} s.` };
  });
  return { kind: 'ripe', outcome: { kind: 'refused', refusals: silent } };
}

/** Where all agreed, its text is the current configuration from the commit on. */
async function settle(ask: Ask, proposal: number, outcome: Outcome): Promise<ProposalEnd> {
  const end = outcome.kind === 'agreed' ? await putInUse(ask, proposal) : outcome;
  await ask('UPDATE svc.proposal SET outcome = $2 WHERE n = $1', proposal, JSON.stringify(end));
  await ask('DELETE FROM svc.vote WHERE proposal <= $1', proposal - proposalsKept);
  await ask('DELETE FROM svc.proposal WHERE n <= $1', proposal - proposalsKept);
  return end;
}

async function putInUse(ask: Ask, proposal: number): Promise<ProposalEnd> {
  const [row] = await ask<{ revision: string; by: string; text: string }>(
    'SELECT revision, by, text FROM svc.proposal WHERE n = $1',
    proposal,
  );
  const { revision, by, text } = row!;
  return { kind: 'used', n: await insertConfig(ask, { revision, by, text: fromText(text) }) };
}

function refusalOf({ refusal, ...voter }: VoterRow): InstanceRefusal | null {
  if (refusal === null) return null;
  return { instance: namedInstance(voter), ...readRefusal(fromText(refusal)) };
}

// Reading: the shared configuration of a database beside a svc that runs. This changes nothing.

export type ConfigWanted = {
  /** A revision that was in use; left out: the current one. */
  readonly revision?: string;
  /** Stops the reading. */
  readonly signal?: AbortSignal;
};

/** @returns null: there is none, or svc has made no tables there yet */
export function readConfigAt(
  url: string,
  { revision, signal }: ConfigWanted = {},
): Promise<SharedConfig | StoreProblem | null> {
  return readAt(url, (ask) => newest(ask, revision), signal);
}

/** Newest first, each revision once. @returns null as `readConfigAt` */
export function readHistoryAt(
  url: string,
  signal: AbortSignal,
): Promise<readonly KeptRow[] | StoreProblem | null> {
  return readAt(url, listKept, signal);
}

function readAt<T>(
  url: string,
  read: (ask: Ask) => Promise<T>,
  signal?: AbortSignal,
): Promise<T | StoreProblem | null> {
  const act = async (client: Client): Promise<T | null> => {
    const ask: Ask = async (text, ...values) => {
      return (await client.query(text, values.map(wireValue))).rows as never;
    };
    const [row] = await ask<{ made: boolean }>(
      "SELECT to_regclass('svc.config') IS NOT NULL AS made",
    );
    return row!.made ? read(ask) : null;
  };
  return onServer(url, act, signal);
}

// What `look` reads: the open proposal, its outcome, and the instances that are behind.

type InstanceRow = { readonly id: number; readonly version: string; readonly process: string };

/** @returns null: it is open */
async function endOf(ask: Ask, proposal: number): Promise<ProposalEnd | null> {
  const [row] = await ask<{ outcome: string | null }>(
    'SELECT outcome FROM svc.proposal WHERE n = $1',
    proposal,
  );
  // So many proposals came after it that it has been deleted.
  if (row === undefined) return { kind: 'closed', why: 'moved' };
  return row.outcome === null ? null : readEnd(fromText(row.outcome));
}

/** @param orphanMs after this long nobody decides it any more */
async function openIn(ask: Ask, orphanMs: number): Promise<OpenProposal | null> {
  const [row] = await ask<InstanceRow & { n: number; base: number; orphan: boolean }>(
    'SELECT n, base, instance AS id, coalesce(version, $2) AS version, ' +
      'coalesce(process, $2) AS process, coalesce(dead, true) OR ' +
      "clock_timestamp() - at > $1 * interval '1 millisecond' AS orphan FROM svc.proposal " +
      'LEFT JOIN svc.instance ON id = instance WHERE outcome IS NULL',
    orphanMs,
    '',
  );
  if (row === undefined) return null;
  return { n: row.n, base: row.base, by: namedInstance(row), isOrphan: row.orphan };
}

async function behindIn(
  ask: Ask,
  self: number,
): Promise<Pick<ConfigsSeen, 'current' | 'ageMs' | 'behind'>> {
  const current = (await newestNumber(ask)) ?? 0;
  const [age] = await ask<{ ms: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp() - at) * 1000)::bigint AS ms ' +
      'FROM svc.config WHERE n = $1',
    current,
  );
  const rows = await ask<InstanceRow>(
    'SELECT id, version, process FROM svc.instance ' +
      'WHERE NOT dead AND config < $1 AND id <> $2 ORDER BY id',
    current,
    self,
  );
  return { current, ageMs: age?.ms ?? 0, behind: rows.map(namedInstance) };
}

/** @param row its `process` is JSON that the instance wrote of itself */
function namedInstance({ id, version, process }: InstanceRow): NamedInstance {
  return { id, version, host: hostIn(process) };
}

function hostIn(process: string): string {
  try {
    const { host } = JSON.parse(process) as { readonly host?: unknown };
    return typeof host === 'string' ? host : '';
  } catch {
    return '';
  }
}

// The JSON of votes and outcomes. Another release may have written it. Fields that this release
// does not know are ignored. A refusal that cannot be read is still a refusal, and an outcome that
// cannot be read still ends the proposal. The current configuration does not come from here, but
// from `svc.config`.

const closedReasons: readonly ClosedWhy[] = ['moved', 'late', 'withdrawn'];

export function readRefusal(json: string): VoteRefusal {
  return refusalIn(fieldsOf(parseJson(json)));
}

export function readEnd(json: string): ProposalEnd {
  const { kind, n, refusals, why } = fieldsOf(parseJson(json));
  if (kind === 'used' && typeof n === 'number') return { kind, n };
  if (kind === 'refused' && Array.isArray(refusals)) {
    return { kind, refusals: refusals.map((one) => refusalOfRow(fieldsOf(one))) };
  }
  return { kind: 'closed', why: closedReasons.find((one) => one === why) ?? 'late' };
}

function refusalOfRow(fields: Fields): InstanceRefusal {
  const { id, host, version } = fieldsOf(fields['instance']);
  const instance: NamedInstance = {
    id: typeof id === 'number' ? id : 0,
    host: textOr(host, ''),
    version: textOr(version, ''),
  };
  return { instance, ...refusalIn(fields) };
}

function refusalIn({ code, detail }: Fields): VoteRefusal {
  return {
    code: textOr(code, 'unreadable'),
    detail: textOr(detail, 'It says why in words of another release; see its log.'),
  };
}

function textOr(value: unknown, other: string): string {
  return typeof value === 'string' ? value : other;
}

// The current and the former configurations, as rows.

const keptMax = 100;

/** @param revision reads the newest of that revision; left out: the current one */
async function newest(ask: Ask, revision?: string): Promise<SharedConfig | null> {
  const which = revision === undefined ? '' : 'WHERE revision = $1 ';
  const [row] = await ask<SharedConfig>(
    'SELECT n, revision, text, floor(extract(epoch FROM at) * 1000)::bigint AS at ' +
      `FROM svc.config ${which}ORDER BY n DESC LIMIT 1`,
    ...(revision === undefined ? [] : [revision]),
  );
  return row === undefined ? null : { ...row, text: fromText(row.text) };
}

async function newestNumber(ask: Ask): Promise<number | null> {
  const [row] = await ask<{ n: number }>('SELECT n FROM svc.config ORDER BY n DESC LIMIT 1');
  return row?.n ?? null;
}

/** Newest first, each revision once. */
function listKept(ask: Ask): Promise<readonly KeptRow[]> {
  return ask<KeptRow>(
    'SELECT n, revision, floor(extract(epoch FROM at) * 1000)::bigint AS at, ' +
      'octet_length(text) AS bytes FROM svc.config AS one WHERE NOT EXISTS (' +
      'SELECT FROM svc.config WHERE revision = one.revision AND n > one.n) ORDER BY n DESC',
  );
}

/** It is the current configuration from then on. @returns its number */
async function insertConfig(ask: Ask, written: WrittenConfig): Promise<number> {
  const { revision, by, text } = written;
  const [row] = await ask<{ n: number }>(
    'INSERT INTO svc.config (revision, by, text) VALUES ($1, $2, $3) RETURNING n',
    revision,
    by,
    text,
  );
  await ask(
    'DELETE FROM svc.config WHERE n < (SELECT min(n) FROM (' +
      `SELECT n FROM svc.config ORDER BY n DESC LIMIT ${keptMax}) AS kept)`,
  );
  return row!.n;
}
