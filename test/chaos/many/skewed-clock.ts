/**
 * Loaded before a program by `--import`: moves its time of day by `?ms=` ahead of the machine's, or
 * behind it. Other clocks of the system stay right, above all the steady one.
 */
const aheadMs = Number(new URL(import.meta.url).searchParams.get('ms'));
const { now } = Date;
Date.now = () => now() + aheadMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, given, made) =>
    given.length === 0 ? new target(Date.now()) : (Reflect.construct(target, given, made) as Date),
});
