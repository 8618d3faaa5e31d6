/** The messages for a person when the keychain cannot be used: the state, and the remedy. */
import type { KeychainFault } from '../secrets.ts';
import type { HelperFault, Reason } from './wire.ts';

type Message = { readonly message: string; readonly remedy: string };

const byFile =
  'give the value by a file: NAME_FILE=/path/of/the/file, or LoadCredential=NAME:/path in a ' +
  'unit of systemd.';

const messages: Readonly<Record<KeychainFault['state'], Message>> = {
  no_bus: {
    message:
      'There is no session bus to reach a keychain by; root, containers and units of the system ' +
      'have none.',
    remedy: `In place of it, ${byFile}`,
  },
  no_provider: {
    message: 'No keychain is there for this user: no program keeps secrets in this session.',
    remedy: `Install and start gnome-keyring or KWallet. Or ${byFile}`,
  },
  locked: {
    message: 'The keychain is locked, and it was not unlocked.',
    remedy:
      'Unlock it, by logging in to the desktop or in its own program, and try again. ' +
      `Where nobody can, ${byFile}`,
  },
  no_answer: {
    message: 'The keychain did not answer in time.',
    remedy: `Restart its program, or log out and in again. Or ${byFile}`,
  },
  denied: {
    message: 'The keychain refused svc.',
    remedy: 'Allow svc in the dialog that the keychain opens, and try again.',
  },
  unavailable: {
    message: 'The keychain of this machine failed in a way that svc does not know.',
    remedy: `In place of it, ${byFile}`,
  },
};

const messagesByReason: Readonly<Record<Reason, Message>> = {
  no_library: {
    message: 'The library for keychains is not there, or not for this machine.',
    remedy: `Install svc again without --omit=optional. Or ${byFile}`,
  },
  not_kept: {
    message: 'The keychain did not keep the value as it was given.',
    remedy: `Try again. Or ${byFile}`,
  },
  no_keyring: {
    message: 'The keychain has no keyring yet, and nobody is there to choose a password for one.',
    remedy: 'Run the command in the desktop, where the keychain can ask.',
  },
};

const messagesByPlatform: Partial<
  Record<NodeJS.Platform, Partial<Record<KeychainFault['state'], Message>>>
> = {
  darwin: {
    no_provider: {
      message: 'This user has no default keychain.',
      remedy: 'Make one with Keychain Access, by logging in to the desktop.',
    },
  },
  win32: {
    no_provider: {
      message:
        'Windows gives this session no credentials: over SSH and in services there are none.',
      remedy: 'Give the value by a file: set NAME_FILE to its path.',
    },
    no_bus: {
      message: 'Windows gives this session no credentials.',
      remedy: 'Give the value by a file: set NAME_FILE to its path.',
    },
  },
};

export function faultOf(
  { state, reason }: Omit<HelperFault, 'kind'>,
  platform: NodeJS.Platform = process.platform,
): KeychainFault {
  const words =
    reason === null
      ? (messagesByPlatform[platform]?.[state] ?? messages[state])
      : messagesByReason[reason];
  return { kind: 'fault', state, ...words };
}

/** The fault when a person stops svc, or the command, during the wait. */
export function stoppedFault(): KeychainFault {
  const message = 'The keychain was not waited for, since svc is to stop.';
  return { kind: 'fault', state: 'no_answer', message, remedy: 'Try again.' };
}

export function indexFault(message: string, remedy: string): KeychainFault {
  return { kind: 'fault', state: 'unavailable', message, remedy };
}
