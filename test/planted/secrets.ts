/** Faults of the lookup of secrets, of the keychain, and of the reports about both. */
import type { Fault } from './fault.ts';

export const secrets: readonly Fault[] = [
  {
    name: 'A variable that is set to nothing hides the file beside it.',
    file: 'src/secrets/lookup.ts',
    find: "return value.trim() === '' ? { kind: 'empty' } : { kind: 'value', value };",
    replace: "return { kind: 'value', value };",
  },
  {
    name: 'A pipe in the place of a secret holds the start for ever.',
    file: 'src/secrets/lookup.ts',
    find: 'O_RDONLY | (O_NONBLOCK ?? 0)',
    replace: 'O_RDONLY',
  },
  {
    name: 'A file that cannot be read is passed over, and another place counts.',
    file: 'src/secrets/lookup.ts',
    find: "if (place.kind === 'unreadable' && source !== 'environment')",
    replace: 'if (false)',
  },
  {
    name: 'The path of a secret is told, which may be the secret in the wrong place.',
    file: 'src/secrets/lookup.ts',
    find: 'message: `${variable} names ${what}`, remedy',
    replace: 'message: `${variable} names ${what} ${named.value}`, remedy',
  },
  {
    name: 'A service takes the new value of a secret at the next configuration.',
    file: 'src/secrets/lookup.ts',
    find: 'this.#held = new Map(found);',
    replace: 'this.#held = new Map();',
  },
  {
    name: 'Two who miss a secret at once open two prompts.',
    file: 'src/secrets/lookup.ts',
    find: 'this.#turns.do(() => this.#findInKeychain(missing, stop));',
    replace: 'this.#findInKeychain(missing, stop);',
  },
  {
    name: 'A keychain is asked for names that nobody ever put into it.',
    file: 'src/secrets/keychain/os-keychain.ts',
    find: '.filter((name) => known.has(name))',
    replace: '.filter((name) => known.has(name) || name !== "")',
  },
  {
    name: 'A prompt opens where nobody can see it.',
    file: 'src/secrets/keychain/helper.ts',
    find: 'if (lock !== null && !question.canPrompt) return lock;',
    replace: '',
    seenBy: ['test/keyring/keychain.slow.test.ts'],
  },
  {
    name: 'The helper gets every variable of the service.',
    file: 'src/secrets/keychain/os-keychain.ts',
    find: 'if (value !== undefined && passed.has(known)) own[name] = value;',
    replace: 'if (value !== undefined) own[name] = value;',
  },
  {
    name: 'Of two who write the index at once, one loses a name.',
    file: 'src/secrets/keychain/secret-index.ts',
    find: 'O_CREAT | O_EXCL | O_WRONLY, 0o600',
    replace: 'O_CREAT | O_WRONLY, 0o600',
  },
  {
    name: 'A keyring that hangs holds svc for ever.',
    file: 'src/secrets/keychain/os-keychain.ts',
    find: "timer = setTimeout(() => giveUp(helperFault('no_answer')), ms);",
    replace: 'timer = undefined;',
  },
  {
    name: 'A value that was typed as an argument is shown again.',
    file: 'src/cli/secrets/set.ts',
    find: "if (parsed.kind === 'wrong') return wrongUsage(io, secretsSet.name, inArguments(args));",
    replace: "if (parsed.kind === 'wrong') return wrongUsage(io, secretsSet.name, parsed.message);",
    seenBy: ['test/secrets/command.test.ts'],
  },
];
