/** How a person lays out a text, and how a value is written so that it fits in. */
import type { Json } from '../locate.ts';
import { isList, isObject } from '../json-value.ts';

export type Layout = {
  /** One step of indent; null: the whole text is one line, and stays one. */
  readonly unit: string | null;
  readonly lineEnd: string;
  readonly colon: string;
  readonly comma: string;
  /** Between a brace and what is inside, on one line. */
  readonly pad: string;
};

/** Columns that a value on one line may reach. */
const columns = 100;

export function layoutOf(text: string): Layout {
  const isTight = /"\s*:\S/.test(text) && !/"\s*:\s/.test(text);
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const isOneLine = !text.trim().includes('\n') && /[{[][^]*\S[^]*[}\]]/.test(text);
  return {
    unit: isOneLine ? null : (/\n([ \t]+)\S/.exec(text)?.[1] ?? '  '),
    lineEnd,
    colon: isTight ? ':' : ': ',
    comma: isTight ? ',' : ', ',
    pad: /\{"/.test(text) ? '' : ' ',
  };
}

/**
 * Writes a value.
 * @param indent of the line that it begins on; null: it stays on that line
 */
export function write(value: Json, indent: string | null, layout: Layout): string {
  const oneLine = writeInline(value, layout);
  if (indent === null || layout.unit === null || !isContainer(value)) return oneLine;
  if (isFlat(value) && indent.length + oneLine.length <= columns) return oneLine;
  const inner = indent + layout.unit;
  const entries = isList(value)
    ? value.map((entry) => write(entry, inner, layout))
    : Object.entries(value).map(
        ([key, entry]) => JSON.stringify(key) + layout.colon + write(entry, inner, layout),
      );
  const [open, close] = isList(value) ? '[]' : '{}';
  const { lineEnd } = layout;
  const lines = entries.map((entry) => lineEnd + inner + entry).join(',');
  return `${open}${lines}${lineEnd}${indent}${close}`;
}

function writeInline(value: Json, layout: Layout): string {
  if (isList(value)) {
    return `[${value.map((entry) => writeInline(entry, layout)).join(layout.comma)}]`;
  }
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, entry]) => JSON.stringify(key) + layout.colon + writeInline(entry, layout),
  );
  const pad = entries.length === 0 ? '' : layout.pad;
  return `{${pad}${entries.join(layout.comma)}${pad}}`;
}

function isContainer(value: Json): value is Extract<Json, object> {
  return typeof value === 'object' && value !== null;
}

/** Whether no entry of the value holds entries itself: then it reads well on one line. */
function isFlat(value: Extract<Json, object>): boolean {
  const entries: readonly Json[] = Object.values(value);
  return entries.every((entry) => !isContainer(entry) || Object.keys(entry).length === 0);
}
