/** The writes of spend, and how a reservation is decided within the transaction that writes it. */
import type { DatabaseSync } from 'node:sqlite';
import {
  decide,
  openedParts,
  placesOf,
  priceOf,
  type SpendChange,
  type SpendPlace,
  type SpendTotal,
} from '../../engine/spending.ts';
import type { Reserving } from '../../spend.ts';
import { statements, type AskedReservation } from './statements.ts';

type SpendValues = [
  calls: number,
  estimatedCalls: number,
  input: number,
  output: number,
  openInput: number,
  openOutput: number,
  channel: string,
  sender: string,
  day: string,
  brain: string,
  model: string,
  priceInput: string,
  priceOutput: string,
  costs: number,
];
export type SpendWrite = ['spent' | 'spendSettled', ...SpendValues];

export function spendValues(place: SpendPlace, change: SpendChange): SpendValues {
  const { calls, estimatedCalls, input, output, openInput, openOutput } = change;
  const { channel, sender, day, brain, model, priceInput, priceOutput, costs } = place;
  return [
    calls,
    estimatedCalls,
    input,
    output,
    openInput,
    openOutput,
    channel,
    sender,
    day,
    brain,
    model,
    priceInput,
    priceOutput,
    costs ? 1 : 0,
  ];
}

const totals =
  'SELECT price_input, price_output, sum(input + open_input) AS input, ' +
  'sum(output + open_output) AS output FROM spend ' +
  'WHERE channel = ? AND sender = ? AND day = ? AND brain = ? AND costs = 1 ' +
  'GROUP BY price_input, price_output';

/** @returns what decides, and writes what fits; within a transaction */
export function prepareReservations(db: DatabaseSync): (asked: AskedReservation) => Reserving {
  const reading = db.prepare(totals);
  const writing = db.prepare(statements.spent);
  const totalsOf = ({ channel, sender, day, brain }: SpendPlace): readonly SpendTotal[] =>
    reading.all(channel, sender, day, brain).map((row) => ({
      price: priceOf(String(row['price_input']), String(row['price_output'])),
      input: Number(row['input']),
      output: Number(row['output']),
    }));
  return ({ charged, most, limits }) => {
    const [all, own] = placesOf(charged);
    const ofSender = own === undefined ? [] : totalsOf(own);
    const reserving = decide(charged, most, limits, { all: totalsOf(all!), ofSender });
    if (reserving.kind === 'over') return reserving;
    for (const part of openedParts(charged, most)) {
      for (const place of placesOf(part.charged)) writing.run(...spendValues(place, part.change));
    }
    return reserving;
  };
}
