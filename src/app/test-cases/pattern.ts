/**
 * A pattern that an operator wrote, held against a text that a model wrote. A regular expression of
 * JavaScript may take for ever over a text that is made for it, and nothing else of the process
 * runs meanwhile: so it is given a time, after which the engine itself gives up.
 */
import type { Match } from './expectation.ts';

export const matchedCharactersMax = 100_000;
const matchMs = 500;

/** @param pattern a valid one; it is read with the flag `u` */
export function matchWithin(pattern: string, text: string): Match {
  if (text.length > matchedCharactersMax) return 'too_long';
  const { runInNewContext } = process.getBuiltinModule('node:vm');
  const context = Object.assign(Object.create(null) as object, { pattern, text });
  try {
    const found: unknown = runInNewContext("new RegExp(pattern, 'u').test(text)", context, {
      timeout: matchMs,
    });
    return found === true ? 'matches' : 'differs';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'too_slow';
    throw error;
  }
}
