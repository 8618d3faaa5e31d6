/**
 * `npm run differential`: HTTP of svc's own beside node:http and undici, with what is made at
 * random. Options: `--size n` (how many cases of each), `--seed n` (printed; the same cases again),
 * `--only client`. Ends with 1 where the two do not decide the same.
 */
import { parseArgs } from 'node:util';
import { differ as client } from './client.ts';

/** @returns the first few differences, each with the number of its case */
type Differ = (size: number, seed: number) => Promise<readonly string[]>;

const all: Readonly<Record<string, Differ>> = { client };

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', default: Object.keys(all).join(',') },
  },
});
const [size, seed] = [numberOf('size', values.size), numberOf('seed', values.seed)];

for (const name of values.only.split(',')) {
  const differ = all[name];
  if (differ === undefined) {
    throw new Error(`--only names "${name}"; there is ${Object.keys(all).join(', ')}.`);
  }
  const startedAt = performance.now();
  const differences = await differ(size, seed);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  for (const difference of differences) console.log(difference);
  const found = differences.length === 0 ? 'no difference' : 'they differ';
  console.log(`${name}: ${found} in ${size} cases, --seed ${seed}, ${seconds} s`);
  if (differences.length > 0) process.exitCode = 1;
}

function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0 && text !== '') return number;
  throw new Error(`--${option} is "${text}"; write a whole number.`);
}
