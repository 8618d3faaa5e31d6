/** Runs in a page before its own scripts, and records data that Playwright does not report. */
export const watching = `(() => {
  addEventListener('securitypolicyviolation', (breach) => {
    const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample } = breach;
    const where = sourceFile + ':' + lineNumber;
    console.error('policy: ' + [effectiveDirective, blockedURI, where, sample].join(' '));
  });
  const longFrames = (globalThis.longFrames = []);
  const kind = 'long-animation-frame';
  const type = PerformanceObserver.supportedEntryTypes.includes(kind) ? kind : 'longtask';
  new PerformanceObserver((list) => {
    for (const { startTime, duration, scripts = [] } of list.getEntries()) {
      if (duration <= 100 || longFrames.length >= 1000) continue;
      const names = scripts.map(({ sourceURL, invoker }) => invoker + ' ' + sourceURL);
      longFrames.push({ startMs: startTime, ms: duration, scripts: names });
    }
  }).observe({ type, buffered: true });
})();`;

/** Later than any prompt action of a test. A slower machine only makes it later. */
const lateByMs = 1_000;

/**
 * Runs in a page when a test asks for it: delays React's effects after a paint, as on a busy
 * machine.
 */
export const lateEffects = `(() => {
  const { MessageChannel: Channel } = globalThis;
  globalThis.MessageChannel = function () {
    const channel = new Channel();
    const { port2: port } = channel;
    const post = port.postMessage.bind(port);
    port.postMessage = (...told) => void setTimeout(() => post(...told), ${lateByMs});
    return channel;
  };
})();`;

/** Delays frames in the same way. */
export const lateFrames = `(() => {
  const { requestAnimationFrame: request, cancelAnimationFrame: cancel } = globalThis;
  const asked = new Map();
  globalThis.requestAnimationFrame = (draw) => {
    const timer = setTimeout(() => asked.set(timer, request(draw)), ${lateByMs / 2});
    return timer;
  };
  globalThis.cancelAnimationFrame = (timer) => {
    clearTimeout(timer);
    cancel(asked.get(timer));
  };
})();`;
