/** Six faults on each of five links; the documents show the matrix of the results. */
import assert from 'node:assert/strict';
import { networkFaults, type NetworkFault } from '../fake/fault-proxy.ts';
import { links, type Link } from './network-audit.ts';
import { runCell, type CellFound } from './network-cell.ts';
import { seeded, type Proof } from './proof.ts';

const linkNames = Object.keys(links) as readonly Link[];
/** Most cells wait for limits to pass. */
const atOnce = 6;

type Place = { readonly link: Link; readonly fault: NetworkFault };
export type Cell = Place & CellFound;

export const networkFaultsProof: Proof = {
  name: 'network-faults',
  title:
    'Six network faults on each of five links: every message with a 200 is answered once, in ' +
    'order, repeats are marked, no turn runs twice, nothing hangs or is left open',
  unit: 'messages a cell',
  sizes: { change: 16, nightly: 100 },
  async run(count, seed, say) {
    const places = chosen(count, seeded(seed));
    const cells: Cell[] = [];
    const failures: string[] = [];
    const work = places.entries();
    const workers = Array.from({ length: atOnce }, async () => {
      for (const [index, { link, fault }] of work) {
        const name = `${links[link]}, ${fault}`;
        try {
          const order = { link, fault, count, seed: seed + index };
          const found = await runCell({ ...order, isJudged: isLargest(count) });
          cells.push({ link, fault, ...found });
          say(`${name}: ${textOf(found)}, ${found.ms} ms`);
        } catch (error) {
          failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    });
    await Promise.all(workers);
    assert.deepEqual(failures, []);
    const sum = (of: (cell: Cell) => number): number => cells.reduce((all, c) => all + of(c), 0);
    const figures = {
      cells: cells.length,
      messages: count * cells.length,
      lost: 0,
      'spoiled exchanges': sum(({ spoiled }) => spoiled),
      'repeats, all marked': sum(({ repeats }) => repeats),
    };
    return { kind: 'proved', figures, ...(isLargest(count) && { table: matrixOf(cells) }) };
  },
};

const isLargest = (count: number): boolean => count > networkFaultsProof.sizes.change;

/** For a change one fault a link, nightly all. */
function chosen(count: number, random: () => number): readonly Place[] {
  const all = linkNames.map((link) => networkFaults.map((fault) => ({ link, fault })));
  if (isLargest(count)) return all.flat();
  return all.map((faults) => faults[Math.floor(random() * faults.length)]!);
}

/** A Markdown table: a row a fault, a column a link. It has no empty cell. */
export function matrixOf(cells: readonly Cell[]): string {
  const row = (texts: readonly string[]): string => `| ${texts.join(' | ')} |`;
  const rows = networkFaults.map((fault) => {
    const found = linkNames.map((link) => {
      const cell = cells.find((one) => one.link === link && one.fault === fault);
      assert.ok(cell !== undefined, `${links[link]}, ${fault} was not tried`);
      return `ok: ${textOf(cell)}`;
    });
    return row([fault, ...found]);
  });
  const head = ['', ...linkNames.map((link) => links[link])];
  return [row(head), row(head.map(() => '---')), ...rows].join('\n');
}

function textOf({ spoiled, repeats }: CellFound): string {
  return repeats === 0 ? `${spoiled} spoiled` : `${spoiled} spoiled, ${repeats} repeated`;
}
