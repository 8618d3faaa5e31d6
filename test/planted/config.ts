/** Faults of config/ and control/. */
import type { Fault } from './fault.ts';

export const config: readonly Fault[] = [
  {
    name: 'A key in the place of a name is quoted back.',
    file: 'src/config/quote.ts',
    find: 'return runs.some(looksRandom) || looksSecret(written) ? null : `"${written}"`;',
    replace: 'return `"${written}"`;',
  },
  {
    name: 'A brain with one model may ask for consensus.',
    file: 'src/config/rules-brain.ts',
    find: 'brain.models.length < 2',
    replace: 'brain.models.length < 1',
    seenBy: ['test/config/problems.test.ts'],
  },
  {
    name: 'A private brain may have a vendor’s address for a local model.',
    file: 'src/config/vendor-hosts.ts',
    find: 'name === vendor || ',
    replace: '',
    seenBy: ['test/config/problems.test.ts'],
  },
  {
    name: 'A token may go to another machine without encryption and without a word.',
    file: 'src/config/not-encrypted.ts',
    find: 'address.isSecure || isLoopbackHost(address.host)',
    replace: 'address.host',
  },
  {
    name: 'Two grants for one tool on one channel are no problem.',
    file: 'src/config/rules-agent.ts',
    find: 'if (first === Infinity) return;',
    replace: 'if (first >= 0) return;',
    seenBy: ['test/config/problems.test.ts'],
  },
  {
    name: 'Notes of a whole brain may go to a cloud model.',
    file: 'src/config/rules-agent.ts',
    find: "if (selected.locality === 'local' && !sent) return;",
    replace: 'if (!sent) return;',
    seenBy: ['test/config/problems.test.ts'],
  },
  {
    name: 'Sessions are accepted without storage, where they cannot be kept.',
    file: 'src/config/rules.ts',
    find: '  if (storage === null) {',
    replace: '  if (storage === undefined) {',
  },
  {
    name: 'A secret that is not set stops no start.',
    file: 'src/config/secrets.ts',
    find: 'else missing.set(name, { usedAt: [path], found: one });',
    replace: '',
  },
  {
    name: 'A time-out that is written in seconds counts as milliseconds.',
    file: 'src/config/parse.ts',
    find: 'timeoutMs: call.timeout_seconds * secondMs',
    replace: 'timeoutMs: call.timeout_seconds',
    seenBy: ['test/config/golden.test.ts'],
  },
  {
    name: 'A secret that stands in the place of its name is taken for a name.',
    file: 'src/config/formats.ts',
    find: ' && !looksSecret(text)',
    replace: '',
    seenBy: ['test/config/problems.test.ts'],
  },
  {
    name: 'A channel with routes to two brains goes to the first without a word.',
    file: 'src/config/rules-routes.ts',
    find: 'else if (first.brain === brain) {',
    replace: 'else if (first.brain !== null) {',
    seenBy: ['test/config/problems.test.ts'],
  },
];

export const control: readonly Fault[] = [
  {
    name: 'A configuration is taken though another revision came into use meanwhile.',
    file: 'src/control/file-keeper.ts',
    find: 'if (revision !== used.revision) return',
    replace: "if (revision === '') return",
    seenBy: ['test/config-refusals.test.ts'],
  },
  {
    name: 'A file that somebody edited by hand is overwritten without being asked.',
    file: 'src/control/file-keeper.ts',
    find: 'if (isEdited && !mayReplace)',
    replace: 'if (isEdited && mayReplace)',
    seenBy: ['test/config-refusals.test.ts'],
  },
  {
    name: 'The file keeps a configuration that could not be taken into use.',
    file: 'src/control/file-keeper.ts',
    find: 'const undone = await replaceFile(file, { text, unchanged });',
    replace: "const undone = { kind: 'saved', message: text, unchanged };",
    seenBy: ['test/config-refusals.test.ts'],
  },
  {
    name: 'An operator locks himself out by a list of hosts without his own.',
    file: 'src/control/prepare-config.ts',
    find: 'if (enabled && !mayAskWith(allowedHosts)) return wouldLockOut();',
    replace: '',
    seenBy: ['test/config-refusals.test.ts'],
  },
  {
    name: 'The configuration file loses its mode when it is replaced.',
    file: 'src/control/saved-file.ts',
    find: 'await handle.chmod(facts.mode & 0o7777);',
    replace: '',
    seenBy: ['test/config-apply.test.ts'],
  },
  {
    name: 'What cannot change without a restart is said to be in use.',
    file: 'src/control/prepare-config.ts',
    find: 'if (fields.length > 0) return restartRequired(fields);',
    replace: '',
    seenBy: ['test/config-refusals.test.ts'],
  },
  {
    name: 'The administrator’s token alone gives an agent any folder of the machine.',
    file: 'src/control/prepare-config.ts',
    find: 'return elsewhere.length > 0 ? onlyByHand(elsewhere) : null;',
    replace: 'return elsewhere.length > 99 ? onlyByHand(elsewhere) : null;',
    seenBy: ['test/folders-by-hand.test.ts'],
  },
  {
    name: 'A trial reads any folder of the machine.',
    file: 'src/control/trials.ts',
    find: 'if (fields.length > 0) {',
    replace: 'if (fields.length > 99) {',
    seenBy: ['test/folders-by-hand.test.ts'],
  },
  {
    name: 'A folder is taken for one of the configuration’s by its name, not by where it leads.',
    file: 'src/config/agent-folders.ts',
    find: 'const real = await realPathOf(wanted);',
    replace: 'const real = wanted;',
    seenBy: ['test/folders-by-hand.test.ts'],
  },
];
