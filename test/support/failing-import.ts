/** A library whose first load fails, as when no file handle is free. */
import { registerHooks } from 'node:module';

/** The next `import()` of that package rejects, later ones succeed. Holds until disposed of. */
export function failImportOnce(library: string): Disposable {
  let fails = 1;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier === library && fails-- > 0) throw new Error(`EMFILE: ${library}`);
      return next(specifier, context);
    },
  });
  return { [Symbol.dispose]: () => hooks.deregister() };
}
