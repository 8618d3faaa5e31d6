/** Asking the server within the one transaction of a read. */
import { fromText, toText } from '../server/text.ts';

export type Value = number | string | null | readonly string[];

/**
 * Runs a statement; `$1` and so on stand for the values. Texts among these are escaped on their
 * way, as plain columns are.
 */
export type Ask = <Row>(text: string, ...values: readonly Value[]) => Promise<readonly Row[]>;

/** What the client is given for a value. */
export function wireValue(value: Value): unknown {
  if (typeof value === 'string') return toText(value);
  return typeof value === 'object' && value !== null ? value.map(toText) : value;
}

/** The values of one statement, gathered as its text is put together. */
export class Values {
  readonly list: Value[] = [];

  /** @returns what stands for it in the text */
  put(value: Value): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/** A bigint column as a number of ours. */
export function num(column: string, name: string): string {
  return `${column}::bigint AS "${name}"`;
}

/** A whole number that a bigint holds, of what may be any number. */
export function whole(value: number): number {
  const most = Number.MAX_SAFE_INTEGER;
  return Math.min(most, Math.max(-most, Math.ceil(value)));
}

/** The row with its channel and its conversation as they were before they were escaped. */
export function placed<Row extends { readonly channel: string; readonly conversation: string }>(
  row: Row,
): Row {
  return { ...row, conversation: fromText(row.conversation) };
}
