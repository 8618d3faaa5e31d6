/**
 * Loaded before a program by `--import`: its time of day is ahead of the machine's by `?ms=`, or
 * behind it. What the system tells in other ways is left as it is, the steady clock above all.
 */
const aheadMs = Number(new URL(import.meta.url).searchParams.get('ms'));
const { now } = Date;
Date.now = () => now() + aheadMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, given, made) =>
    given.length === 0 ? new target(Date.now()) : (Reflect.construct(target, given, made) as Date),
});
