/** For `--import`: prints the loaded modules when the program's first server listens. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { registerHooks } from 'node:module';

const packages = new Set<string>();
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});

const listens = 'tracing:net.server.listen:asyncEnd';
subscribe(listens, function tell() {
  unsubscribe(listens, tell);
  const { moduleLoadList: parts } = process as unknown as { moduleLoadList: string[] };
  console.log(`loaded ${JSON.stringify({ parts, packages: [...packages] })}`);
});
