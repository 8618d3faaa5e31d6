/**
 * The whole check of a configuration file. It is pure and works offline, so a browser runs it, too.
 * It reports all problems at once, by place, and gives a config only if there is no error.
 */
import type { Config } from './config.ts';
import { ProblemList, type ConfigProblem } from './problems.ts';
import { locate } from './locate.ts';
import { noOwnAddresses, withAddresses, type OwnAddresses } from './own-addresses.ts';
import { parseDocument } from './parse.ts';
import { checkRules } from './rules.ts';
import type { Document } from './schema.ts';
import { checkShape } from './shape.ts';

export type Validation =
  | {
      readonly kind: 'valid';
      readonly config: Config;
      /** Warnings only. */
      readonly problems: readonly ConfigProblem[];
    }
  | { readonly kind: 'invalid'; readonly problems: readonly ConfigProblem[] };

/**
 * Checks the text of a configuration file. It never throws.
 * @param own the addresses that flags give to the process
 */
export function validateText(text: string, own: OwnAddresses = noOwnAddresses): Validation {
  const { value, places, faults } = locate(text);
  const problems = new ProblemList(text, places);
  for (const { offset, code, path, message, remedy } of faults) {
    problems.addAt(offset, code, path, message, remedy);
  }
  const draft = value === undefined ? undefined : checkShape(value, problems);
  if (draft !== undefined) checkRules(draft, problems, own);
  const sorted = problems.sorted();
  if (draft === undefined || sorted.some((problem) => problem.severity === 'error')) {
    return { kind: 'invalid', problems: sorted };
  }
  // An empty text and null count as absent, so the value is the default.
  const isGiven = (path: string): boolean => {
    const place = places.get(path)?.value;
    return place !== undefined && !/^(?:""|null)/.test(text.slice(place, place + 4));
  };
  const config = withAddresses(parseDocument(draft as Document, isGiven), own);
  return { kind: 'valid', config, problems: sorted };
}
