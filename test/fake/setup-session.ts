/** A first run that a test leads: it chooses the next page, and keeps the answers. */
import type { Answer, Frontend, Page, SetupEnd, SetupSession } from '../../apps/setup/setup.ts';

export type FakeSession = Omit<SetupSession, 'goesOn'> & {
  goesOn: boolean;
  /** Every accepted answer. */
  readonly taken: readonly Answer[];
  /** The number of callers that wait for the next page. */
  readonly waiting: () => number;
  show(page: Partial<Page>): void;
  /** Called with each answer; does nothing by default. */
  onAnswer: (answer: Answer) => void;
  end(how: SetupEnd): void;
};

export const plainPage: Page = {
  step: 'model',
  title: 'Which model answers?',
  lines: [{ kind: 'text', text: 'Two run on this machine.' }],
  fields: [],
  choices: [
    {
      id: 'llama',
      label: 'llama3.2',
      hint: 'It runs on this machine.',
      takes: [],
      role: 'forward',
    },
    { id: 'skip', label: 'Skip', hint: null, takes: [], role: 'skip' },
    { id: 'leave', label: 'Leave', hint: null, takes: [], role: 'leave' },
  ],
  work: null,
};

export function fakeSession(first: Page = plainPage, frontend: Frontend = 'terminal'): FakeSession {
  const taken: Answer[] = [];
  const waiting = new Set<() => void>();
  const ended = Promise.withResolvers<SetupEnd>();
  let [revision, page] = [1, first];
  return {
    taken,
    ended: ended.promise,
    frontend,
    goesOn: false,
    waiting: () => waiting.size,
    onAnswer: () => {},
    get revision() {
      return revision;
    },
    get page() {
      return page;
    },
    show(next) {
      page = { ...plainPage, ...next };
      revision++;
      for (const wake of waiting) wake();
    },
    answer(answer, to) {
      if (to !== revision) return 'stale';
      const choice = page.choices.find(({ id }) => id === answer.choice);
      if (choice === undefined) return 'not_offered';
      const isEmpty = page.fields.some(({ name, isOptional }) => {
        return choice.takes.includes(name) && !isOptional && !answer.fields[name];
      });
      if (isEmpty) return 'not_offered';
      taken.push(answer);
      this.onAnswer(answer);
      if (choice.role === 'leave') {
        this.show({ step: 'last', title: 'Left', choices: [] });
        this.end({ kind: 'left' });
      }
      return 'taken';
    },
    changed(since, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (since !== revision) return Promise.resolve();
      waiting.add(resolve);
      signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      return promise.finally(() => waiting.delete(resolve));
    },
    end: ended.resolve,
    async [Symbol.asyncDispose]() {},
  };
}
