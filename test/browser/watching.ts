/** Runs in a page before its own scripts, and keeps what Playwright itself does not tell. */
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

/** So late that whoever acts at once is sooner. A machine that is slower makes it later still. */
const lateByMs = 1_000;

/**
 * Runs there too, where a test asks for it: what React does after a picture comes late, as it may
 * on a machine that is busy.
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

/** The same of frames: they come long after they are asked for. */
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
