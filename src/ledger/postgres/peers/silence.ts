/**
 * Who has fallen silent. An instance is watched by the number of its last flight, which its beats
 * move, and by this machine's steady clock: what anybody sets the server's clock to kills nobody.
 */
import type { SteadyTime } from '../../../lib/clock.ts';
import type { Single } from '../write/writes.ts';

export type Seen = { readonly id: number; readonly grp: number };

type Watched = {
  readonly grp: number;
  /** For how long it was seen not to move. */
  readonly stillMs: number;
};

export class Silence {
  readonly #deadMs: number;
  #watched = new Map<number, Watched>();
  #lookedAt: SteadyTime | null = null;

  constructor(deadMs: number) {
    this.#deadMs = deadMs;
  }

  /**
   * To be called with what each landed beat has found. Who could not look for a while knows little
   * of that while, since the server may have been away for all: of the time between two looks a
   * third of what it takes to be dead counts at most, so that a server that is slow hides nobody;
   * and after two thirds of it the watch begins anew.
   * @param alive without this instance itself
   * @returns those that have not moved for as long as it takes to be dead
   */
  look(alive: readonly Seen[], at: SteadyTime): readonly Seen[] {
    const gapMs = at - (this.#lookedAt ?? at);
    const isNew = gapMs >= (2 * this.#deadMs) / 3;
    const countsMs = Math.min(gapMs, this.#deadMs / 3);
    this.#lookedAt = at;
    this.#watched = new Map(
      alive.map(({ id, grp }) => {
        const known = isNew ? undefined : this.#watched.get(id);
        return [id, { grp, stillMs: known?.grp === grp ? known.stillMs + countsMs : 0 }];
      }),
    );
    return alive.filter(({ id }) => this.#watched.get(id)!.stillMs >= this.#deadMs);
  }
}

/**
 * From then on they can write no more. One that has moved meanwhile lives; one whose flight is
 * under way just now is left for the next time, so that nobody waits for it.
 */
export function declareDead(silent: readonly Seen[]): Single {
  return {
    kind: 'single',
    text: `
UPDATE svc.instance SET dead = true WHERE id = ANY(ARRAY(
  SELECT was.id FROM json_to_recordset($1) AS x(id bigint, grp bigint)
  JOIN svc.instance AS was ON was.id = x.id AND was.grp = x.grp AND NOT was.dead
  FOR UPDATE OF was SKIP LOCKED
))`,
    values: [JSON.stringify(silent)],
  };
}
