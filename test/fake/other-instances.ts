/** Several worlds of the admin server, as instances on one ledger that see each other. */
import type { KeptRows, LivingInstance } from '../../src/admin/reports/instances.ts';
import { reportOf, describeReport, type Report } from '../../src/admin/reports/report.ts';
import { makeWorld, type World } from './admin-world.ts';

export type OtherInstance = World & {
  readonly id: number;
  /** The age of its last report; null: it sent none. */
  ageMs: number | null;
  posts: readonly string[];
  beganAt: number;
  /** Changes the instance's report. */
  change: (told: Report) => unknown;
};

export const placeOf = (id: number) => ({ host: `host-${id}`, admin: `10.0.0.${id}:2112` });

/** Worlds with these numbers; the test asks the first. `rows`: the rows in their storage. */
export function makeInstances(ids: readonly number[], rows: readonly KeptRows[] | null = null) {
  const all = ids.map((id) => makeInstance(id));
  const living = (): LivingInstance[] =>
    all.map(({ id, ageMs, posts, beganAt, ports, change }) => {
      const own = JSON.parse(describeReport(reportOf(ports, placeOf(id)))) as Report;
      const report = JSON.stringify(change(own));
      const lastReport = ageMs === null ? null : { ageMs, report };
      return { id, version: `1.2.${id}`, beganAt, posts, lastReport };
    });
  for (const one of all) {
    const seen = async () => ({ living: living(), rows, rowsAgeMs: 0 });
    one.ports = {
      ...one.ports,
      instances: { own: one.id, place: () => placeOf(one.id), reports: seen },
    };
  }
  return all;
}

function makeInstance(id: number): OtherInstance {
  const more = { id, ageMs: 400, posts: [], beganAt: 900_000, change: (told: Report) => told };
  return Object.assign(makeWorld(), more);
}
