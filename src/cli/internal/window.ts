/**
 * `svc internal window`: the process of a webview, which the shell of the desktop application
 * starts. `svc internal window look` loads the webview's library, prints the result and ends.
 */
import { displayFault } from '../../../apps/desktop/window/display.ts';
import { loadWebview } from '../../../apps/desktop/window/webview/library.ts';
import { ordersVariable, parseOrders } from '../../../apps/desktop/window/webview/orders.ts';
import { runWindow } from '../../../apps/desktop/window/webview/window-process.ts';
import { exitCode, type Io } from '../cli.ts';

/** On failure it prints one line to stderr: a reason that can follow "it cannot be, since". */
export async function runWindowProcess(args: readonly string[], io: Io): Promise<number> {
  if (args.join(' ') === 'look') return printLibrary(io);
  const orders = parseOrders(io.env[ordersVariable]);
  if (orders === null || args.length > 0) {
    io.stderr.write('svc internal window: svc starts this by itself; see "svc help desktop".\n');
    return exitCode.usage;
  }
  const why = await whyEnded();
  if (why === null) return exitCode.fine;
  io.stderr.write(`svc internal window: ${why}\n`);
  return exitCode.failed;

  async function whyEnded(): Promise<string | null> {
    // Without a display the library ends the process and prints nothing.
    if ((await displayFault(io.env)) !== null) return 'there is no display';
    const loaded = await loadWebview();
    return loaded.kind === 'fault' ? loaded.why : runWindow(orders!, loaded.library, io);
  }
}

async function printLibrary({ stdout }: Io): Promise<number> {
  const loaded = await loadWebview();
  const isLoaded = loaded.kind === 'loaded';
  stdout.write(`${isLoaded ? loaded.version : loaded.why}\n`);
  return isLoaded ? exitCode.fine : exitCode.failed;
}
