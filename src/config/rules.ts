/** What the fields of a configuration mean together: problems that no field shows by itself. */
import type { ProblemList } from './problems.ts';
import type { DraftDocument } from './schema.ts';

export { rankModels } from './rank.ts';

/** Adds every problem and warning that a document without its file can show. */
export function checkRules(_document: DraftDocument, _problems: ProblemList): void {}
