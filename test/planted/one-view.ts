/** Faults of the reports between instances, and of one instance's answer for all. */
import type { Fault } from './fault.ts';

export const oneView: readonly Fault[] = [
  {
    name: 'The times of several instances are those of the last one.',
    file: 'src/admin/reports/merging.ts',
    find: 'all.add(Histogram.of(counts, sumMs));',
    replace: 'Object.assign(all, Histogram.of(counts, sumMs));',
  },
  {
    name: 'Dead letters, which are kept once, are counted once an instance.',
    file: 'src/admin/reports/merging.ts',
    find: 'deadLettersKept: own.report.deadLettersKept',
    replace: 'deadLettersKept: sumOf(whole, (report) => report.deadLettersKept)',
  },
  {
    name: 'A model stands as some instance saw it, which may be hours ago.',
    file: 'src/admin/reports/merging.ts',
    find: 'one.shownAt > shownAt - fiveMinutesMs',
    replace: 'one.shownAt > 0',
  },
  {
    name: 'A model that fails at one instance alone fails.',
    file: 'src/domain/health.ts',
    find: "known.every((part) => part === 'failing')",
    replace: "known.includes('failing')",
  },
  {
    name: 'While one instance is upgraded, svc as a whole is failing.',
    file: 'src/cluster/view.ts',
    find: "state === 'up' || state === 'failing'",
    replace: "state !== 'late'",
  },
  {
    name: 'A paused instance is shown as one that is up.',
    file: 'src/cluster/view.ts',
    find: "lastReport.ageMs > lateMs ? 'late'",
    replace: "lastReport.ageMs > lateMs * 100 ? 'late'",
  },
  {
    name: 'A bot that works is shown as one that begins, by an instance that waits for it.',
    file: 'src/admin/reports/merging.ts',
    find: 'if (whole.members.length > 0 && isMessengerType(type))',
    replace: 'if (whole.members.length < 0 && isMessengerType(type))',
  },
  {
    name: 'What a row carries along, such as what was said, is told to the other instances.',
    file: 'src/admin/reports/report.ts',
    find: 'JSON.stringify(only(reportSchema, { ...report, models }))',
    replace: 'JSON.stringify(report)',
  },
  {
    name: 'A path that may be a secret is told to whoever reads the status.',
    file: 'src/admin/reports/merging.ts',
    find: "const mayTell = asker === 'operator' ||",
    replace: "const mayTell = asker === 'operator' || bind !== '' ||",
  },
  {
    name: 'Whoever looks at the status waits for a database server that does not answer.',
    file: 'src/cluster/view.ts',
    find: 'await Promise.race([over, waited]);',
    replace: 'await over;',
  },
  {
    name: 'An instance writes its row every second, though nothing has changed.',
    file: 'src/cluster/view.ts',
    find: 'if (isKnown) return;',
    replace: '',
  },
  {
    name: 'An instance that was declared dead comes back into the view.',
    file: 'src/ledger/postgres/view/shared-view.ts',
    find: 'WHERE id = $1 AND NOT dead',
    replace: 'WHERE id = $1',
  },
  {
    name: 'Frames are written to the database though nobody looks.',
    file: 'src/cluster/view.ts',
    find: 'if (liveEvents.isListened) this.#begin();',
    replace: 'this.#begin();',
  },
  {
    name: 'A flood at one instance fills the database with frames.',
    file: 'src/cluster/view.ts',
    find: 'if (this.#liveEvents.length < this.#allowed)',
    replace: 'if (this.#liveEvents.length < 1e9)',
  },
  {
    name: 'Who listens believes that nothing happened elsewhere before it was heard of.',
    file: 'src/cluster/view.ts',
    find: 'if (this.#isLossUnreported) this.#reportLost(null, null);',
    replace: '',
  },
  {
    name: 'Frames that were lost on their way are missed without a word.',
    file: 'src/cluster/view.ts',
    find: `if (known !== undefined && liveEventBatch.n > known + 1)
        this.#reportLost(null, liveEventBatch.instance);`,
    replace: '',
  },
  {
    name: 'The metrics of an instance tell of a bot whose connection another one has.',
    file: 'src/admin/status.ts',
    find: 'return isHeld ? [{ name, state, lastSeenAt }] : [];',
    replace: 'return [{ name, state, lastSeenAt }];',
  },
  {
    name: 'A connection to what became a standby is kept, and nothing is told any more.',
    file: 'src/ledger/postgres/view/shared-view.ts',
    find: "if (faultOf(error) === 'away') this.#drop(opening);",
    replace: '',
  },
];
