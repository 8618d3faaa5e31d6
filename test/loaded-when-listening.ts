/** Goes before a program (`--import`), and says what is loaded when its first server listens. */
import { registerHooks } from 'node:module';
import { Server } from 'node:net';

const packages = new Set<string>();
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});

const { emit } = Server.prototype;
let isFirst = true;
Server.prototype.emit = function emitAndTell(this: Server, event: string, ...rest: unknown[]) {
  if (event === 'listening' && isFirst) {
    isFirst = false;
    const { moduleLoadList: parts } = process as unknown as { moduleLoadList: string[] };
    console.log(`loaded ${JSON.stringify({ parts, packages: [...packages] })}`);
  }
  return Reflect.apply(emit, this, [event, ...rest]) as boolean;
};
