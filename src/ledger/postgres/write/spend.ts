/** What calls to models have used: those of one kind in a flight are one row of a set. */
import { placesOf, type SpendChange, type SpendPlace } from '../../engine/spending.ts';
import type { Charged } from '../../../domain/spend.ts';
import { toText } from '../server/text.ts';
import { asJson, type Step } from './writes.ts';

export type SpentWrite = {
  readonly kind: 'spent';
  /** The rows of an instance are changed by it alone. */
  readonly instance: number;
  readonly charged: Charged;
  readonly change: SpendChange;
  /** The rows are there since something was reserved; where they are not, they were forgotten. */
  readonly known: boolean;
};

const place = 'day, channel, sender, brain, model, "priceInput", "priceOutput", costs';
const key = 'day, channel, sender, brain, model, price_input, price_output, costs, instance';
const sums = 'calls, estimated_calls, input, output, open_input, open_output';
const columns =
  'channel text COLLATE "C", sender text COLLATE "C", day text COLLATE "C", ' +
  'brain text COLLATE "C", model text COLLATE "C", "priceInput" text COLLATE "C", ' +
  '"priceOutput" text COLLATE "C", costs boolean, calls bigint, ' +
  '"estimatedCalls" bigint, input bigint, output bigint, "openInput" bigint, "openOutput" bigint';

/**
 * Rows are locked in the order of their keys, here and wherever they are changed. One that is new
 * has given nothing back.
 */
const add = `
INSERT INTO svc.spend AS was (${key}, ${sums})
SELECT ${place}, $2::bigint, calls, "estimatedCalls", input, output, "openInput", "openOutput"
FROM json_to_recordset($1) AS x(${columns})
WHERE NOT $3::boolean OR EXISTS (SELECT 1 FROM svc.spend AS of WHERE of.channel = x.channel
  AND of.sender = x.sender AND of.day = x.day AND of.brain = x.brain AND of.model = x.model
  AND of.price_input = x."priceInput" AND of.price_output = x."priceOutput"
  AND of.costs = x.costs AND of.instance = $2::bigint)
ORDER BY ${place}
ON CONFLICT (${key}) DO UPDATE SET calls = was.calls + excluded.calls,
  estimated_calls = was.estimated_calls + excluded.estimated_calls,
  input = was.input + excluded.input, output = was.output + excluded.output,
  open_input = greatest(0, was.open_input + excluded.open_input),
  open_output = greatest(0, was.open_output + excluded.open_output)`;

type AddedRow = SpendPlace & SpendChange;

/** Of one instance. A statement changes a row once. */
export function spentSteps(writes: readonly SpentWrite[]): readonly Step[] {
  const kinds = [false, true].map((known) => writes.filter((write) => write.known === known));
  return kinds.flatMap(([first, ...others]) => (first === undefined ? [] : step(first, others)));
}

function step(first: SpentWrite, others: readonly SpentWrite[]): Step {
  const rows = new Map<string, AddedRow>();
  for (const { charged, change } of [first, ...others]) {
    for (const at of placesOf(charged)) {
      const stored = storedPlace(at);
      const id = Object.values(stored).join('\0');
      rows.set(id, addedRow(rows.get(id), { ...stored, ...change }));
    }
  }
  const values = [asJson([...rows.values()]), first.instance, first.known];
  return { statement: { text: add, values } };
}

export function storedPlace(at: SpendPlace): SpendPlace {
  const { sender, brain, model } = at;
  return { ...at, sender: toText(sender), brain: toText(brain), model: toText(model) };
}

function addedRow(was: AddedRow | undefined, row: AddedRow): AddedRow {
  if (was === undefined) return row;
  return {
    ...row,
    calls: was.calls + row.calls,
    estimatedCalls: was.estimatedCalls + row.estimatedCalls,
    input: was.input + row.input,
    output: was.output + row.output,
    openInput: was.openInput + row.openInput,
    openOutput: was.openOutput + row.openOutput,
  };
}
