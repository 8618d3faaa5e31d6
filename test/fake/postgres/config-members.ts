/** Several instances on one database in one process: their rows, and their broadcasts. */
import { Listeners } from '../../../src/cluster/alone.ts';
import {
  PostgresConfigs,
  type ConfigsOptions,
} from '../../../src/ledger/postgres/configs/shared-configs.ts';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import type { Peers, SharedConfigs } from '../../../src/cluster/backend.ts';
import { openDatabase, TestDatabase } from './database.ts';

export type Member = {
  readonly id: number;
  readonly configs: SharedConfigs & AsyncDisposable;
  /** Peers without leases. */
  readonly peers: Peers;
  /** While true, it receives no broadcast, and nobody receives its own. */
  deaf: boolean;
};

export class Instances extends TestDatabase {
  readonly #members: (Member & { readonly ears: Listeners })[] = [];

  static async open(): Promise<Instances> {
    return new Instances(await openDatabase());
  }

  /** @param host the host name that its process reports */
  async join(
    host: string,
    options: Omit<ConfigsOptions, 'instance'> & { readonly url?: string } = {},
  ): Promise<Member> {
    const { rows } = await this.client.query<{ id: number }>(
      'INSERT INTO svc.instance (version, process, beside) VALUES ($1, $2, true) RETURNING id',
      ['1.2.3', JSON.stringify({ host })],
    );
    const { id } = rows[0]!;
    const url = options.url ?? this.url;
    const configs = new PostgresConfigs(() => connect(url), { ...options, instance: id });
    this.own.use(configs);
    const ears = new Listeners();
    const member = { id, configs, ears, deaf: false, peers: this.#peersOf(id, ears) };
    this.#members.push(member);
    return member;
  }

  /** Declares it dead, as the others do. */
  async bury({ id }: Pick<Member, 'id'>): Promise<void> {
    await this.client.query('UPDATE svc.instance SET dead = true WHERE id = $1', [id]);
    const at = this.#members.findIndex((one) => one.id === id);
    if (at >= 0) this.#members.splice(at, 1);
  }

  #peersOf(id: number, ears: Listeners): Peers {
    const isDeaf = (): boolean => this.#members.find((one) => one.id === id)?.deaf ?? true;
    return {
      id,
      instances: () =>
        this.#members.map((one) => ({ id: one.id, version: '1.2.3', beganAt: 0, posts: [] })),
      async withLease(_post, run, until) {
        if (!until.aborted) await run(until);
      },
      holds: () => true,
      broadcast: async (kind, body) => {
        const heard = isDeaf() ? [] : this.#members.filter(({ deaf }) => !deaf);
        await Promise.all(heard.map((one) => one.ears.notify(kind, body)));
      },
      onBroadcast: (kind, hear) => ears.on(kind, hear),
      limitShare: () => this.#members.length,
      onChange: () => () => {},
    };
  }
}
