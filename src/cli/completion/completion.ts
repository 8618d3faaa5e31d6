import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { completionScript, shells, type Completed } from './scripts.ts';

/** @param load all commands that a person may be shown */
export function createCompletion(load: () => Promise<readonly Completed[]>): Command {
  return {
    name: 'completion',
    summary: 'Print what completes svc in bash, zsh or fish',
    usage: `Usage: svc completion bash|zsh|fish

Prints a script that lets the shell complete commands, their flags and the names of files.

  bash   source <(svc completion bash)        in ~/.bashrc
  zsh    source <(svc completion zsh)         in ~/.zshrc, after compinit
  fish   svc completion fish | source         in ~/.config/fish/config.fish
`,
    flags: {},
    takes: shells,
    run: (args, io) => run(args, io, load),
  };
}

async function run(
  args: readonly string[],
  io: Io,
  load: () => Promise<readonly Completed[]>,
): Promise<number> {
  const parsed = parseFlags(args, {}, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'completion', parsed.message);
  const [written] = parsed.positionals;
  const shell = shells.find((one) => one === written);
  if (shell === undefined) {
    const what = written === undefined ? '' : ` "${written}" is none of them.`;
    return wrongUsage(io, 'completion', `Say which shell: ${shells.join(', ')}.${what}`);
  }
  io.stdout.write(completionScript(shell, await load()));
  return exitCode.fine;
}
