/** Whom the application runs as in its proofs: never root, whom it refuses. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { canRun, isOnPath } from '../../src/lib/executable.ts';
import { launcher } from '../support/run-svc.ts';

export type Account = { readonly uid: number; readonly gid: number };

/** Where a program of an account is looked for; a checkout may be at any place. */
const path = process.env['PATH'] ?? '';
/** Accounts that every Linux has, for tests that run as root. */
const names = ['nobody', 'games'];

/** Root has two to choose from, anyone else is one of them: themselves. */
export const accounts: readonly Account[] = accountsHere();

function accountsHere(): readonly Account[] {
  if (process.platform !== 'linux') return [];
  const [uid, gid] = [process.getuid!(), process.getgid!()];
  if (uid !== 0) return [{ uid, gid }];
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  return names.flatMap((name) => {
    const line = lines.find((one) => one.startsWith(`${name}:`));
    if (line === undefined) return [];
    const [, , of, group] = line.split(':');
    return [{ uid: Number(of), gid: Number(group) }];
  });
}

export const chromium = process.env['SVC_CHROMIUM'] ?? '/usr/bin/chromium';

function whyNot(): string | false {
  if (process.env['SVC_NO_DISPLAY'] === '1') return 'SVC_NO_DISPLAY says that there is no display';
  if (process.platform !== 'linux') return 'the application is tried on Linux, under Xvfb';
  if (!isOnPath('Xvfb', { PATH: path })) return 'there is no Xvfb: apt install xvfb';
  if (!canRun(chromium)) return `there is no ${chromium}: install chromium, or set SVC_CHROMIUM`;
  const [account] = accounts;
  if (account === undefined) return 'there is no account but root';
  if (!ends(account, process.execPath, ['--check', launcher]))
    return `the account ${account.uid} may not read this checkout`;
  const sandbox = '/usr/lib/chromium/chrome-sandbox';
  const isSetuid = existsSync(sandbox) && (statSync(sandbox).mode & 0o4000) !== 0;
  return !isSetuid && !ends(account, 'unshare', ['--user', 'true'])
    ? "Chromium's sandbox needs user namespaces, which this system refuses"
    : false;
}

/** Whether it ends well as that account. */
function ends(account: Account, program: string, args: readonly string[]): boolean {
  const own = process.getuid!() === account.uid ? {} : account;
  try {
    execFileSync(program, args, { ...own, cwd: '/', env: { PATH: path }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The sentence on why the application cannot be tried here; false: it can. */
export const notHere: string | false = whyNot();
