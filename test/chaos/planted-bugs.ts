/** Bugs, each of which breaks one promise of the ledger. */
import type { Ledger } from '../../src/store/store.ts';
import type { Plant } from './ledger/worlds.ts';

export type PlantedBug = {
  readonly name: string;
  /** It shows only in a form that outlives its process. */
  readonly durable: boolean;
  /** Made anew for each walk: what it notes lives as long as the files. */
  readonly plant: () => Plant;
};

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a cursor moves though the batch was refused',
    durable: false,
    plant: () => (ledger) =>
      altered(ledger, {
        async accept(batch, cursor) {
          const acceptance = await ledger.accept(batch, cursor);
          if (acceptance.kind === 'refused') await ledger.accept([], cursor);
          return acceptance;
        },
      }),
  },
];

/** The ledger, some of whose methods are others. */
function altered(ledger: Ledger, other: Partial<Ledger>): Ledger {
  return new Proxy(ledger, {
    get(_, name) {
      const own: unknown = Reflect.get(other, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(ledger, name, ledger);
      return typeof value === 'function' ? value.bind(ledger) : value;
    },
  });
}
