/** Faults of dry runs, and of the configurations stored for them. */
import type { Fault } from './fault.ts';

const seenBy = ['test/cli/try-command.test.ts', 'test/cli/try-shapes.test.ts'];

export const trial: readonly Fault[] = [
  {
    name: 'What stands in a _try twice stops the service.',
    file: 'src/config/locate.ts',
    find: 'if (name in object && this.#noteDepth === 0)',
    replace: 'if (name in object)',
    seenBy,
  },
  {
    name: 'What stands deep in a _try stops the service.',
    file: 'src/config/locate.ts',
    find: 'return this.#noteDepth === 0 ? this.#stopDeep(path)',
    replace: 'return this.#noteDepth >= 0 ? this.#stopDeep(path)',
    seenBy,
  },
  {
    name: 'A private reply is judged by a cloud model.',
    file: 'src/app/test-cases/run-cases.ts',
    find: "!isPrivate || model.locality === 'local'",
    replace: "isPrivate || model.locality === 'local'",
    seenBy,
  },
  {
    name: 'A reply matches a pattern that could not be held against it in time.',
    file: 'src/app/test-cases/run-cases.ts',
    find: "return 'too_slow';",
    replace: "return 'matches';",
    seenBy,
  },
  {
    name: 'A judge that says neither yes nor no says yes.',
    file: 'src/app/test-cases/run-cases.ts',
    find: "word === 'yes' || word === 'no' ? word : 'unclear'",
    replace: "word === 'no' ? word : 'yes'",
    seenBy,
  },
  {
    name: 'A case waits for a model that has as much in hand as it may.',
    file: 'src/app/test-cases/run-cases.ts',
    find: 'if (isFull || this.#cases >= this.#most)',
    replace: 'if (this.#cases >= this.#most)',
    seenBy,
  },
  {
    name: 'One run that passes is enough.',
    file: 'src/app/test-cases/run-cases.ts',
    find: '.length >= share.pass',
    replace: '.length >= 1',
    seenBy,
  },
  {
    name: 'What a case expects of arguments is not looked at.',
    file: 'src/app/test-cases/expectation.ts',
    find: 'if (wanted === null) return true;',
    replace: 'if (wanted !== undefined) return true;',
    seenBy,
  },
  {
    name: 'The value of a secret stands in the results.',
    file: 'src/cli/try/try.ts',
    find: 'run.reply === null ? null : mask.clean(run.reply)',
    replace: 'run.reply',
    seenBy,
  },
  {
    name: 'What a model wrote breaks the XML of the results.',
    file: 'src/cli/try/try.ts',
    find: '.replace(/[&<>"\'\\n\\t]/g, (one) => entities[one]!)',
    replace: ".replace(/[&<\"'\\n\\t]/g, (one) => (one === '&' ? one : entities[one]!))",
    seenBy,
  },
];
